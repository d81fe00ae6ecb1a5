"""Where the files are: the folder, the pattern and the files of a path or glob, as a build will list them."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from geostrata import settings
from geostrata.add_source.yaml_text import check_no_jinja
from geostrata.errors import GeostrataError
from geostrata.landing import Declaration, list_files
from geostrata.readers import SourceSpec

_SHAPEFILE = ".shp"


@dataclass(frozen=True)
class Place:
    # As the source's YAML has it: below the landing folder, below the project, or absolute.
    location: str
    pattern: str | None
    # All of them, of which a look takes the first few.
    files: list[str]


def find(given: str, project: Path) -> Place:
    if "://" in given:
        raise GeostrataError(
            f"{given}: only files on this machine can be looked at; name a local copy of some"
        )
    check_no_jinja(given)
    folder, pattern = _split(given)
    files = _listed(folder, pattern)
    if not files:
        what = f"no file matches {given}" if pattern else f"{given} holds no file"
        raise GeostrataError(f"{what} (names that begin with _ or . are passed over)")
    if any(path.lower().endswith(_SHAPEFILE) for path in files):
        pattern, files = _shapefiles(folder, pattern)
    elif pattern is None:
        _check_one_kind(given, files)
    # Folders above the given one are written as well.
    check_no_jinja(str(folder))
    return Place(_location(folder, project), pattern, files)


def _split(given: str) -> tuple[Path, str | None]:
    path = Path(os.path.abspath(given))  # noqa: PTH100  # resolve() would follow links out of the landing folder
    if path.is_dir():
        return path, None
    if path.is_file():
        return path.parent, glob.escape(path.name)
    parts = PurePosixPath(path).parts
    first = next((at for at, part in enumerate(parts) if glob.has_magic(part)), None)
    if first is None:
        raise GeostrataError(f"{given}: no such file or folder")
    folder = Path(*parts[:first])
    if not folder.is_dir():
        raise GeostrataError(f"no file matches {given}: there is no folder {folder}")
    # The pattern's * goes through folders, as ** does in a shell.
    return folder, "/".join(parts[first:]).replace("**/*", "*")


def _listed(folder: Path, pattern: str | None, kind: str = "csv") -> list[str]:
    """By the same code that a build lists with."""
    found = list_files(Declaration("source", str(folder), SourceSpec(kind), pattern))
    return [file.path for file in found or ()]


def _shapefiles(folder: Path, pattern: str | None) -> tuple[str | None, list[str]]:
    """A shapefile is as new as the newest of its parts: the pattern must let all of them through."""
    files = _listed(folder, pattern, "shapefile")
    if pattern is not None and pattern.lower().endswith(_SHAPEFILE):
        wider = f"{pattern[: -len(_SHAPEFILE)]}.*"
        if _listed(folder, wider, "shapefile") == files:
            return wider, files
    return pattern, files


def _check_one_kind(given: str, files: Sequence[str]) -> None:
    endings = sorted({PurePosixPath(path.lower().removesuffix(".gz")).suffix for path in files})
    if len(endings) > 1:
        raise GeostrataError(
            f"{given} holds files that end in {', '.join(end or 'nothing' for end in endings)}: "
            f"name one kind by a glob, such as '{given.rstrip('/')}/*{endings[0] or '.csv'}'"
        )


def _location(folder: Path, project: Path) -> str:
    landing = _landing(project)
    if landing is not None and (below := _below(folder, landing)) is not None:
        return "/".join(["{{ var('landing') }}", *below])
    below = _below(folder, project)
    return "/".join(below) or "." if below is not None else folder.as_posix()


def _landing(project: Path) -> Path | None:
    """The folder that dbt's variable `landing` means; None where only dbt could tell."""
    declared = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8")) or {}
    text = str((declared.get("vars") or {}).get("landing", ""))
    if "{{" not in text:
        return project / text if text and "://" not in text else None
    return settings.landing_dir() if settings.STATE_VARIABLE in text and text.endswith("}}/landing") else None


def _below(folder: Path, parent: Path) -> tuple[str, ...] | None:
    for one, other in ((folder, Path(os.path.abspath(parent))), (folder.resolve(), parent.resolve())):  # noqa: PTH100
        if one.is_relative_to(other):
            return one.relative_to(other).parts
    return None
