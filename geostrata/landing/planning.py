"""Which files a run loads, and what is said of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from geostrata.errors import GeostrataError
from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import Delivery, Known, label
from geostrata.landing.outcomes import LEFT, REFUSED, SOUND, Outcome
from geostrata.printable import printable
from geostrata.readers import LandedFile
from geostrata.sql_names import is_admitted, is_plain_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of each kind of message so many are told one by one, then only their number.
_TOLD = 5
# Of a name that is not admitted, so much is told.
_LONGEST_NAME = 60


@dataclass(frozen=True)
class Plan:
    deliveries: list[Delivery]
    messages: list[str] = field(default_factory=list)
    # False if files are left that the next run must look at again, though nothing else has changed.
    is_settled: bool = True
    # Columns that some of the files have beyond the declared ones.
    new_columns: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> list[LandedFile]:
        return [delivery.file for delivery in self.deliveries]


def new_deliveries(
    declared: Declaration, listing: Sequence[LandedFile], known: Known, again: Collection[str] = ()
) -> Plan:
    """Files that the table does not hold as they are now, oldest first, as many as a run may load. `again` are names of files that are to
    be read once more, though nothing has changed."""
    fresh = [
        (name, file)
        for file in listing
        if (name := label(file.path, declared.spec)) in again or not known.is_known(name, file)
    ]
    fresh.sort(key=lambda pair: (pair[1].modified_ms, pair[1].path))
    chosen = _capped(declared, fresh)
    deliveries = known.numbered(chosen)
    if len(chosen) == len(fresh):
        return Plan(deliveries)
    left = len(fresh) - len(chosen)
    return Plan(
        deliveries,
        [
            f"{declared.name}: {len(chosen)} files are loaded now, {left} are left for the next run (max_files, max_bytes)"
        ],
        is_settled=False,
    )


def all_again(
    declared: Declaration,
    listing: Sequence[LandedFile],
    known: Known,
    changed: Collection[str] = (),
    may_drop_missing: bool = False,
) -> Plan:
    """For a full refresh: every file, those that were seen before in the order in which they were, the others after them."""
    names = {label(file.path, declared.spec): file for file in listing}
    if not may_drop_missing:
        _refuse_loss(
            declared,
            sorted(known.paths - names.keys()),
            f"are no longer in {declared.location}",
            "Put them back",
        )
    seen = [
        delivery
        for name, file in names.items()
        if name not in changed and (delivery := known.again(name, file)) is not None
    ]
    held = {delivery.file.path for delivery in seen}
    fresh = [(name, file) for name, file in names.items() if file.path not in held]
    fresh.sort(key=lambda pair: (pair[1].modified_ms, pair[1].path))
    return Plan(sorted(seen, key=lambda one: one.number) + known.numbered(fresh))


def _refuse_loss(declared: Declaration, lost: list[str], why: str, remedy: str) -> None:
    if lost:
        named = ", ".join(map(printable, lost[:_TOLD]))
        named += f" and {len(lost) - _TOLD} more" if lost[_TOLD:] else ""
        raise GeostrataError(
            f"{declared.name}: a full refresh would lose the rows of {len(lost)} files that {why}: {named}. "
            f"{remedy}, or accept the loss with --vars 'drop_missing_files: true'."
        )


def _capped(declared: Declaration, files: list[tuple[str, LandedFile]]) -> list[tuple[str, LandedFile]]:
    chosen: list[tuple[str, LandedFile]] = []
    size = 0
    for name, file in files:
        size += file.size
        is_over = (declared.max_files is not None and len(chosen) >= declared.max_files) or (
            declared.max_bytes is not None and size > declared.max_bytes
        )
        # One file at least, however large: otherwise no run would ever load it.
        if is_over and chosen:
            break
        chosen.append((name, file))
    return chosen


def without_left(declared: Declaration, chosen: Plan, outcomes: dict[str, Outcome]) -> Plan:
    """The plan without files that are not all there yet; those and refused ones are told of."""
    of_kind: dict[str, list[str]] = {LEFT: [], REFUSED: []}
    for file in chosen.files:
        outcome = outcomes[file.path]
        if outcome.kind in of_kind:
            of_kind[outcome.kind].append(f"{printable(file.path)}: {printable(outcome.reason or '')}")
    messages = [*chosen.messages, *_told(declared, "left", of_kind[LEFT])]
    messages += _told(declared, "refused, see quarantine", of_kind[REFUSED])
    deliveries = [
        replace(one, fingerprint=outcome.fingerprint)
        for one in chosen.deliveries
        if (outcome := outcomes[one.file.path]).kind != LEFT
    ]
    found, others = _new_columns(declared, outcomes.values())
    messages += [
        f"{declared.name}: kept in _rescued: new column {name}: {why}" for name, why in others[:_TOLD]
    ]
    if others[_TOLD:]:
        messages.append(f"{declared.name}: kept in _rescued: {len(others) - _TOLD} more new columns")
    if found:
        named = ", ".join(f"{printable(name)} {kind}" for name, kind in found.items())
        messages.append(f"{declared.name}: new columns: {named}")
    return Plan(deliveries, messages, chosen.is_settled and not of_kind[LEFT], found)


def _new_columns(
    declared: Declaration, outcomes: Iterable[Outcome]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Those that the table may gain, and the others with the reason. A file's names and types become DDL: they have to be plain."""
    known = {name.casefold() for name in declared.spec.columns}
    found: dict[str, str] = {}
    spelled: dict[str, str] = {}
    others: dict[str, str] = {}
    for outcome in outcomes:
        repeats = Counter(name.strip().casefold() for name in outcome.new_columns)
        for given, kind in outcome.new_columns.items():
            name = given.strip()
            if not is_admitted(name):
                others[printable(repr(given)[:_LONGEST_NAME])] = "its name is no plain one"
            elif not is_plain_type(kind):
                others[name] = "its type names fields that are no plain ones"
            elif repeats[name.casefold()] > 1 or name.casefold() in known:
                others[name] = "another column has the same name but for its case"
            else:
                # Files that disagree on a type have only text in common.
                name = spelled.setdefault(name.casefold(), name)
                if found.setdefault(name, kind) != kind:
                    found[name] = "string"
    return found, list(others.items())


