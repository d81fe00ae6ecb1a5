"""The columns that bronze declares, and those that silver takes over as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from geostrata.add_source.naming import in_sql, new_name, snake_case
from geostrata.add_source.sampling import ColumnFacts, Look
from geostrata.add_source.yaml_text import check_no_jinja
from geostrata.errors import GeostrataError
from geostrata.readers.guessing import lonlat_of
from geostrata.readers.spec import EXTRAS
from geostrata.sql_names import is_plain, is_plain_type

# What bronze adds to the declared columns, in this order.
BRONZE_COLUMNS = (
    *EXTRAS,
    "_source_file",
    "_source_mtime",
    "_source_row",
    "_file_problem",
    "_source_fingerprint",
    "_delivery",
    "_ingested_at",
    "_batch_id",
    "_row_id",
)
TIMES = ("timestamp", "timestamp_ntz", "date")
TIME_NAMES = (
    *("updated_at", "last_updated", "last_update", "updated", "updated_on", "update_date", "update_time"),
    *("last_modified", "modified_at", "modified", "modified_on", "date_modified", "modified_date"),
    *("edit_date", "last_edited_date", "last_edited", "edited_at", "last_edit", "editdate"),
    *("change_date", "changed_at", "last_change", "last_changed", "lastmodified", "timestamp"),
)
_NUMBERS = ("bigint", "int", "smallint", "tinyint", "double", "float", "decimal")
# Names that silver, and the macros around a checked model, use.
_TAKEN = {
    *BRONZE_COLUMNS,
    *("source_crs", "is_deleted", "geometry", "bbox", "h3", "updated_at", "lon", "lat", "landed_geometry"),
    *("examined", "geom", "extent", "failures", "warnings", "reports", "is_current", "version_rank"),
    *("failed_expectations", "warned_expectations", "explanation", "landed_value", "is_repaired"),
}
# GeoParquet's box of each geometry. Silver makes its own.
_COVERING = "bbox"
# A Delta table takes none of these in a name, unless columns are mapped, which Delta refuses beside a change feed.
_NOT_IN_DELTA = set(" ,;{}()\n\t=")


@dataclass(frozen=True)
class Column:
    """One that silver takes over, with its names in the files, in bronze and in silver."""

    landed: str
    bronze: str
    silver: str
    kind: str

    @property
    def group(self) -> str:
        if self.kind in TIMES:
            return "time"
        if self.kind == "boolean":
            return "boolean"
        return "number" if self.kind.startswith(_NUMBERS) else "text"


@dataclass
class Draft:
    """The declared columns, which of them have been given a part to play, and what was noted on the way."""

    look: Look
    kinds: dict[str, str]
    facts: dict[str, ColumnFacts]
    # Names in bronze, by names in the files.
    bronze: dict[str, str]
    used: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def named(self, names: Sequence[str]) -> list[str]:
        """Columns with one of the names, the first name first, that play no part yet."""
        found = [name for name in self.kinds if snake_case(name) in names and name not in self.used]
        return sorted(found, key=lambda name: names.index(snake_case(name)))

    def sql(self, name: str) -> str:
        return in_sql(self.bronze[name])

    def find(self, given: str | None) -> str | None:
        """As readers match names: without outer blanks and case."""
        wanted = (given or "").strip().casefold()
        return next((name for name in self.kinds if name.casefold() == wanted), None)

    def column(self, given: str, option: str) -> str:
        if (found := self.find(given)) is not None:
            return found
        raise GeostrataError(
            f"{option} {given}: the files have no such column; they have {', '.join(self.kinds)}"
        )


def draft(look: Look, one: str) -> Draft:
    """Names as a table can hold them: Spark does not tell cases apart, and some names are ours."""
    made = Draft(look, {}, {}, {}, notes=list(look.facts.notes))
    known = {name: name for name in BRONZE_COLUMNS}
    renames = any(_NOT_IN_DELTA & set(name.strip()) for name in look.facts.columns)
    for landed, kind in look.facts.columns.items():
        # Readers match names without outer blanks and case.
        name = landed.strip()
        if not name:
            raise GeostrataError("a column of the files has no name; name it there")
        check_no_jinja(name)
        if not is_plain_type(kind):
            made.notes.append(
                f"column {name} is not declared, its values are kept in _rescued: its type names fields that are no plain ones"
            )
            continue
        if (other := known.setdefault(name.casefold(), landed)) != landed or landed in BRONZE_COLUMNS:
            why = "bronze has one of its own"
            if other not in BRONZE_COLUMNS:
                why = f"it differs from {other} only by case"
            made.notes.append(f"column {name} is not declared, its values are kept in _rescued: {why}")
            continue
        # A model that renames some lists them all, in small letters.
        name = name.lower() if renames and is_plain(name) else name
        made.kinds[name], made.facts[name] = kind, look.columns[landed]
    made.bronze = _bronze(made.kinds, set(known), one) if renames else {name: name for name in made.kinds}
    _narrow(made)
    return made


def _bronze(names: Iterable[str], taken: set[str], one: str) -> dict[str, str]:
    """Plain names for all. Those that are plain keep theirs."""
    found = {name: name for name in names if is_plain(name)}
    for position, name in enumerate(names, start=1):
        if name not in found:
            found[name] = new_name(name, taken, one, position)
            taken.add(found[name])
    return {name: found[name] for name in names}


def _narrow(made: Draft) -> None:
    """A few bad values make a column text in the first look. As a coordinate or a time it must not stay so: what does not
    fit is null, kept in `_rescued`, and found by an expectation."""
    numeric = {
        name: "double" if kind == "string" and made.facts[name].is_nearly("double") else kind
        for name, kind in made.kinds.items()
    }
    pair = () if made.look.facts.geometry else lonlat_of(numeric) or ()
    times = [name for name in made.named(TIME_NAMES) if made.facts[name].is_nearly("timestamp")]
    for kind, names in (("double", pair), ("timestamp", times)):
        for name in names:
            if made.kinds[name] == "string":
                facts = made.facts[name]
                made.kinds[name] = kind
                misfits = facts.values - facts.fits[kind]
                made.notes.append(
                    f"{misfits} of {facts.values} values of {name} are no {kind}: they are rescued"
                )


def carried(made: Draft, one: str, key: str) -> tuple[Column, ...]:
    """All columns without a part of their own."""
    taken, found = {*_TAKEN, key}, []
    for position, (name, kind) in enumerate(made.kinds.items(), start=1):
        is_box = made.look.facts.format == "geoparquet" and name == _COVERING
        if name in made.used or is_box:
            continue
        silver = new_name(made.bronze[name], taken, one, position)
        taken.add(silver)
        found.append(Column(name, made.bronze[name], silver, kind))
    return tuple(found)
