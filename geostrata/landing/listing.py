"""The files of a source, as they are now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath

from geostrata.landing.declaration import Declaration
from geostrata.readers import LandedFile

# A shapefile is several files: it is known by the first of these, and as new as the newest of all.
_SHAPE_ENDINGS = (".shp", ".zip", ".shz")


def list_files(declared: Declaration) -> list[LandedFile] | None:
    """Sorted by path; None if there is no such folder. Names that begin with _ or . are not for us."""
    root = declared.location.removesuffix("/")
    if not os.path.isdir(root):  # noqa: PTH112  # paths stay text here: there may be 100,000
        return None
    found = sorted(_walk(root, root, declared.pattern), key=lambda file: file.path)
    return _shapefiles(found) if declared.spec.format == "shapefile" else found


def _walk(root: str, folder: str, pattern: str | None) -> Iterator[LandedFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(("_", ".")):
                continue
            if entry.is_dir():
                yield from _walk(root, entry.path, pattern)
            elif pattern is None or fnmatch(entry.path[len(root) + 1 :], pattern):
                try:
                    state = entry.stat()
                except FileNotFoundError:  # gone while we looked: as if it had never been there
                    continue
                yield LandedFile(entry.path, state.st_size, state.st_mtime_ns // 1_000_000)


def _shapefiles(files: list[LandedFile]) -> list[LandedFile]:
    newest: dict[str, int] = {}
    for file in files:
        stem = str(PurePosixPath(file.path).with_suffix(""))
        newest[stem] = max(newest.get(stem, 0), file.modified_ms)
    return [
        LandedFile(file.path, file.size, newest[str(PurePosixPath(file.path).with_suffix(""))])
        for file in files
        if file.path.lower().endswith(_SHAPE_ENDINGS)
    ]
