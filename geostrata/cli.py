"""The command line `geostrata`, for what is not a dbt verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from dbt_sedona_text import printable
from geostrata import __version__
from geostrata.errors import GeostrataError


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    # Has add_arguments(parser) and run(args) -> exit code. Imported when the command is used, not before: listing the
    # commands stays instant.
    module: str


COMMANDS = (
    Command("demo", "generate the demo town's landing files", "geostrata.demo"),
    Command(
        "run", "make demo data if there is none, build everything, show what came of it", "geostrata.run"
    ),
    Command("account", "where every landed row is; exit code 1 if one is missing", "geostrata.account"),
    Command(
        "add-source", "write the models of a new entity from a look at its files", "geostrata.add_source"
    ),
    Command(
        "audit",
        "how tables are laid out, from their logs alone; exit code 1 over a budget",
        "geostrata.tables.audit",
    ),
    Command("maintain", "plan what tables need, by maintenance.yml, and do it", "geostrata.tables.maintain"),
    Command(
        "repair",
        "restore, replace, delete, undo, clone, drop or migrate; dry by default",
        "geostrata.repairs.command",
    ),
    Command("doctor", "check this machine and this project", "geostrata.doctor"),
)


class CommandModule(Protocol):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="geostrata",
        description="A spatial lakehouse that you run with dbt. For run, test, docs and the like: plain dbt.",
    )
    parser.add_argument("--version", action="version", version=f"geostrata {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for command in COMMANDS:
        # Without -h, which the command's own parser answers.
        commands.add_parser(command.name, help=command.help, add_help=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options, rest = build_parser().parse_known_args(arguments)
        command = next(command for command in COMMANDS if command.name == options.command)
        module = cast(CommandModule, import_module(command.module))
        parser = argparse.ArgumentParser(prog=f"geostrata {command.name}", description=command.help)
        module.add_arguments(parser)
        return module.run(parser.parse_args(rest))
    except GeostrataError as error:
        # It may quote what a file holds.
        print(f"geostrata: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("geostrata: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough. Nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
