"""What a column is, from its values: a Spark type, a geometry, a key."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from geostrata.readers.column_types import arrow_type
from geostrata.readers.fitting import MISFIT, Fitter, fitter
from geostrata.readers.json_values import Members, Number

# From narrow to wide; the first that fits every value is taken.
_CANDIDATES = ("boolean", "bigint", "decimal(38,0)", "double", "date", "timestamp", "string")
_FITTERS: dict[str, Fitter] = {kind: fitter(arrow_type("sample", kind)) for kind in _CANDIDATES}
# 007 is a code, not the number seven.
_CODE = re.compile(r"[+-]?0[0-9]")
_WKT = re.compile(
    r"(?:SRID=(\d{1,9});\s*)?(?:(?:MULTI)?(?:POINT|LINESTRING|POLYGON|CURVE|SURFACE)|GEOMETRYCOLLECTION"
    r"|CIRCULARSTRING|COMPOUNDCURVE|CURVEPOLYGON|POLYHEDRALSURFACE|TIN|TRIANGLE)"
    r"\s*(?:(?:Z|M|ZM)\s*)?(?:\(|EMPTY)",
    re.IGNORECASE,
)
_HEX = re.compile(r"0[01](?:[0-9a-fA-F]{2}){8,}")
_SRID_FLAG = 0x20000000
_NAMES = ("geometry", "geom", "the_geom", "wkb_geometry", "wkt", "wkb", "shape", "geojson")
_LONLAT = (
    ("lon", "lat"),
    ("longitude", "latitude"),
    ("lng", "lat"),
    ("long", "lat"),
    ("x", "y"),
    ("easting", "northing"),
)
_KEY_NAME = re.compile(
    r"(?:id|uuid|guid|gid|key|code)|.*(?:_|^)(?:id|uuid|guid|gid|key)|(?:object|feature|global)id"
)
# Of the rows of a sample, as many may lack the key or repeat it.
_NEARLY = 0.1
_KEY_TYPES = ("string", "bigint", "int", "decimal(38,0)", "decimal(20,0)")


@dataclass
class ColumnGuess:
    """Fed with the values of a column, of one file after the other."""

    candidates: list[str] = field(default_factory=lambda: list(_CANDIDATES))
    values: int = 0
    repeats: int = 0
    shapes: dict[str, int] = field(default_factory=dict)
    srids: set[int] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)

    def add(self, value: Any, is_typed: bool) -> None:
        """`is_typed`: text is text by the file's own word (JSON), and not everything is text (CSV)."""
        if value is None:
            return
        self.values += 1
        self.candidates = [kind for kind in self.candidates if _fits(kind, value, is_typed)] or ["string"]
        shape = geometry_encoding(value, self.srids)
        if shape is not None:
            self.shapes[shape] = self.shapes.get(shape, 0) + 1
        else:
            # Hashes instead of the values: a sample of long texts stays small.
            mark = hash(str(value))
            self.repeats += mark in self._seen
            self._seen.add(mark)

    def end_file(self) -> None:
        """A key comes again in a later file, with a newer version: it is unique in each."""
        self._seen.clear()

    @property
    def spark_type(self) -> str:
        return self.candidates[0] if self.values else "string"

    @property
    def encoding(self) -> str | None:
        """The encoding of most values. A few may be spoiled: finding those is not the reader's task."""
        if not self.shapes:
            return None
        shape, count = max(self.shapes.items(), key=lambda item: item[1])
        return shape if count >= 0.9 * self.values else None


def _fits(kind: str, value: Any, is_typed: bool) -> bool:
    is_text = type(value) is str and kind not in ("string", "date", "timestamp")
    if is_text and (is_typed or _CODE.match(value.strip())):
        return False
    if isinstance(value, Number | bool) and kind in ("date", "timestamp"):
        return False
    return _FITTERS[kind](value) is not MISFIT


def geometry_encoding(value: Any, srids: set[int]) -> str | None:
    """By the first bytes or words. A point is 21 bytes of WKB, so shorter ones are something else."""
    if isinstance(value, bytes):
        return _wkb(value[:9], srids) if len(value) >= 9 else None
    if isinstance(value, Members | dict):
        return "geojson" if "coordinates" in dict(value) else None
    if type(value) is not str:
        return None
    # Of blanks in front, an expression would try every way to share them between its parts.
    value = value.lstrip()
    if match := _WKT.match(value):
        if match[1]:
            srids.add(int(match[1]))
        return "wkt"
    if value.startswith(("00", "01")) and _HEX.fullmatch(value):
        return "hex" if _wkb(bytes.fromhex(value[:18]), srids) else None
    return "geojson" if value.startswith("{") and '"coordinates"' in value else None


def _wkb(first: bytes, srids: set[int]) -> str | None:
    order = {0: "big", 1: "little"}.get(first[0])
    if order is None:
        return None
    code = int.from_bytes(first[1:5], "big" if order == "big" else "little")
    # ISO adds thousands for Z and M, PostGIS sets high bits.
    if not 1 <= (code & 0x0FFFFFFF) % 1000 <= 17 or (code & 0x0FFFFFFF) >= 4000:
        return None
    if code & _SRID_FLAG:
        srids.add(int.from_bytes(first[5:9], "big" if order == "big" else "little"))
    return "ewkb" if code & 0xF0000000 else "wkb"


def geometry_of(columns: dict[str, ColumnGuess]) -> tuple[str, str] | None:
    """The geometry column and its encoding: a usual name before the others."""
    found = [(name, guess.encoding) for name, guess in columns.items() if guess.encoding]
    ranked = sorted(
        found, key=lambda item: _NAMES.index(item[0].lower()) if item[0].lower() in _NAMES else len(_NAMES)
    )
    return (ranked[0][0], str(ranked[0][1])) if ranked else None


def lonlat_of(types: dict[str, str]) -> tuple[str, str] | None:
    """Two numeric columns named as coordinates, alone or with the same words around (start_lon, start_lat)."""
    numeric = [
        name
        for name, kind in types.items()
        if kind.startswith(("double", "float", "decimal", "bigint", "int"))
    ]
    for lon, lat in _LONLAT:
        for name in numeric:
            if name.lower() == lon:
                partner = [other for other in numeric if other.lower() == lat]
                if partner:
                    return name, partner[0]
    for lon, lat in _LONLAT[:4]:
        for name in numeric:
            words = _words(name)
            if lon in words:
                expected = [lat if word == lon else word for word in words]
                partner = [other for other in numeric if _words(other) == expected]
                if partner:
                    return name, partner[0]
    return None


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name.lower())


def key_of(
    columns: dict[str, ColumnGuess], types: dict[str, str], rows: int
) -> tuple[str | None, str | None]:
    """Unique and never null in the sample, names that say so first; else a column that is named as a key and nearly is
    one, with a note: files with bad rows have keys too."""
    possible = [
        name
        for name, guess in columns.items()
        if guess.values and not guess.encoding and types[name] in _KEY_TYPES
    ]
    named = [name for name in possible if _KEY_NAME.fullmatch(name.lower())]
    named.sort(key=lambda name: name.lower() != "id")
    for name in (*named, *possible):
        if columns[name].values == rows and not columns[name].repeats:
            return name, None
    for name in named:
        nulls, repeats = rows - columns[name].values, columns[name].repeats
        if nulls + repeats <= _NEARLY * rows:
            return (
                name,
                f"{name} is nearly a key: {nulls} of {rows} sampled rows lack it, {repeats} repeat it",
            )
    return None, None
