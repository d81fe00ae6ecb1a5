"""Files that others made, by the hundred: each is loaded row by row, or refused in words that help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatch

from document import assert_is_in_the_document
from outcomes import HALF_WRITTEN, LOADED, REFUSED, UNSUPPORTED, Outcome
from third_party import PACKAGES

PLAIN = "loaded"
# Of what was counted in a loaded file: null geometries and values beside the declared columns are no trouble.
TELLING = ("unreadable rows", "unreadable geometries", "invalid geometries", "curved geometries")
Explanations = Sequence[tuple[str, str, str]]
# Where our number of rows is another than GDAL's, and why that is right: by package, file, reason. There is none, so far.
KNOWN_DIFFERENCES: tuple[tuple[str, str, str], ...] = ()
# What we load and GDAL does not.
ONLY_OURS = (
    ("pyshp *", "*/latin1.shp", "it has no .shx: GDAL does not open it, we make one"),
    ("stac-geoparquet *", "tests/data/*.json", "an array of features, no collection"),
    (
        "planet *",
        "tests/data/search_result_*.json",
        "its type stands behind other members, further than GDAL looks",
    ),
)


def test_nothing_but_the_two_declared_errors_and_each_with_a_sensible_reason(found: list[Outcome]) -> None:
    assert [f"{one.package}, {one.name}: {fault}" for one in found for fault in one.faults] == []


def test_as_many_rows_as_gdal_counts(found: list[Outcome]) -> None:
    differing = [
        one
        for one in found
        if one.gdal_rows is not None
        and one.kind != UNSUPPORTED
        and (one.kind != LOADED or one.rows != one.gdal_rows)
    ]
    unexplained = [one for one in differing if not explanation(one, KNOWN_DIFFERENCES)]
    assert [
        f"{one.package}, {one.name}: {what(one)}; GDAL has {one.gdal_rows} rows" for one in unexplained
    ] == []
    assert unused(KNOWN_DIFFERENCES, differing) == []


def test_what_only_we_load_is_explained(found: list[Outcome]) -> None:
    """GDAL might be right."""
    ours = [one for one in found if one.gdal_rows is None and one.kind == LOADED]
    assert [
        f"{one.package}, {one.name}: {one.gdal_reason}" for one in ours if not explanation(one, ONLY_OURS)
    ] == []
    assert unused(ONLY_OURS, ours) == []


def explanation(one: Outcome, known: Explanations) -> str | None:
    fitting = (
        reason for package, file, reason in known if fnmatch(one.package, package) and fnmatch(one.file, file)
    )
    return next(fitting, None)


def unused(known: Explanations, found: list[Outcome]) -> list[tuple[str, str, str]]:
    """Explanations of what is not there any more."""
    return [line for line in known if not any(explanation(one, [line]) for one in found)]


def test_there_are_enough_files_of_every_kind(found: list[Outcome]) -> None:
    """So that a change of the list, or of what counts as spatial, is not passed over."""
    assert len({(one.package, one.file) for one in found}) > 600
    formats = Counter(one.format for one in found if one.kind == LOADED)
    assert {name for name, count in formats.items() if count} >= {
        "csv",
        "flatgeobuf",
        "geojson",
        "geopackage",
        "geoparquet",
        "parquet",
        "shapefile",
    }


def test_the_table_in_the_document_is_what_was_found(found: list[Outcome]) -> None:
    assert_is_in_the_document("third-party files", table(found))


def table(found: list[Outcome]) -> str:
    return "\n".join([*summary(found), "", *details(found)]) + "\n"


def summary(found: list[Outcome]) -> list[str]:
    """One line a package."""
    lines = [
        "| package | loaded | rows | refused | left for the next run | not supported |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    titles = sorted({package.title for package in PACKAGES})
    for title, those in [
        *((title, [one for one in found if one.package == title]) for title in titles),
        ("all", found),
    ]:
        formats = Counter(one.format for one in those if one.kind == LOADED)
        loaded = ", ".join(f"{count} {name}" for name, count in sorted(formats.items())) or "0"
        others = [sum(one.kind == kind for one in those) for kind in (REFUSED, HALF_WRITTEN, UNSUPPORTED)]
        rows = sum(one.rows for one in those)
        lines.append(f"| {title} | {loaded} | {rows} | {' | '.join(str(number) for number in others)} |")
    return lines


def details(found: list[Outcome]) -> list[str]:
    """One line for each file of which there is more to say. Files of a package with the same to say share it."""
    said: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if (text := what(one)) != PLAIN:
            said.setdefault((one.package, text), []).append(one.name)
    lines = ["| package | file | what happened |", "| --- | --- | --- |"]
    for (package, text), names in sorted(said.items()):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"| {package} | `{names[0]}`{more} | {text} |")
    return lines


def what(one: Outcome) -> str:
    if one.kind != LOADED:
        return f"{one.kind}: {one.reason.replace('|', '/')}"
    counted = [
        f"{number} {name}" for name, number in sorted(one.counts.items()) if number and name in TELLING
    ]
    if one.gdal_rows is None:
        counted.append(f"not read by GDAL: {explanation(one, ONLY_OURS)}")
    return "; ".join([PLAIN, *counted])
