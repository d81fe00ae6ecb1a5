"""The checked model and the entity."""

from __future__ import annotations

from collections.abc import Iterator

from geostrata.add_source.choosing import Choices
from geostrata.add_source.columns import Column
from geostrata.add_source.naming import in_sql, in_words
from geostrata.add_source.yaml_text import doc, indented, scalar

_BOX = "struct<xmin:double,ymin:double,xmax:double,ymax:double>"
_NOT_NULL = "  constraints: [{type: not_null}]"

_TEXT = """\
version: 2

models:
  - name: {name}_checked
    description: One row per landed {one} version, with the expectations that it fails.
    config:
      meta:
        # What is expected of a row stands with the source, models/bronze/_bronze__{name}.yml.
        key: {key}
    data_tests:
      - has_no_engine_types: {{description: Every engine can read all columns.}}
    columns:
{checked}
  - name: {name}
    description: One row per {one}, newest valid version.
    config:
      contract: {{enforced: true}}
      layout: {{cluster_by: [bbox.xmin, bbox.ymin]}}
      meta:
        geometry_types: [{geometry_types}]
    data_tests:
      - follows_spatial_contract: {{description: Every geometry is valid and within bounds. bbox and h3 match it.}}
      - has_no_engine_types: {{description: Every engine can read all columns.}}
      - has_crs_property: {{description: The table properties declare the CRS.}}
    columns:
{columns}\
"""


def silver_yaml(choices: Choices) -> str:
    return _TEXT.format(
        name=choices.name,
        one=in_words(choices.one),
        key=choices.key,
        geometry_types=", ".join(choices.geometry.types),
        checked=indented(_checked(choices), 6),
        columns=indented(_silver(choices), 6),
    )


def _checked(choices: Choices) -> Iterator[str]:
    for name, _, description in _own(choices, [("is_deleted", "boolean"), ("geometry", "binary")]):
        yield from _column(name, description)
    for name in ("is_repaired", "failed_expectations", "warned_expectations", "explanation", "landed_value"):
        yield from _column(name, doc(name))
    for name in (
        "_source_file",
        "_source_mtime",
        "_delivery",
        "_source_position",
        "_source_row",
        "_ingested_at",
        "_batch_id",
    ):
        yield from _column(name, doc(name.removeprefix("_")))
    yield from _column("_row_id", doc("row_id"))
    yield "  data_tests:"
    yield "    - is_key: {description: Each landed row is checked once.}"


def _silver(choices: Choices) -> Iterator[str]:
    space = [("geometry", "binary"), ("bbox", _BOX), ("h3", "bigint")]
    never_null = {choices.key, "geometry", "bbox", "h3", "updated_at"}
    for name, kind, description in _own(choices, space):
        yield from _column(name, description)
        yield f"  data_type: {scalar(kind)}"
        if name in never_null:
            yield _NOT_NULL
        if name == choices.key:
            yield "  data_tests:"
            yield "    - is_key: {description: One version per key.}"
    for name, kind in (("_source_file", "string"), ("_ingested_at", "timestamp"), ("_batch_id", "string")):
        yield from _column(name, doc(name.removeprefix("_")))
        yield f"  data_type: {kind}"
    yield from _column("_row_id", doc("row_id"))
    yield "  data_type: string"
    yield _NOT_NULL


def _own(choices: Choices, space: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of the columns before the provenance, in the models' order."""

    def group(*names: str) -> Iterator[tuple[str, str, str]]:
        for column in choices.of_group(*names):
            yield column.silver, column.kind, _delivered(column)

    yield choices.key, "string", _key_description(choices)
    yield from group("text")
    yield "source_crs", "string", doc("source_crs")
    yield from group("number", "boolean")
    for name, kind in space:
        yield name, kind, doc(name)
    yield from group("time")
    yield "updated_at", "timestamp", _time_description(choices)


def _column(name: str, description: str) -> Iterator[str]:
    yield f"- name: {scalar(name)}"
    yield f"  description: {description}"


def _key_description(choices: Choices) -> str:
    if choices.key_column is None:
        return scalar(f"The {in_words(choices.one)}'s place, file and row: the files have no key.")
    return f"Key of the {in_words(choices.one)}."


def _time_description(choices: Choices) -> str:
    if choices.time_column is None:
        return "Time of the file (UTC); the newest version wins."
    return doc("updated_at")


def _delivered(column: Column) -> str:
    if column.silver == in_sql(column.landed):
        return "As delivered."
    return scalar(f"As delivered; the files call it {column.landed}.")
