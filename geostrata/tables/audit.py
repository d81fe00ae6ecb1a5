"""`geostrata audit`: how tables are laid out, from their Delta logs alone."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from geostrata import text_table
from geostrata.errors import GeostrataError
from geostrata.tables import budgets, ops_tables, picture, project
from geostrata.tables.health import COMMITS_JUDGED, SLOW_COMMIT_S, Health, examine
from geostrata.tables.state import read_state

_RECORD = "table_health"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="a table (silver.parcels), a layer (silver) or the path of a Delta table; all tables if none is named",
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects, for machines")
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="BUDGET",
        help="exit with 1 if this holds for any table, such as 'overlap_depth>3'; may be repeated",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.svg", help="draw the boxes of one table's files"
    )
    parser.add_argument(
        "--before", type=int, metavar="VERSION", help="draw this version beside it, on the same extent"
    )
    parser.add_argument("--record", action="store_true", help="append the figures to ops.table_health")


def run(args: argparse.Namespace) -> int:
    wanted = [budgets.parse(text) for text in args.fail_on]
    if args.record:
        ops_tables.require(_RECORD)
    tables = project.find(args.tables)
    _check_picture(args, tables)
    found = []
    for table in tables:
        state = read_state(table.uri)
        found.append(examine(table, state))
        if args.picture:
            short = Path(table.name).name
            panels = [picture.Panel(f"{short}, version {state.version}", state)]
            if args.before is not None:
                earlier = read_state(table.uri, args.before)
                panels.insert(0, picture.Panel(f"{short}, version {earlier.version}", earlier))
            picture.write(args.picture, table.name, panels)
    if args.record and found:
        now = datetime.now(UTC)
        ops_tables.append(_RECORD, [{**health.as_dict(), "recorded_at": now} for health in found])
    broken = [(health, budget) for health in found for budget in wanted if budget.is_broken_by(health)]
    if args.json:
        print(json.dumps([health.as_dict() for health in found], indent=2))
    else:
        print(render(found))
    _tell(broken, to_stderr=args.json)
    return 1 if broken else 0


def render(found: list[Health]) -> str:
    if not found:
        return "No table is built yet: run `dbt build`."
    header = [
        "",
        "rows",
        "size",
        "files",
        "small",
        "dead",
        "stats",
        "depth",
        "hit files",
        "ideal",
        "hit bytes",
        "ideal",
        "clustered",
        "commit",
    ]
    lines = [text_table.render(header, [_line(health) for health in found])]
    for health in found:
        if health.slow_commits:
            lines.append(
                f"{health.relation_name}: {health.slow_commits} of its newest commits (of at most {COMMITS_JUDGED}) "
                f"took over {SLOW_COMMIT_S:g} s, the longest {health.commit_latency_max_s:.1f} s"
            )
    return "\n".join(lines)


def _line(health: Health) -> list[str]:
    def figure(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    def size(value: float | None) -> str:
        return "-" if value is None else text_table.size(value)

    return [
        health.relation_name,
        f"{health.total_rows:,}",
        size(health.total_bytes),
        f"{health.files:,}",
        f"{health.small_files:,}",
        size(health.tombstone_bytes),
        figure(health.statistics_coverage, ".0%"),
        figure(health.overlap_depth, ".1f"),
        figure(health.window_files, ".1f"),
        figure(health.window_files_ideal, ".1f"),
        size(health.window_bytes),
        size(health.window_bytes_ideal),
        figure(health.clustered_share, ".0%"),
        "-" if health.commit_latency_s is None else f"{health.commit_latency_s:.1f} s",
    ]


def _check_picture(args: argparse.Namespace, tables: list[project.ProjectTable]) -> None:
    if args.before is not None and not args.picture:
        raise GeostrataError("--before is drawn: name the picture as well, with --picture FILE.svg")
    if args.picture and len(tables) != 1:
        raise GeostrataError(f"--picture draws one table, and {len(tables)} were chosen: name one")


def _tell(broken: list[tuple[Health, budgets.Budget]], to_stderr: bool) -> None:
    import sys

    for health, budget in broken:
        value = getattr(health, budget.figure)
        print(
            f"Over budget: {health.relation_name} has {budget.figure} {value:g} ({budget.text})",
            file=sys.stderr if to_stderr else sys.stdout,
        )
