"""Runs make targets side by side: two suites of tests keep two cores busier than one after the other.

    python scripts/side_by_side.py "integration lifecycle-test" "landing-test spatial-test"

Each argument is a chain of targets, one after the other. Lines come as they are written, marked with the target that wrote them.
Ends with 1 if a target failed; the other chains are finished all the same, so that one run tells all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time


def run_chain(targets: list[str], failed: list[str]) -> None:
    for target in targets:
        began = time.monotonic()
        make = [os.environ.get("MAKE", "make"), "--no-print-directory", target]
        with subprocess.Popen(make, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            for line in running.stdout or ():
                print(f"{target:>14} | {line}", end="", flush=True)
        outcome = "ok" if running.returncode == 0 else "FAILED"
        print(f"{target:>14} | {outcome} after {time.monotonic() - began:.0f} s", flush=True)
        if running.returncode:
            failed.append(target)


def main(chains: list[str]) -> int:
    failed: list[str] = []
    threads = [threading.Thread(target=run_chain, args=(chain.split(), failed)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
