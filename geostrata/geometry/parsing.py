"""What all encodings share: a batch goes to GEOS in one call, and only what it refuses is looked at by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from geostrata.geometry.arrays import Ints, Objects, by_halves, objects
from geostrata.geometry.rendering import error_line

# GEOS reads nested collections by recursion: a value of 200 KB can overflow the stack and take the process along.
# No real geometry comes near this depth, and the stack holds ten times as much.
MAX_DEPTH = 256
TOO_DEEP = f"collections are nested more than {MAX_DEPTH} levels deep"

_COLLECTION = 7
_CURVED = "curved geometries inside a collection are not supported"


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def stripped(text: bytes) -> bytes:
    """Without the blanks around it, and without the mark that some programs put in front of UTF-8."""
    return text.strip().removeprefix(_BYTE_ORDER_MARK).strip()


@dataclass
class Parsed:
    """Geometries (None: unreadable), the SRID that each carries (0: none), and by position why one can't be read."""

    geometries: Objects
    srids: Ints
    problems: dict[int, str]


def parse(
    parser: Callable[..., Any], texts: list[Any], refused: dict[int, str], explain: Callable[[Any, str], str]
) -> Parsed:
    """`refused` are the positions that must not reach GEOS; `explain` turns its message into ours."""
    given = objects(texts)
    given[list(refused)] = None
    geometries = by_halves(lambda part: parser(part, on_invalid="ignore"), given, None)
    problems = dict(refused)
    for at in np.flatnonzero(_has_curves(geometries)):
        geometries[at], problems[int(at)] = None, _CURVED
    for at in np.flatnonzero(shapely.get_type_id(geometries) < 0):
        if at not in problems:
            problems[int(at)] = explain(texts[at], _message(parser, texts[at]))
    return Parsed(geometries, shapely.get_srid(geometries).astype(np.int64).clip(0), problems)


def _message(parser: Callable[..., Any], text: Any) -> str:
    try:
        parser(text)
    except Exception as error:
        return error_line(error)
    return "GEOS can't read it"


def _has_curves(geometries: Objects) -> Any:
    """GEOS reads a curve inside a collection, and shapely then fails to work with it."""
    found = np.zeros(len(geometries), dtype=bool)
    rows = np.flatnonzero(shapely.get_type_id(geometries) == _COLLECTION)
    if rows.size:
        found[rows] = by_halves(_take_apart, geometries[rows], True)
    return found


def _take_apart(collections: Objects) -> Any:
    """All False, or an error if any part, however deep, is a curve."""
    parts = collections
    while parts.size:
        parts = shapely.get_parts(parts)
        parts = parts[shapely.get_type_id(parts) == _COLLECTION]
    return np.zeros(len(collections), dtype=bool)
