"""`make bench`: spatial joins, windows, neighbours and overlays against peers, on the same files, with equal answers.

Each engine runs in a process of its own, one after the other, warm: some runs that are not timed, then the median of others. Only ratios
of one run say anything: machines differ and are shared. Exits with 1 if answers differ, whatever the times are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.spatial import answers
from benchmarks.spatial.answers import Answer
from benchmarks.spatial.cases import CASES, ENGINES, Case
from benchmarks.spatial.data import Data
from benchmarks.spatial.report import Findings, disagreements
from benchmarks.spatial.runner import ROOT, NotMeasuredError, OvertimeError, Row, Runner

FOLDER = ROOT / "target" / "bench"


def main() -> int:
    args = _arguments()
    with Runner(args.folder, args.repeats, args.limit, _say) as runner:
        rows, found, faults = _ask(runner, args)
    faults += [f"{question}: {words}" for question in found for words in disagreements(found[question])]
    _print(Findings(rows), args.folder / "chart.png")
    for fault in faults:
        print(f"  WRONG: {fault}")
    for question in (question for question, given in found.items() if len(given) == 1):
        print(f"  Not compared, since nobody else was asked or could answer: {question}")
    if not faults:
        print("  All answers are equal.")
    return 1 if faults else 0


def _ask(
    runner: Runner, args: argparse.Namespace
) -> tuple[list[Row], dict[str, dict[str, Answer]], list[str]]:
    """The figures, the answers by question (a case may answer that of another in its own way), and what went wrong."""
    folder: Path = args.folder
    rows: list[Row] = []
    faults: list[str] = []
    too_slow: set[tuple[str, str]] = set()
    found: dict[str, dict[str, Answer]] = {}
    for case, data in _asked(folder, args.cases, args.sizes):
        question = (
            f"{case.kind} of {case.rows(data):,} {case.left} {f'with {case.right}' if case.right else ''}"
        )
        for engine in (name for name in args.engines if name in case.engines):
            _say(f"\n{case.name}, {case.rows(data):,} rows, {engine}:")
            if (case.name, engine) in too_slow:
                _say("left out: took too long with fewer rows")
                continue
            try:
                measured = runner.measure(case, data, engine)
            except NotMeasuredError as reason:
                _say(str(reason))
                if isinstance(reason, OvertimeError):
                    too_slow.add((case.name, engine))
                elif engine == "geostrata":
                    faults.append(f"{question}: {case.name} by geostrata {reason}")
                continue
            _append(folder / "results.jsonl", measured)
            rows += measured
            answer = answers.load(runner.answer_file(case, data, engine))
            found.setdefault(question, {})[f"{case.name} by {engine}"] = answer
    return rows, found, faults


def _asked(folder: Path, names: list[str], sizes: list[float]) -> list[tuple[Case, Data]]:
    """Cases by size; where a larger size would ask the same again, once."""
    asked: dict[tuple[str, int], tuple[Case, Data]] = {}
    for size in sizes:
        data = Data(folder / "data", max(1, round(size * 1e6)))
        for name in names:
            asked.setdefault((name, CASES[name].rows(data)), (CASES[name], data))
    return list(asked.values())


def _print(findings: Findings, chart: Path) -> None:
    print("\n")
    if not findings.rows:
        return
    for part in (findings.table(), findings.targets(), findings.growth(), findings.disturbed()):
        if part:
            print(part, "\n")
    try:
        findings.chart(chart)
        print(f"  Chart: {chart}")
    except ImportError as error:
        print(f"  No chart: the package {error.name} is not installed.")


def _append(path: Path, rows: list[Row]) -> None:
    with path.open("a") as results:
        for row in rows:
            results.write(json.dumps(row.as_json()) + "\n")


def _say(words: str) -> None:
    print(words, end=" ", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--sizes", nargs="+", type=float, default=[0.5, 2, 8], help="millions of points")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES, metavar="ENGINE")
    parser.add_argument(
        "--repeats", type=int, default=3, help="timed runs; 0: one run for its answer, nothing is timed"
    )
    parser.add_argument("--limit", type=float, default=600, help="seconds that one run may take")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where data and results are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
