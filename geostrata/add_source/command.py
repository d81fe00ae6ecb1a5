"""The command `geostrata add-source`."""

from __future__ import annotations

import argparse

from geostrata import settings
from geostrata.errors import GeostrataError

_EXAMPLE = "geostrata add-source 'landing/trees/*.csv' --name trees"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "write the models of a new entity from a look at its files; nothing is overwritten"
    parser.add_argument(
        "path", nargs="+", metavar="PATH_OR_GLOB", help="a file, a folder, or a glob in quotes"
    )
    parser.add_argument("--name", required=True, help="the entity, plural and lower-case: trees, bus_stops")
    parser.add_argument("--key", metavar="COLUMN", help="the column that identifies a row")
    parser.add_argument("--crs", help="where the files declare none, such as EPSG:2056")
    parser.add_argument(
        "--geometry", metavar="COLUMN", help="the geometry column, or two with a comma: east,north"
    )
    parser.add_argument("--layer", help="which layer, of files that hold several")
    parser.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="a reader's option, such as separator=;"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the files instead of writing them")


def run(args: argparse.Namespace) -> int:
    # Imported late: help needs no reader.
    from geostrata.add_source import naming, project_files, report
    from geostrata.add_source.choosing import Wishes, choose
    from geostrata.add_source.places import find
    from geostrata.add_source.rendering import rendered
    from geostrata.add_source.sampling import look

    if len(args.path) > 1:
        raise GeostrataError(
            f"{len(args.path)} paths came where one was expected; put a glob in quotes: {_EXAMPLE}"
        )
    project = settings.project_dir()
    naming.check_entity(args.name)
    project_files.check_free(project, args.name)
    place = find(args.path[0], project)
    look_at = look(place.files, _options(args.option, args.layer))
    choices = choose(args.name, look_at, Wishes(args.key, args.crs, args.geometry))
    files = rendered(choices, place)
    line = project_files.entity_line(choices.name, choices.key)
    changed = project_files.with_entity(project, choices.name, line)
    print(report.found(choices, place))
    if args.dry_run:
        print(report.content(files, line))
        return 0
    project_files.write(project, files, changed)
    print(report.written(choices, files, line))
    return 0


def _options(given: list[str], layer: str | None) -> dict[str, str]:
    options = {}
    for entry in given:
        name, sign, value = entry.partition("=")
        if not sign or not name.strip():
            raise GeostrataError(f"--option must be name=value, got {entry!r}")
        options[name.strip()] = value
    if layer is not None:
        options["layer"] = layer
    return options
