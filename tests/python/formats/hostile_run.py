"""Lands each file of a hostile corpus as a worker does, examines its geometries, and prints what came of it.

In a process of its own, so that its memory can be bounded and measured."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import hostile_corpus

from geostrata.geometry.examining import examine
from geostrata.landing.outcomes import outcome_of
from geostrata.landing.tasks import file_rows
from geostrata.readers import LandedFile, SourceSpec, landed


def main(folder: str) -> None:
    found = []
    for name in hostile_corpus.ENDINGS:
        for path in sorted((Path(folder) / name).iterdir()):
            found.append(_landed(landed(str(path)), hostile_corpus.spec_of(name)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"files": found, "peak_bytes": peak}))


def _landed(file: LandedFile, spec: SourceSpec) -> dict[str, object]:
    started = time.monotonic()
    outcome = outcome_of(file, spec)
    looked = time.monotonic() - started
    rows = readable = 0
    problem = None
    for batch in file_rows(file, spec):
        problem = batch.column("_file_problem")[0].as_py()
        rows += batch.num_rows
        crs = [
            own or given
            for own, given in zip(
                *(batch.column(one).to_pylist() for one in ("crs", "_source_crs")), strict=True
            )
        ]
        examined = examine(batch.column("geometry").to_pylist(), crs, repair=True)
        readable += int(examined["is_readable"].fillna(value=False).sum())
    return {
        "path": file.path,
        "format": spec.format,
        "outcome": outcome.kind,
        "looked_s": looked,
        "seconds": time.monotonic() - started,
        "rows": rows,
        "readable": readable,
        "problem": problem,
    }


if __name__ == "__main__":
    main(sys.argv[1])
