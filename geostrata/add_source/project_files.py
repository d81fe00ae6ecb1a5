"""The project's files: what is taken, and writing all or nothing."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from geostrata.errors import GeostrataError

PROJECT_FILE = "dbt_project.yml"
_SOURCE = "landing"
_ENTITIES = re.compile(r"( +)entities:[ \t]*(?:#.*)?")


def paths_of(name: str) -> tuple[str, ...]:
    return (
        f"models/bronze/_bronze__{name}.yml",
        f"models/bronze/raw_{name}.sql",
        f"models/silver/{name}_checked.sql",
        f"models/silver/{name}.sql",
        f"models/silver/_silver__{name}.yml",
    )


def check_free(project: Path, name: str) -> None:
    """Nothing that the command would write or declare is there yet."""
    for path in paths_of(name):
        if (project / path).exists():
            raise GeostrataError(f"{path} exists already, and nothing is overwritten; choose another --name")
    if name in _entities(_parsed(_read(project))):
        raise GeostrataError(f"{name} is an entity of {PROJECT_FILE} already; choose another --name")
    taken = {name, f"raw_{name}", f"{name}_checked"}
    for folder, endings in (("models", (".sql", ".py")), ("seeds", (".csv",)), ("snapshots", (".sql",))):
        for file in sorted((project / folder).rglob("*")):
            if file.suffix in endings and file.stem in taken:
                where = file.relative_to(project)
                raise GeostrataError(f"the name {file.stem} is taken by {where}; choose another --name")
    for file, table in _source_tables(project):
        if table == name:
            where = file.relative_to(project)
            raise GeostrataError(f"the source {_SOURCE}.{name} is declared in {where}; choose another --name")


def _source_tables(project: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted((project / "models").rglob("*.y*ml")):
        try:
            declared = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        except yaml.YAMLError:
            continue  # dbt says what is wrong with it
        for source in declared.get("sources") or ():
            if source.get("name") == _SOURCE:
                yield from ((file, str(table.get("name"))) for table in source.get("tables") or ())


def entity_line(name: str, key: str) -> str:
    return f"{name}: {{key: {key}, landed: [raw_{name}], newest: updated_at desc}}"


def with_entity(project: Path, name: str, line: str) -> str:
    """The project file with one line more, all else as it is."""
    text = _read(project)
    lines = text.splitlines(keepends=True)
    at = _behind_entities(lines)
    if at is not None:
        indent = re.match(" *", lines[at - 1])
        ending = "\r\n" if lines[at - 1].endswith("\r\n") else "\n"
        if not lines[at - 1].endswith("\n"):
            lines[at - 1] += ending
        lines.insert(at, f"{indent[0] if indent else ''}{line}{ending}")
        changed = "".join(lines)
        before, after = _parsed(text), _parsed(changed)
        added = _entities(after).pop(name, None)
        if added is not None and before == after:
            return changed
    raise GeostrataError(
        f"{PROJECT_FILE} has no plain list of `vars: entities:` to add a line to; add `{line}` to it by hand, "
        "and leave this command to write the rest"
    )


def _behind_entities(lines: list[str]) -> int | None:
    """The index behind the last entity's line."""
    start = next((at for at, line in enumerate(lines) if _ENTITIES.fullmatch(line.rstrip("\r\n"))), None)
    if start is None:
        return None
    depth = len(lines[start]) - len(lines[start].lstrip(" "))
    last = None
    for at in range(start + 1, len(lines)):
        content = lines[at].strip()
        if not content or content.startswith("#"):
            continue
        if len(lines[at]) - len(lines[at].lstrip(" ")) <= depth:
            break
        last = at + 1
    return last


def _read(project: Path) -> str:
    with (project / PROJECT_FILE).open(encoding="utf-8", newline="") as stream:
        return stream.read()


def _parsed(text: str) -> dict[str, Any]:
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise GeostrataError(f"{PROJECT_FILE} is no YAML: {' '.join(str(error).split())}") from None


def _entities(declared: dict[str, Any]) -> dict[str, Any]:
    found = (declared.get("vars") or {}).get("entities")
    return found if isinstance(found, dict) else {}


def write(project: Path, files: dict[str, str], project_text: str) -> None:
    """All of them, or none: what was written before a failure is taken away again. The project file comes last."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            target = project / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # x: somebody may have made the file since we looked.
            with target.open("x", encoding="utf-8", newline="\n") as stream:
                made.append(target)
                stream.write(text)
        _replace(project / PROJECT_FILE, project_text)
    except BaseException as error:
        for target in made:
            target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GeostrataError(
                f"{error.filename or project}: {error.strerror}; nothing was written"
            ) from None
        raise


def _replace(path: Path, text: str) -> None:
    """In one step, so that nobody ever reads half of it. A link is followed: what it points to is replaced."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