def _told(declared: Declaration, what: str, lines: list[str]) -> list[str]:
    told = [f"{declared.name}: {what}: {line}" for line in lines[:_TOLD]]
    if len(lines) > _TOLD:
        told.append(f"{declared.name}: {what}: {len(lines) - _TOLD} more files")
    return told


def plan(
    spark: SparkSession,
    declared: Declaration,
    listing: list[LandedFile],
    known: Known,
    is_refresh: bool = False,
    released: Collection[str] = (),
    may_drop_missing: bool = False,
    compared_ms: int = 0,
) -> Plan:
    """`compared_ms`: when the content of all files was last compared with what was loaded."""
    from geostrata.landing.rows import outcomes

    changed = _changed_content(spark, declared, listing, known, compared_ms)
    # A refresh holds at least what the table held; a first run is capped as any other.
    if is_refresh and known.paths:
        chosen = all_again(declared, listing, known, changed, may_drop_missing)
    else:
        chosen = new_deliveries(declared, listing, known, {*changed, *released})
    if not chosen.files:
        return chosen
    found = outcomes(spark, declared, chosen.files)
    if is_refresh and not may_drop_missing:
        lost = {label(path, declared.spec) for path, outcome in found.items() if outcome.kind != SOUND}
        _refuse_loss(
            declared,
            sorted(lost & known.accepted),
            "were read before and can't be now",
            "Mend or replace them",
        )
    return without_left(declared, chosen, found)


def _changed_content(
    spark: SparkSession, declared: Declaration, listing: list[LandedFile], known: Known, compared_ms: int
) -> set[str]:
    """Names of files with the time and size of their last delivery, and other content."""
    from geostrata.landing.rows import fingerprints

    doubtful = {
        file.path: name
        for file in listing
        if known.is_doubtful(name := label(file.path, declared.spec), file, compared_ms)
    }
    if not doubtful:
        return set()
    found = fingerprints(spark, [file for file in listing if file.path in doubtful])
    return {name for path, name in doubtful.items() if known.has_other_content(name, found.get(path))}
