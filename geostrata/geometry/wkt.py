"""WKT, and PostGIS's form with an SRID in front."""

from __future__ import annotations

import re

import numpy as np
import shapely

from geostrata.geometry.parsing import MAX_DEPTH, TOO_DEEP, Parsed, parse, stripped
from geostrata.geometry.rendering import printable

_SRID = re.compile(r"\s*SRID\s*=\s*(\d{1,9})\s*;", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z]+)")
_UNSUPPORTED = frozenset(
    (
        "CIRCULARSTRING",
        "COMPOUNDCURVE",
        "CURVEPOLYGON",
        "MULTICURVE",
        "MULTISURFACE",
        "CURVE",
        "SURFACE",
        "POLYHEDRALSURFACE",
        "TIN",
        "TRIANGLE",
    )
)


def read(values: list[bytes]) -> Parsed:
    texts, srids, refused = [], np.zeros(len(values), dtype=np.int64), {}
    for at, value in enumerate(values):
        text = ""
        try:
            text = stripped(value).decode("utf-8")
        except UnicodeDecodeError:
            refused[at] = "text that is not UTF-8"
        # GEOS takes a NUL for the end, and would not see what follows.
        if "\0" in text:
            refused[at] = "text with a NUL character"
        if found := _SRID.match(text):
            srids[at], text = int(found[1]), text[found.end() :]
        if is_too_deep(text):
            refused[at] = TOO_DEEP
        texts.append(text)
    parsed = parse(shapely.from_wkt, texts, refused, _explain)
    parsed.srids = srids
    return parsed


def is_too_deep(text: str) -> bool:
    if text.count("(") <= MAX_DEPTH:
        return False
    signs = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    return bool(((signs == ord("(")).cumsum() - (signs == ord(")")).cumsum()).max() > MAX_DEPTH)


def _explain(text: str, message: str) -> str:
    name = found[1].upper() if (found := _NAME.match(text)) else ""
    # With Z or M joined to it: CIRCULARSTRINGZ.
    if name in _UNSUPPORTED or name.rstrip("ZM") in _UNSUPPORTED:
        return f"{name} geometries are not supported"
    return printable(f"WKT: {message}")
