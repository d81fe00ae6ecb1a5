"""`geostrata maintain`: plans from the logs what tables need, and does it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from geostrata import text_table
from geostrata.errors import GeostrataError
from geostrata.tables import apply, ops_tables, plan, policy, policy_checks, project
from geostrata.tables.engine import GivenEngine, SparkEngine
from geostrata.tables.policy_checks import Finding
from geostrata.tables.state import TableState, read_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

States = dict[project.ProjectTable, TableState]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        nargs="?",
        choices=["plan", "apply", "check"],
        default="plan",
        help="plan (the default): what would be done, and why; apply: do it; check: is maintenance.yml sound",
    )
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="a table or a layer; all tables if none is named"
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects, for machines")
    parser.add_argument("--target", help="dbt target for apply (the profile's default)")


def run(args: argparse.Namespace) -> int:
    chosen = policy.load()
    if args.verb == "check":
        return _check(chosen)
    began = time.monotonic()
    tables, actions = plan_tables(chosen, args.tables)
    if args.verb == "plan":
        print(_as_json(actions) if args.json else render_plan(actions, tables, time.monotonic() - began))
        return 0
    return _apply(chosen, actions, args)


def run_in(spark: SparkSession, names: list[str], is_applied: bool) -> str:
    """The same in a session that is there, for `dbt run-operation maintain`: what is to be said."""
    chosen = policy.load()
    began = time.monotonic()
    tables, actions = plan_tables(chosen, names)
    if not is_applied:
        return render_plan(actions, tables, time.monotonic() - began)
    if not actions:
        return "Nothing to do."
    ops_tables.require(apply.LOG)
    outcomes = apply.Run(chosen, GivenEngine(spark)).apply(actions)
    if any(outcome.status == apply.FAILED for outcome in outcomes):
        raise GeostrataError(" ".join(render_outcomes(outcomes).split()))
    return render_outcomes(outcomes)


def plan_tables(chosen: policy.Policy, names: list[str]) -> tuple[int, list[plan.Action]]:
    """How many tables were looked at, and what they need, most needed first."""
    states = {table: read_state(table.uri) for table in project.find(names)}
    _stop_if_unsound(chosen, states)
    actions = [action for table, state in states.items() for action in plan.plan_table(table, state, chosen)]
    return len(states), plan.ordered(actions)


def _check(chosen: policy.Policy) -> int:
    declared = project.declared_tables()
    built = {table: read_state(table.uri) for table in project.all_tables()}
    found = findings(chosen, declared, built)
    for finding in found:
        print(f"{'Warning' if finding.is_warning else 'Wrong'}: {finding}")
    wrong = [finding for finding in found if not finding.is_warning]
    if not wrong:
        print(
            f"{policy.FILE} is sound: {len(chosen.rules)} rules, {len(declared)} tables, {len(built)} built."
        )
    return 1 if wrong else 0


def findings(chosen: policy.Policy, declared: list[project.ProjectTable], built: States) -> list[Finding]:
    return [
        *policy_checks.check_selectors(chosen, declared),
        *policy_checks.check_retention(chosen, declared),
        *policy_checks.check_crs(built),
        *policy_checks.check_properties(chosen, built),
    ]


def _stop_if_unsound(chosen: policy.Policy, states: States) -> None:
    wrong = list(policy_checks.check_retention(chosen, list(states)))
    if wrong:
        raise GeostrataError(f"{wrong[0]} (`geostrata maintain check` shows all)")


def _apply(chosen: policy.Policy, actions: list[plan.Action], args: argparse.Namespace) -> int:
    if not actions:
        print("[]" if args.json else "Nothing to do.")
        return 0
    # Before Spark starts: what is done must be written down.
    ops_tables.require(apply.LOG)
    progress = _Progress(len(actions), quiet=args.json)
    engine = SparkEngine(args.target)
    try:
        outcomes = apply.Run(chosen, engine, progress).apply(actions)
    finally:
        progress.close()
        engine.stop()
    if args.json:
        print(json.dumps([_outcome(outcome) for outcome in outcomes], indent=2))
    else:
        print(render_outcomes(outcomes))
    return 1 if any(outcome.status == apply.FAILED for outcome in outcomes) else 0


def render_plan(actions: list[plan.Action], tables: int, seconds: float) -> str:
    needing = len({action.table.uri for action in actions})
    told = f"{tables:,} tables, {needing:,} of them to work on; looked at in {seconds:.1f} s"
    if not actions:
        return f"Nothing to do: {told}."
    rows = [
        [
            action.table.name,
            action.kind,
            f"{action.files_before:,} -> {action.files_after:,}",
            f"{text_table.size(action.bytes_before)} -> {text_table.size(action.bytes_after)}",
            text_table.size(action.bytes_rewritten) if action.bytes_rewritten else "-",
        ]
        for action in actions
    ]
    table = text_table.render(["", "action", "files", "bytes", "rewritten"], rows)
    reasons = [f"  {action.table.name}: {action.reason}" for action in actions]
    waits = sorted({str(action.window) for action in actions if action.window})
    ends = [f"{told}. To do it: geostrata maintain apply"]
    ends += [f"Only within {', '.join(waits)}."] if waits else []
    return "\n".join([table, "", "Why", *reasons, "", *ends])


def render_outcomes(outcomes: list[apply.Outcome]) -> str:
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    told = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    lines = [
        f"{outcome.action.table.name}: {outcome.action.kind} {outcome.status}: {outcome.error}"
        for outcome in outcomes
        if outcome.error
    ]
    return "\n".join([f"{told[:1].upper()}{told[1:]}. The log is in ops.{apply.LOG}.", *lines])


def _as_json(actions: list[plan.Action]) -> str:
    return json.dumps([_action(action) for action in actions], indent=2)


def _action(action: plan.Action) -> dict[str, Any]:
    return {
        "relation_name": action.table.name,
        "table_path": action.table.uri,
        "action_kind": action.kind,
        "sql_text": action.statement,
        "reason": action.reason,
        "override_reason": action.override,
        "files_before": action.files_before,
        "files_after": action.files_after,
        "bytes_before": action.bytes_before,
        "bytes_after": action.bytes_after,
        "bytes_rewritten": action.bytes_rewritten,
        "window": str(action.window) if action.window else None,
    }


def _outcome(outcome: apply.Outcome) -> dict[str, Any]:
    return {
        **_action(outcome.action),
        "status": outcome.status,
        "error": outcome.error,
        "tries": outcome.tries,
        "seconds": outcome.seconds,
        "files_before": outcome.files_before,
        "files_after": outcome.files_after,
        "bytes_before": outcome.bytes_before,
        "bytes_after": outcome.bytes_after,
    }


class _Progress:
    """A bar on a terminal, a line a statement elsewhere."""

    _WIDTH = 24

    def __init__(self, total: int, quiet: bool) -> None:
        self._total, self._done, self._quiet = total, 0, quiet
        self._on_terminal = sys.stdout.isatty() and not quiet
        self._show("")

    def __call__(self, outcome: apply.Outcome) -> None:
        self._done += 1
        told = f"{outcome.action.table.name}: {outcome.action.kind} {outcome.status}"
        if self._on_terminal:
            self._show(told)
        elif not self._quiet:
            moved = ""
            if outcome.status == apply.DONE:
                moved = f", {outcome.files_before:,} -> {outcome.files_after:,} files"
            again = f", {outcome.tries} tries" if outcome.tries > 1 else ""
            print(f"  {outcome.seconds:6.1f} s  {told}{moved}{again}", flush=True)

    def _show(self, told: str) -> None:
        if self._on_terminal:
            full = self._WIDTH * self._done // self._total
            bar = "#" * full + "." * (self._WIDTH - full)
            sys.stdout.write(f"\r\x1b[2K  [{bar}] {self._done} of {self._total}  {told}"[:110])
            sys.stdout.flush()

    def close(self) -> None:
        if self._on_terminal:
            sys.stdout.write("\r\x1b[2K")
            sys.stdout.flush()
