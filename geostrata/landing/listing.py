"""The files of a source, as they are now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath

from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import LAYER
from geostrata.landing.storage import Storage, is_bucket, list_bucket
from geostrata.readers import LandedFile

# A shapefile is several files: it is known by the first of these, and as new as the newest of all.
_SHAPE_ENDINGS = (".shp", ".zip", ".shz")


def list_files(declared: Declaration, storage: Storage | None = None) -> list[LandedFile] | None:
    """Sorted by path; None if there is no such folder. Names that begin with _ or . are not for us."""
    root = declared.location.removesuffix("/")
    if is_bucket(root):
        below = list_bucket(root, storage or Storage())
    else:
        # Paths stay text here: there may be 100,000.
        below = list(_walk(root)) if os.path.isdir(root) else None  # noqa: PTH112
    if below is None:
        return None
    found = sorted(
        (file for file in below if _is_ours(file.path[len(root) + 1 :], declared.pattern)), key=_path
    )
    return _shapefiles(found) if declared.spec.format == "shapefile" else found


def is_of(declared: Declaration, name: str) -> bool:
    """True if a file of this name, as rows have it, belongs to the source, be it there or not. One model may load several sources."""
    root = declared.location.removesuffix("/") + "/"
    path, _, layer = name.partition(LAYER)
    return (
        path.startswith(root)
        and layer == declared.spec.options.get("layer", "")
        and _is_ours(path[len(root) :], declared.pattern)
    )


def _path(file: LandedFile) -> str:
    return file.path


def _is_ours(path: str, pattern: str | None) -> bool:
    """Of the path below the source's folder."""
    is_hidden = any(part.startswith(("_", ".")) for part in path.split("/"))
    return not is_hidden and (pattern is None or fnmatch(path, pattern))


def _walk(folder: str) -> Iterator[LandedFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path)
                continue
            try:
                state = entry.stat()
            except FileNotFoundError:  # gone while we looked: as if it had never been there
                continue
            yield LandedFile(
                entry.path, state.st_size, state.st_mtime_ns // 1_000_000, state.st_ctime_ns // 1_000_000
            )


def _shapefiles(files: list[LandedFile]) -> list[LandedFile]:
    newest: dict[str, tuple[int, int]] = {}
    for file in files:
        stem = str(PurePosixPath(file.path).with_suffix(""))
        modified, changed = newest.get(stem, (0, 0))
        newest[stem] = (max(modified, file.modified_ms), max(changed, file.changed_ms))
    return [
        LandedFile(file.path, file.size, *newest[str(PurePosixPath(file.path).with_suffix(""))])
        for file in files
        if file.path.lower().endswith(_SHAPE_ENDINGS)
    ]
