"""What the person reads: what was found, what was written, what to do next."""

from __future__ import annotations

from dbt_sedona_text import printable
from geostrata.add_source.choosing import Choices
from geostrata.add_source.places import Place
from geostrata.add_source.project_files import PROJECT_FILE

_WIDTH = 100


def found(choices: Choices, place: Place) -> str:
    facts = choices.look.facts
    options = "".join(f", {name} {value!r}" for name, value in facts.options.items())
    files = f"{len(place.files):,} file{'s' if len(place.files) != 1 else ''}"
    seen = f"{facts.sampled_records:,} rows of {facts.sampled_files} looked at"
    where = place.location if place.pattern is None else f"{place.location}, {place.pattern}"
    types = ", ".join(f"{kind} {count:,}" for kind, count in choices.geometry.types.items())
    entries = [
        ("files", f"{files} in {where}; {seen}"),
        ("format", f"{facts.format}{options}"),
        ("columns", ", ".join(f"{name} {kind}" for name, kind in choices.landed.items())),
        ("geometry", f"{', '.join(choices.geometry.columns)} ({choices.geometry.encoding}): {types}"),
        ("crs", choices.crs.text),
        ("key", f"{choices.key}, from {choices.key_column or 'file and row'}"),
        ("time", f"updated_at, from {choices.time_column or 'the time of the file'}"),
        *(("note", note) for note in choices.notes),
    ]
    return "\n".join([f"Found for {choices.name}:", *(_entry(name, text) for name, text in entries)])


def _entry(name: str, text: str) -> str:
    """Long lists of columns go on below."""
    lines, line = [], f"  {name:<9} "
    for word in printable(text).split(" "):
        if len(line) + len(word) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * 12
        line += f"{word} "
    return "\n".join([*lines, line.rstrip()])


def written(choices: Choices, files: dict[str, str], line: str) -> str:
    name = choices.name
    paths = [*files, f"{PROJECT_FILE}, one line: {line}"]
    return "\n".join(
        [
            "Wrote:",
            *(f"  {path}" for path in paths),
            "Next:",
            f"  fill in owner, licence, freshness and descriptions: {next(iter(files))}",
            # What follows from the raw table as well: quarantine and ledger learn of the entity.
            f"  dbt build --select +{name} raw_{name}+",
            "  geostrata account",
        ]
    )


def content(files: dict[str, str], line: str) -> str:
    parts = [f"\n--- {path}\n{text}" for path, text in files.items()]
    return "".join([*parts, f"\n--- {PROJECT_FILE}, one line under vars: entities:\n    {line}"])
