"""manifest.json: what the landing folder holds and what must become of every row of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from geostrata.demo.drops import Tally
from geostrata.demo.errors import DemoError
from geostrata.demo.faults import ENTITY_FAULTS, EXPECTATION
from geostrata.demo.writing import write_atomically

NAME = "manifest.json"
Manifest = dict[str, Any]


def plain_scale(scale: float) -> float | int:
    """1 and 1.0 are the same scale and must give the same bytes."""
    return int(scale) if float(scale).is_integer() else float(scale)


def empty(seed: int, scale: float) -> Manifest:
    entities = {}
    for entity, faults in ENTITY_FAULTS.items():
        expectations = dict.fromkeys(EXPECTATION[fault] for fault in faults if fault in EXPECTATION)
        entities[entity] = {
            "landed": 0,
            "accepted": 0,
            "quarantined": 0,
            "superseded": 0,
            "faults": dict.fromkeys(faults, 0),
            "expectations": dict.fromkeys(expectations, 0),
            "warnings": {"on_time": 0} if entity == "telemetry" else {},
        }
    return {
        "seed": seed,
        "scale": plain_scale(scale),
        "days": [],
        "entities": entities,
        "files": {},
    }


def add_drop(manifest: Manifest, entity: str, tally: Tally, files: dict[str, int]) -> None:
    """Adds a drop; every landed row must be accounted for, once."""
    landed = sum(files.values())
    accounted = tally.accepted + tally.quarantined + tally.superseded
    if landed != accounted:
        raise AssertionError(f"{entity}: {landed} rows landed, {accounted} accounted for")
    counts = manifest["entities"][entity]
    counts["landed"] += landed
    counts["accepted"] += tally.accepted
    counts["quarantined"] += tally.quarantined
    counts["superseded"] += tally.superseded
    by_kind: dict[str, Counter[str]] = {
        "faults": tally.faults,
        "expectations": tally.expectations,
        "warnings": tally.warnings,
    }
    for section, counter in by_kind.items():
        for name, rows in counter.items():
            counts[section][name] += rows
    manifest["files"].update(files)


def read(landing: Path) -> Manifest | None:
    """The manifest, or None where there is none."""
    path = landing / NAME
    try:
        manifest: Manifest = json.loads(path.read_text(encoding="utf-8"))
        missing = {"seed", "scale", "days", "entities", "files"} - set(manifest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError) as error:
        raise DemoError(f"{path} cannot be read ({error}): remove the landing folder") from None
    if missing:
        raise DemoError(f"{path} lacks {', '.join(sorted(missing))}: remove the landing folder")
    return manifest


def write(landing: Path, manifest: Manifest) -> None:
    text = json.dumps(manifest, indent=2) + "\n"
    write_atomically(landing / NAME, lambda path: path.write_text(text, encoding="utf-8"))
