"""The files of a source, as they are now."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from geostrata.errors import GeostrataError
from geostrata.landing.declaration import Declaration
from geostrata.landing.deliveries import LAYER, label
from geostrata.landing.storage import Storage, is_bucket, list_bucket
from geostrata.printable import printable
from geostrata.readers import LandedFile

# A shapefile is several files: it is known by the first of these, and as new as the newest of all.
_SHAPE_ENDINGS = (".shp", ".zip", ".shz")
# Folders in folders. Nobody sorts files into more, and a path has room for no more than 4,096 characters.
_DEEPEST = 100
# Of what was passed over, so many are named.
_TOLD = 5
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def list_files(
    declared: Declaration, storage: Storage | None = None, skipped: list[str] | None = None
) -> list[LandedFile] | None:
    """Sorted by path; None if there is no such folder. Names that begin with _ or . are not for us. `skipped` takes what is no file
    of the folder, each with the reason."""
    root = declared.location.removesuffix("/")
    if is_bucket(root):
        below = list_bucket(root, storage or Storage())
    else:
        # Paths stay text here: there may be 100,000.
        below = list(_walk(root, [] if skipped is None else skipped)) if os.path.isdir(root) else None  # noqa: PTH112
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


def refuse_shared_files(
    declared: Declaration, files: Sequence[LandedFile], others: Sequence[Declaration]
) -> None:
    """All sources of one model compare with the table as it was before the run, so each would load a shared file."""
    for other in others:
        for file in files:
            if is_of(other, label(file.path, declared.spec)):
                raise GeostrataError(
                    f"{declared.name}: {printable(file.path)} would be loaded twice by one model, also as a file of "
                    f"{other.name}. Call landed_rows once per source, and keep sources apart by location, pattern or layer."
                )


def _path(file: LandedFile) -> str:
    return file.path


def _is_ours(path: str, pattern: str | None) -> bool:
    """Of the path below the source's folder."""
    is_hidden = any(part.startswith(("_", ".")) for part in path.split("/"))
    return not is_hidden and (pattern is None or fnmatch(path, pattern))


def _walk(root: str, skipped: list[str]) -> Iterator[LandedFile]:
    """Every file of a folder once, by whatever links it is reached. What does not lie in the folder is none of its files."""
    real_root = os.path.realpath(root)
    seen: set[tuple[int, int]] = set()
    waiting, linked = [(root, 0)], list[tuple[str, int]]()
    while waiting or linked:
        # Links last: a folder that is reached without one has its own name, in every run.
        folder, depth = waiting.pop() if waiting else linked.pop()
        try:
            entries = os.scandir(folder)
        except OSError as trouble:
            if folder == root:
                raise
            skipped.append(_skipped(root, folder, trouble.strerror or "it can't be listed"))
            continue
        with entries:
            state = os.stat(folder)  # noqa: PTH116
            if (key := (state.st_dev, state.st_ino)) in seen:
                continue
            seen.add(key)
            for entry in entries:
                if entry.name.startswith(("_", ".")):
                    continue
                try:
                    state = entry.stat()
                    is_link = entry.is_symlink()
                except (
                    FileNotFoundError
                ):  # gone while we looked, or a link to nowhere: as if it had never been there
                    continue
                except OSError as trouble:
                    skipped.append(_skipped(root, entry.path, trouble.strerror or "it can't be looked at"))
                    continue
                if problem := _problem(entry, state, real_root if is_link else None):
                    skipped.append(_skipped(root, entry.path, problem))
                elif not stat.S_ISDIR(state.st_mode):
                    yield LandedFile(
                        entry.path,
                        state.st_size,
                        state.st_mtime_ns // 1_000_000,
                        state.st_ctime_ns // 1_000_000,
                    )
                elif depth >= _DEEPEST:
                    skipped.append(_skipped(root, entry.path, f"more than {_DEEPEST} folders deep"))
                else:
                    (linked if is_link else waiting).append((entry.path, depth + 1))


def _problem(entry: os.DirEntry[str], state: os.stat_result, real_root: str | None) -> str | None:
    """Why it is no file or folder of the source; `real_root` if it is a link."""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        return _KINDS.get(stat.S_IFMT(state.st_mode), "neither a file nor a folder")
    if real_root is not None:
        target = os.path.realpath(entry.path)
        # To the folder that it is in, or to one above.
        if (os.path.realpath(os.path.dirname(entry.path)) + os.sep).startswith(target + os.sep):  # noqa: PTH120
            return "a link in a circle"
        if not target.startswith(real_root + os.sep):
            return "a link out of the folder"
    return None


def _skipped(root: str, path: str, why: str) -> str:
    return f"{path[len(root) + 1 :]} ({why})"


def skipped_message(declared: Declaration, skipped: list[str]) -> list[str]:
    """One line, or none."""
    if not skipped:
        return []
    named = ", ".join(printable(line) for line in sorted(skipped)[:_TOLD])
    more = f" and {len(skipped) - _TOLD} more" if skipped[_TOLD:] else ""
    return [f"{declared.name}: skipped {len(skipped)} in {printable(declared.location)}: {named}{more}"]


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
