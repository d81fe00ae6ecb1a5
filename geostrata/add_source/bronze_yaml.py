"""The source and its raw model."""

from __future__ import annotations

from collections.abc import Iterator

from geostrata.add_source.choosing import Choices
from geostrata.add_source.columns import BRONZE_COLUMNS
from geostrata.add_source.naming import in_words
from geostrata.add_source.places import Place
from geostrata.add_source.yaml_text import comment, doc, indented, quoted, scalar

_FORMATS = {
    "csv": "CSV",
    "flatgeobuf": "FlatGeobuf",
    "geojson": "GeoJSON",
    "geojsonl": "GeoJSON lines",
    "geopackage": "GeoPackage",
    "geoparquet": "GeoParquet",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "shapefile": "shapefile",
}
# Where the block of docs/blocks/columns.md is not called as the column without its underscore.
_BLOCKS = {"_source_crs": "file_crs"}
# Their order where the model lists columns, by the macro `landed_columns`.
_IN_RENAMED = (
    *("_source_crs", "_corrupt_record", "_file_problem", "_rescued", "_source_fingerprint"),
    *(
        "_source_file",
        "_source_mtime",
        "_delivery",
        "_source_position",
        "_source_row",
        "_ingested_at",
        "_batch_id",
        "_row_id",
    ),
)

_TEXT = """\
version: 2

sources:
  - name: landing
    description: Files as they arrive in the landing folder, read file by file with declared types.
    schema: landing
    tables:
      - name: {name}
        # To fill in: what a row is, whose it is, under which licence, how often files land.
        description: One row per {one} version in {format} files.
        config:
          meta:
            owner: ''
            licence: ''
            freshness: ''
            crs: {crs}
            geometry_type: {geometry_type}
            geometry: {geometry}
            encoding: {encoding}
            # Its name in silver: {key_origin}.
            key: {key}
            geometry_types: [{geometry_types}]
            # What a row must be to enter silver. One that is not goes to quarantine, with the reasons.
            expectations:
{expectations}\
        external:
{external}\
        columns:
{landed}
models:
  - name: raw_{name}
    description: One row per landed {one} version, or per file that could not be loaded.
    data_tests:
      - has_no_engine_types: {{description: Every engine can read all columns.}}
    columns:
{columns}\
"""


def bronze_yaml(choices: Choices, place: Place) -> str:
    types = list(choices.geometry.types)
    key = choices.key_column
    return _TEXT.format(
        name=choices.name,
        one=in_words(choices.one),
        format=_FORMATS[choices.look.facts.format],
        crs=scalar(choices.crs.text),
        geometry_type=scalar(" or ".join(types)),
        geometry=scalar(", ".join(choices.geometry.columns)),
        encoding=choices.geometry.encoding,
        key=choices.key,
        key_origin=f"the files call it {comment(key)}"
        if key
        else "no column is one, so that it is the row's place",
        geometry_types=", ".join(types),
        expectations=indented(expectations(choices), 14),
        external=indented(_external(choices, place), 10),
        landed=indented(_landed(choices), 10),
        columns=indented(_columns(choices), 6),
    )


def expectations(choices: Choices) -> list[str]:
    of_shapes = ["geometry_not_empty", "geometry_type_allowed", "geometry_valid"]
    names = [
        *("key_present", "geometry_present", "geometry_readable"),
        # A point of two numbers is never any of these.
        *([] if choices.geometry.is_lonlat else of_shapes),
        *("crs_known", "coordinates_within_crs"),
    ]
    found = [f"- {{name: {name}}}" for name in names]
    if choices.time_column is not None:
        found.append(
            f"- {{name: event_ts_sane, column: updated_at, earliest: '{choices.earliest}', ahead: 1 day}}"
        )
    return found


def _external(choices: Choices, place: Place) -> Iterator[str]:
    yield f"location: {quoted(place.location)}"
    yield f"file_format: {choices.look.facts.format}"
    if place.pattern is not None:
        yield f"pattern: {scalar(place.pattern)}"
    if choices.look.facts.options:
        pairs = (f"{scalar(name)}: {scalar(value)}" for name, value in choices.look.facts.options.items())
        yield f"options: {{{', '.join(pairs)}}}"
    yield "# New columns and values that don't fit are kept in _rescued. The other policies are strict and additive."
    yield "schema_policy: rescue"


def _landed(choices: Choices) -> Iterator[str]:
    for name, kind in choices.landed.items():
        yield f"- {{name: {scalar(name)}, data_type: {scalar(kind)}, description: As delivered.}}"


def _columns(choices: Choices) -> Iterator[str]:
    for name, bronze in choices.bronze.items():
        yield f"- name: {scalar(bronze)}"
        described = "As delivered." if bronze == name else f"As delivered; the files call it {name}."
        yield f"  description: {scalar(described)}"
    is_renamed = any(name != bronze for name, bronze in choices.bronze.items())
    for name in _IN_RENAMED if is_renamed else BRONZE_COLUMNS:
        yield f"- name: {name}"
        yield f"  description: {doc(_BLOCKS.get(name, name.removeprefix('_')))}"
    yield "  data_tests:"
    yield "    - is_key: {description: Each landed row occurs once.}"
