"""`geostrata repair`: shows what would change, and does it with --apply and a reason."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from geostrata.errors import GeostrataError
from geostrata.repairs import applying, guards, map_picture, plans, preview
from geostrata.repairs.engines import one_line, open_engine
from geostrata.repairs.plans import Repair
from geostrata.repairs.preview import Preview
from geostrata.repairs.target import find
from geostrata.tables import ops_tables
from geostrata.tables.engine import Engine, GivenEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="verb", required=True)
    restore = _verb(verbs, "restore", "go back to a version or a time")
    goal = restore.add_mutually_exclusive_group(required=True)
    goal.add_argument("--to-version", type=int, metavar="N", help="the version to go back to")
    goal.add_argument("--to-time", metavar="TIME", help="as it was then (UTC), as 2026-03-01T12:00:00")
    replace = _verb(verbs, "replace", "replace rows by those of another table or version")
    replace.add_argument("--where", required=True, metavar="CONDITION", help="which rows, in SQL")
    replace.add_argument(
        "--from", required=True, dest="source", metavar="SOURCE", help="a table, or version:N"
    )
    replace.add_argument(
        "--only-matching",
        action="store_true",
        help="leave out rows of the source that do not meet the condition",
    )
    delete = _verb(verbs, "delete", "delete rows")
    delete.add_argument("--where", required=True, metavar="CONDITION", help="which rows, in SQL")
    undo = _verb(verbs, "undo", "take back the last commit that changed rows")
    undo.add_argument(
        "--version", type=int, metavar="N", help="the commit that was shown; needed with --apply"
    )
    clone = _verb(verbs, "clone", "make a backup with files of its own")
    clone.add_argument("--as", dest="name", metavar="NAME", help="its name (<table>_version_<n>)")
    clone.add_argument("--version", type=int, metavar="N", help="which version (the newest)")
    drop = _verb(verbs, "drop", "drop a table of which there is a backup")
    drop.add_argument("--confirm", metavar="NAME", help="the table's name once more")
    migrate = _verb(verbs, "migrate", "change the partitioning or clustering; the rows stay")
    layout = migrate.add_mutually_exclusive_group(required=True)
    layout.add_argument("--partition-by", metavar="COLUMNS", help="columns with commas between; '' for none")
    layout.add_argument("--cluster-by", metavar="COLUMNS", help="columns with commas between; '' for none")


def _verb(verbs: Any, name: str, told: str) -> Any:
    parser = verbs.add_parser(name, help=told, description=told)
    parser.add_argument("table", metavar="TABLE", help="a table of the project, or the path of a Delta table")
    parser.add_argument(
        "--apply", action="store_true", help="do it; without this, only show what would change"
    )
    parser.add_argument("--reason", help="why; needed with --apply, kept in the commit and in ops.repair_log")
    parser.add_argument(
        "--key", metavar="COLUMNS", help="by which rows are told apart (the model's unique_key)"
    )
    parser.add_argument("--map", type=Path, metavar="FILE.svg", help="draw where rows change")
    parser.add_argument("--json", action="store_true", help="print an object, for machines")
    parser.add_argument("--target", help="dbt target (the profile's default)")
    return parser


def run(args: argparse.Namespace) -> int:
    repair = plan(args)
    engine = open_engine(args.target, with_catalog=args.apply and repair.needs_catalog)
    try:
        print(carry_out(engine, repair, args))
    finally:
        engine.stop()
    return 0


def run_in(spark: SparkSession, command: str) -> str:
    """The same in a session that is there, for `dbt run-operation repair`: what is to be said."""
    parser = _StrictParser(prog="repair")
    add_arguments(parser)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise GeostrataError(f"repair: {error} in {command}") from None
    args = parser.parse_args(words)
    return carry_out(GivenEngine(spark), plan(args), args)


def plan(args: argparse.Namespace) -> Repair:
    """All that can be refused without Spark is refused here."""
    if args.apply:
        if not (args.reason or "").strip():
            raise GeostrataError("--apply needs a --reason: it is kept in the commit and in ops.repair_log")
        if args.verb == "undo" and args.version is None:
            raise GeostrataError(
                "undo --apply needs --version N, the commit that was looked at: another may have come since. "
                f"It is named by: geostrata repair undo {shlex.quote(args.table)}"
            )
        ops_tables.require(applying.LOG)
    target = find(args.table, args.key)
    guards.check_place(args.verb, target)
    repair = _PLANS[args.verb](target, args)
    if args.map:
        map_picture.check(args.map, repair.state)
    keys = guards.check_keys(target, repair.state, were_given=bool(args.key))
    return dataclasses.replace(repair, target=dataclasses.replace(repair.target, keys=keys))


_PLANS: dict[str, Any] = {
    "restore": lambda target, args: plans.restore(target, args.to_version, args.to_time),
    "replace": lambda target, args: plans.replace(target, args.where, args.source, args.only_matching),
    "delete": lambda target, args: plans.delete(target, args.where),
    "undo": lambda target, args: plans.undo(target, args.version),
    "clone": lambda target, args: plans.clone(target, args.name, args.version),
    "drop": lambda target, args: plans.drop(target, args.confirm),
    "migrate": lambda target, args: plans.migrate(target, args.partition_by, args.cluster_by),
}


def carry_out(engine: Engine, repair: Repair, args: argparse.Namespace) -> str:
    handle = engine.handle()
    seen = _look(handle, repair)
    if args.map:
        map_picture.write(args.map, f"{repair.target.name}: {repair.title}", seen.found, repair.state)
    is_needed = repair.kind in ("clone", "drop", "migrate") or not seen.is_empty
    version = None
    if args.apply and is_needed:
        version = applying.apply(handle, repair, seen, args.reason.strip())
    if args.json:
        return json.dumps(_as_json(repair, seen, args.apply and is_needed, version), indent=2)
    return "\n".join([preview.render(repair, seen), "", _ending(repair, args, is_needed, version)])


def _look(handle: Any, repair: Repair) -> Preview:
    try:
        return preview.look(handle.spark, repair)
    except GeostrataError:
        raise
    except Exception as error:
        # Most often a condition that is no SQL, or names a column that is not there.
        raise GeostrataError(
            f"{repair.target.name}: {repair.kind} is not possible: {one_line(error)}"
        ) from error


def _ending(repair: Repair, args: argparse.Namespace, is_needed: bool, version: int | None) -> str:
    if not is_needed and repair.kind == "undo":
        return "Nothing to do: that version changed nothing. Go further back with `geostrata repair restore`."
    if not is_needed:
        return "Nothing to do: the table is as it would be."
    if not args.apply:
        just = f"--version {repair.undoes} " if repair.undoes is not None else ""
        return f"Nothing was changed. To do it, add: {just}--apply --reason '...'"
    now = f"{repair.target.name} is at version {version}" if version is not None else "It is gone"
    return f"Done. {now}. The log is in ops.{applying.LOG}. To take it back: {repair.undo}"


def _as_json(repair: Repair, seen: Preview, is_done: bool, version: int | None) -> dict[str, Any]:
    found = dataclasses.asdict(seen.found)
    # Thousands of boxes are for the map.
    del found["boxes"]
    return {
        "relation_name": repair.target.name,
        "table_path": repair.target.path,
        "action_kind": repair.kind,
        "title": repair.title,
        "statements": [*repair.statements, *([repair.naming] if repair.naming else [])],
        "is_done": is_done,
        "version_before": repair.state.version,
        "version_after": version,
        "rows": seen.rows,
        "rows_left_out": seen.left_out,
        "table_changes": list(seen.table_changes),
        "files_before": seen.files_before,
        "bytes_before": seen.bytes_before,
        "files_after": seen.files_after,
        "bytes_after": seen.bytes_after,
        "undo_command": repair.undo,
        **found,
    }


class _StrictParser(argparse.ArgumentParser):
    """For dbt, which must not be ended by a mistake in an argument, nor by -h."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise GeostrataError(f"{self.prog}: {message or 'docs/repair.md has all arguments'}")

    def error(self, message: str) -> NoReturn:
        raise GeostrataError(f"{self.prog}: {message}")
