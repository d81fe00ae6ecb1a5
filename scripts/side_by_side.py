"""Runs make targets two at a time: two suites of tests keep two cores busier than one after the other.

    python scripts/side_by_side.py lifecycle-test integration landing-test spatial-test

The next target begins when one has ended: name the longest first, so that none of them is left alone at the end. Lines come as they are
written, marked with the target that wrote them. Ends with 1 if a target failed; the others are run all the same, so that one run tells all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

# Each suite has a Spark of its own, with two cores and 5 GB in use at times.
LANES = 2


def succeeds(target: str) -> bool:
    began = time.monotonic()
    make = [os.environ.get("MAKE", "make"), "--no-print-directory", target]
    with subprocess.Popen(make, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        for line in running.stdout or ():
            print(f"{target:>14} | {line}", end="", flush=True)
    outcome = "ok" if running.returncode == 0 else "FAILED"
    print(f"{target:>14} | {outcome} after {time.monotonic() - began:.0f} s", flush=True)
    return running.returncode == 0


def main(targets: list[str]) -> int:
    with ThreadPoolExecutor(LANES) as lanes:
        outcomes = list(lanes.map(succeeds, targets))
    failed = [target for target, is_well in zip(targets, outcomes, strict=True) if not is_well]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
