"""Which files a run loads, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from geostrata.landing.declaration import Declaration
from geostrata.landing.outcomes import LEFT, REFUSED, Outcome
from geostrata.landing.storage import is_bucket
from geostrata.readers import LandedFile

# Of each kind of message so many are told one by one, then only their number.
_TOLD = 5


@dataclass(frozen=True)
class Plan:
    files: list[LandedFile]
    messages: list[str] = field(default_factory=list)
    # False if files are left that the next run must look at again, though nothing else has changed.
    is_settled: bool = True
    # Columns that some of the files have beyond the declared ones.
    new_columns: dict[str, str] = field(default_factory=dict)


def new_files(
    declared: Declaration, listing: Sequence[LandedFile], loaded: Iterable[tuple[str, int]]
) -> Plan:
    """Files (path and time) that the table does not hold yet, oldest first, as many as a run may load."""
    known = set(loaded)
    fresh = [file for file in listing if (file.path, file.modified_ms) not in known]
    fresh.sort(key=lambda file: (file.modified_ms, file.path))
    chosen = _capped(declared, fresh)
    if len(chosen) == len(fresh):
        return Plan(chosen)
    left = len(fresh) - len(chosen)
    return Plan(
        chosen,
        [
            f"{declared.name}: {len(chosen)} files are loaded now, {left} are left for the next run (max_files, max_bytes)"
        ],
        is_settled=False,
    )


def _capped(declared: Declaration, files: list[LandedFile]) -> list[LandedFile]:
    chosen: list[LandedFile] = []
    size = 0
    for file in files:
        size += file.size
        is_over = (declared.max_files is not None and len(chosen) >= declared.max_files) or (
            declared.max_bytes is not None and size > declared.max_bytes
        )
        # One file at least, however large: otherwise no run would ever load it.
        if is_over and chosen:
            break
        chosen.append(file)
    return chosen


def without_left(declared: Declaration, chosen: Plan, outcomes: dict[str, Outcome]) -> Plan:
    """The plan without files that are not all there yet; those and refused ones are told of."""
    of_kind: dict[str, list[str]] = {LEFT: [], REFUSED: []}
    for file in chosen.files:
        outcome = outcomes[file.path]
        if outcome.kind in of_kind:
            of_kind[outcome.kind].append(f"{file.path}: {outcome.reason}")
    messages = [*chosen.messages, *_told(declared, "left", of_kind[LEFT])]
    messages += _told(declared, "refused, see quarantine", of_kind[REFUSED])
    files = [file for file in chosen.files if outcomes[file.path].kind != LEFT]
    found = _new_columns(outcomes.values())
    if found:
        named = ", ".join(f"{name} {kind}" for name, kind in found.items())
        messages.append(f"{declared.name}: new columns: {named}")
    return Plan(files, messages, chosen.is_settled and not of_kind[LEFT], found)


def _new_columns(outcomes: Iterable[Outcome]) -> dict[str, str]:
    found: dict[str, str] = {}
    for outcome in outcomes:
        for name, kind in outcome.new_columns.items():
            # Files that disagree on a type have only text in common.
            if found.setdefault(name, kind) != kind:
                found[name] = "string"
    return found


def _told(declared: Declaration, what: str, lines: list[str]) -> list[str]:
    told = [f"{declared.name}: {what}: {line}" for line in lines[:_TOLD]]
    if len(lines) > _TOLD:
        told.append(f"{declared.name}: {what}: {len(lines) - _TOLD} more files")
    return told


def plan(
    spark: Any, declared: Declaration, listing: list[LandedFile], loaded: Iterable[tuple[str, int]]
) -> Plan:
    from geostrata.landing.rows import outcomes

    chosen = new_files(declared, listing, loaded)
    # An object in a bucket is all there or not at all, and looking at it would mean to fetch it twice.
    is_whole = is_bucket(declared.location) and declared.spec.schema_policy != "additive"
    if not chosen.files or is_whole:
        return chosen
    return without_left(declared, chosen, outcomes(spark, declared, chosen.files))
