"""Files of every format, full of faults, that must all be read: each row comes out, readable or not, and nothing fails.

`write_corpus` is told how many malformed geometries and lines to write, and says of each file how many rows a reader must
give. That number is known by the way a file is made: a line, a feature or a row of a table is a row.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import malformed_geometries as geometries
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyogrio.raw import write

from geostrata.readers import SourceSpec

ATTRIBUTES = {
    "thing_id": "string",
    "name": "string",
    "amount": "double",
    "seen_at": "timestamp",
    "crs": "string",
}
BINARY = ("parquet", "geoparquet", "shapefile", "geopackage", "flatgeobuf")
# Of the text formats, how the sound geometries are written. Malformed ones are in this and other encodings.
ENCODINGS = {"csv": "wkt", "jsonl": "hex", "geojson": "geojson", "geojsonl": "geojson"}
LONG = 1 << 20
_LINE_ENDS = (b"\n", b"\r\n", b"\r")
# What would begin or end something else: a line, a field, an object.
_STRUCTURE = bytes.maketrans(b'\r\n",{}[]\\ \t', b"abcdefghijk")


@dataclass(frozen=True)
class CorpusFile:
    format: str
    path: Path
    # As many must come out of the reader,
    rows: int
    # as many of them have a geometry or a line that is malformed.
    malformed: int
    # Of a sound geometry: wkb, hex, wkt or geojson.
    encoding: str

    @property
    def spec(self) -> SourceSpec:
        return SourceSpec(self.format, columns_of(self.format), schema_policy="rescue")


@dataclass(frozen=True)
class Corpus:
    files: tuple[CorpusFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def malformed(self) -> int:
        return sum(file.malformed for file in self.files)


def columns_of(name: str) -> dict[str, str]:
    return {**ATTRIBUTES, "geometry": "binary" if name in BINARY else "string"}


def write_corpus(folder: Path, seed: int, rows: int = 20_000) -> Corpus:
    """Files with at least `rows` malformed geometries and lines in all, in a folder a format. The same seed gives the same."""
    share = -(-rows // len(FILES))
    written = []
    for name, ending in FILES:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        # By the file's own name: a new format does not change the others.
        rng = random.Random(f"{seed} {name} {ending}")
        stem = "packed" if ending.endswith((".gz", ".zip")) else "things"
        written.append(_WRITERS[name](_Things(name, ending, rng, share), place / f"{stem}{ending}"))
    return Corpus(tuple(written))


# Shapefiles, GeoPackages and FlatGeobufs may be in a zip, text in gzip as well; Parquet is packed already.
FILES = (
    *(
        (name, f".{name}{pack}")
        for name in ("csv", "jsonl", "geojson", "geojsonl")
        for pack in ("", ".gz", ".zip")
    ),
    ("parquet", ".parquet"),
    ("geoparquet", ".parquet"),
    *(
        (name, ending)
        for name, inner in (("shapefile", ".shp"), ("geopackage", ".gpkg"), ("flatgeobuf", ".fgb"))
        for ending in (inner, f"{inner}.zip")
    ),
)


@dataclass
class _Things:
    """What a file is about: sound things, and as many malformed ones as were asked for."""

    format: str
    ending: str
    rng: random.Random
    malformed: int
    count: int = 0
    _faults: dict[int, int] = field(default_factory=dict)

    def order(self) -> list[bool]:
        """Which of the things are malformed; the first and the last one are sound."""
        inner = [True] * self.malformed + [False] * (self.malformed // 3)
        self.rng.shuffle(inner)
        return [False, *inner, False]

    def thing(self) -> dict[str, Any]:
        self.count += 1
        return {
            "thing_id": f"{self.format}{self.ending}-{self.count}",
            "name": self.rng.choice(("Straße 1", "Zürich", "o'Brien", "東京", "plain", "a, b; c")),
            "amount": round(self.rng.uniform(-1e6, 1e6), 2),
            "seen_at": f"2024-05-{self.rng.randint(1, 28):02}T{self.rng.randrange(24):02}:00:00Z",
            "crs": self.rng.choice(geometries.CRS_TEXTS),
        }

    def odd_thing(self) -> dict[str, Any]:
        """Some attributes are wrong too: texts where numbers belong, an unknown CRS."""
        odd = {
            "name": self.rng.choice(("", "\0", "\x1e", "\u2028", "x" * 5000, "'; drop table things; --")),
            "amount": self.rng.choice(("abc", "1e400", "NaN", "12,5", "9" * 500, True)),
            "seen_at": self.rng.choice(("yesterday", "2024-13-45", "0000-00-00", "24:00", "99999-01-01", 5)),
            "crs": self.rng.choice(geometries.UNKNOWN_CRS_TEXTS),
        }
        kept = self.rng.sample(sorted(odd), self.rng.randrange(len(odd) + 1))
        return {**self.thing(), **{name: odd[name] for name in kept}}

    def fault(self, number: int) -> int:
        """One after the other, so that a small corpus has all of them."""
        self._faults[number] = self._faults.get(number, -1) + 1
        return self._faults[number] % number

    def noise(self, structure: bytes = b"") -> bytes:
        """Random bytes that end nothing and begin nothing."""
        return b"x" + self.rng.randbytes(self.rng.randint(1, 80)).translate(_STRUCTURE) + structure


# Text, line by line


def _write_packed(path: Path, data: bytes) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data, 1, mtime=0))
    elif path.suffix == ".zip":
        _write_zip(path, {path.stem: data})
    else:
        path.write_bytes(data)


def _write_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            # With a date of its own: the same seed gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _text_geometry(things: _Things) -> str:
    """In the encoding of the file mostly, and in the others."""
    makers = (geometries.bad_wkt, geometries.bad_hex, geometries.bad_geojson)
    own = {"wkt": makers[0], "hex": makers[1], "geojson": geometries.bad_json_geometry}[
        ENCODINGS[things.format]
    ]
    return things.rng.choice((own, own, *makers))(things.rng)


def _line_file(
    things: _Things, path: Path, header: bytes, sound: Callable[[], bytes], bad: Callable[[], bytes]
) -> CorpusFile:
    """A row a line, with line ends of all kinds and empty lines in between."""
    order = things.order()
    parts = [header]
    for is_malformed in order:
        parts += [bad() if is_malformed else sound(), things.rng.choice(_LINE_ENDS)]
        if things.rng.randrange(20) == 0:
            parts.append(things.rng.choice(_LINE_ENDS))
    _write_packed(path, b"".join(parts))
    return CorpusFile(things.format, path, len(order), things.malformed, ENCODINGS[things.format])


def _csv(things: _Things, path: Path) -> CorpusFile:
    """Every line begins with a quoted key, so that a quote left open in the line before is seen to be wrong."""

    def line(thing: dict[str, Any], geometry: str) -> bytes:
        values = [str(value).replace("\r", "").replace("\n", "") for value in (*thing.values(), geometry)]
        return ",".join('"' + value.replace('"', '""') + '"' for value in values).encode(
            errors="surrogatepass"
        )

    def bad() -> bytes:
        data = line(things.odd_thing(), _text_geometry(things))
        key, rest = data.split(b",", 1)
        faults: list[Callable[[], bytes]] = [
            lambda: data,
            lambda: data[: things.rng.randrange(2, len(data))],
            lambda: things.noise(),
            lambda: key + b',"never closed,' + rest.replace(b'"', b""),
            lambda: key + b',"closed" too early,' + rest,
            lambda: key + b"," + things.noise(b"\xff\xfe\xc3") + b"," + rest,
            lambda: key + b",\0\0," + rest,
            lambda: key,
            lambda: data + b",more,and more",
            lambda: key + b"," + b"y" * LONG if things.count < 50 else data,
            lambda: key + b"," + rest.replace(b",", b";"),
        ]
        return faults[things.fault(len(faults))]()

    header = ",".join(columns_of("csv")).encode() + b"\r\n"
    return _line_file(
        things, path, header, lambda: line(things.thing(), geometries.sound(things.rng).wkt), bad
    )


def _json_faults(things: _Things, data: bytes) -> bytes:
    """What is wrong with a line; the geometry in it is malformed already."""
    at = things.rng.randrange(1, len(data))
    faults: list[Callable[[], bytes]] = [
        lambda: data,
        lambda: data[:at],
        lambda: things.noise(),
        lambda: data.replace(b'"name"', b'"name', 1),
        lambda: data.replace(b'"name":', b'"name":"a" "b",', 1),
        lambda: data[:at] + b"\xff\xfe\xc3" + data[at:],
        lambda: data[:at] + b"\0" + data[at:],
        lambda: data.replace(b'"name":', b'"thing_id":"again","name":1,"name":', 1),
        # Two: one might be just what a cut geometry lacks.
        lambda: data + b"}}",
        lambda: data + data,
        lambda: things.rng.choice((b"[1,2]", b"null", b'"text"', b"12", b"{}", b"[]", b"nul", b"NaN")),
        lambda: b'{"thing_id":' + b"[" * 5000 + b"]" * 5000 + b"}",
        lambda: data.replace(b'"name":', b'"name":"\\ud800","amount":1e' + b"9" * 30 + b',"more":', 1),
        lambda: (
            data.replace(b'"name":', b'"long":"' + b"y" * LONG + b'","name":', 1)
            if things.count < 50
            else data
        ),
    ]
    return faults[things.fault(len(faults))]()


def _json(thing: dict[str, Any]) -> str:
    return json.dumps(thing, ensure_ascii=False, separators=(",", ":"))


def _jsonl(things: _Things, path: Path) -> CorpusFile:
    def sound() -> bytes:
        geometry = shapely.to_wkb(
            shapely.set_srid(geometries.sound(things.rng), 4326), hex=True, include_srid=True
        )
        return _json({**things.thing(), "geometry": geometry}).encode()

    def bad() -> bytes:
        return _json_faults(
            things, _json({**things.odd_thing(), "geometry": _text_geometry(things)}).encode()
        )

    return _line_file(things, path, b"", sound, bad)


def _feature(thing: dict[str, Any], geometry: str) -> bytes:
    text = f'{{"type":"Feature","properties":{_json(thing)},"geometry":{geometry}}}'
    return text.replace("\r", " ").replace("\n", " ").encode(errors="surrogatepass")


def _sound_feature(things: _Things) -> bytes:
    return _feature(things.thing(), str(shapely.to_geojson(geometries.sound(things.rng))))


def _geojsonl(things: _Things, path: Path) -> CorpusFile:
    def bad() -> bytes:
        return _json_faults(things, _feature(things.odd_thing(), geometries.bad_geojson(things.rng)))

    return _line_file(things, path, b"", lambda: _sound_feature(things), bad)


# GeoJSON


def _geojson(things: _Things, path: Path) -> CorpusFile:
    """A row an element. What leaves a bracket or a quote open ends where the next feature begins: so one must follow."""
    elements: list[bytes] = []
    for is_malformed in things.order():
        element, is_open = _bad_element(things) if is_malformed else (_sound_feature(things), False)
        elements.append(element)
        if is_open:
            elements.append(_sound_feature(things))
    crs = json.dumps(
        {"type": "name", "properties": {"name": things.rng.choice(geometries.UNKNOWN_CRS_TEXTS)}}
    )
    head = f'{{"type":"FeatureCollection","crs":{crs},"features":[\n'.encode()
    between = (b",\n", b",\r\n", b",", b",,\n", b" , ")
    body = b"".join(element + things.rng.choice(between) for element in elements[:-1]) + elements[-1]
    _write_packed(path, head + body + b"\n]}\n")
    return CorpusFile("geojson", path, len(elements), things.malformed, "geojson")


_OPEN_RING = '{"type":"Polygon","coordinates":[[[7,47],[8,47],[8,48]]]}'


def _bad_element(things: _Things) -> tuple[bytes, bool]:
    """And whether it leaves something open."""
    data = _feature(things.odd_thing(), geometries.bad_json_geometry(things.rng))
    faults: list[tuple[Callable[[], bytes], bool]] = [
        (lambda: data, False),
        (lambda: data[: things.rng.randrange(1, len(data))], True),
        (lambda: data[:-1], True),
        (lambda: things.noise(), False),
        (
            lambda: things.rng.choice(
                (b"5", b"null", b'"text"', b"[1,[2]]", b"{}", b'{"a":1}', b"nul", b"1.2.3")
            ),
            False,
        ),
        # Of a fixed shape: behind a stray quote, what was inside of strings is outside, and the other way round.
        (lambda: _feature(things.thing(), _OPEN_RING).replace(b'"name":"', b'"name":"a"b ', 1), True),
        (lambda: data.replace(b'"name":', b'"name":"\xff\xfe\0\xc3","other":', 1), False),
        (lambda: data.replace(b'"name":', b'"thing_id":"again","name":1,"name":', 1), False),
        (lambda: data.replace(b'"properties"', b'"properties":[],"properties"', 1), False),
        (lambda: b'{"type":"Feature","properties":' + b"[" * 5000 + b"]" * 5000 + b"}", False),
        (
            lambda: (
                data.replace(b'"name":', b'"long":"' + b"y" * LONG + b'","name":', 1)
                if things.count < 50
                else data
            ),
            False,
        ),
    ]
    make, is_open = faults[things.fault(len(faults))]
    return make(), is_open


# Tables


def _table(things: _Things, sound: Callable[[], bytes], bad: Callable[[], bytes]) -> dict[str, list[Any]]:
    """Columns, and whether a row is malformed in the last one."""
    table: dict[str, list[Any]] = {name: [] for name in (*ATTRIBUTES, "geometry", "is_malformed")}
    for is_malformed in things.order():
        thing = things.odd_thing() if is_malformed else things.thing()
        for name, value in thing.items():
            table[name].append(value)
        table["geometry"].append(bad() if is_malformed else sound())
        table["is_malformed"].append(is_malformed)
    return table


def _wkb_table(things: _Things) -> dict[str, list[Any]]:
    return _table(
        things, lambda: shapely.to_wkb(geometries.sound(things.rng)), lambda: geometries.bad_wkb(things.rng)
    )


def _typed(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """For formats that have a type for each column: what is no number or no moment is null."""
    amounts = [value if isinstance(value, float) else None for value in table["amount"]]
    moments = [value if str(value).endswith("Z") else None for value in table["seen_at"]]
    return {**table, "amount": amounts, "seen_at": moments}


def _parquet(things: _Things, path: Path) -> CorpusFile:
    """Of text, as programs write it that know no types, and with bytes that are no text."""
    table = _wkb_table(things)
    names = [
        value.encode() + (b"\xff\xfe" if bad else b"")
        for value, bad in zip(table["name"], table["is_malformed"], strict=True)
    ]
    columns = {name: pa.array([str(value) for value in table[name]]) for name in ATTRIBUTES}
    columns["name"] = pa.array(names, pa.binary()).view(pa.string())
    return _write_parquet(
        things, path, pa.table({**columns, "geometry": pa.array(table["geometry"], pa.binary())})
    )


def _geoparquet(things: _Things, path: Path) -> CorpusFile:
    table = _typed(_wkb_table(things))
    columns = {name: pa.array(table[name], pa.string()) for name in ("thing_id", "name", "crs")}
    columns["amount"] = pa.array(table["amount"], pa.float64())
    columns["seen_at"] = pa.array(table["seen_at"]).cast(pa.timestamp("us", tz="UTC"))
    columns["geometry"] = pa.array(table["geometry"], pa.binary())
    column = {"encoding": "WKB", "geometry_types": [], "crs": {"type": "GeographicCRS", "name": "nowhere"}}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    ordered = pa.table({name: columns[name] for name in (*ATTRIBUTES, "geometry")})
    return _write_parquet(things, path, ordered.replace_schema_metadata({"geo": json.dumps(geo)}))


def _write_parquet(things: _Things, path: Path, table: pa.Table) -> CorpusFile:
    pq.write_table(table, path, row_group_size=max(10, table.num_rows // 3))
    return CorpusFile(things.format, path, table.num_rows, things.malformed, "wkb")


# What GDAL writes


def _write_ogr(
    path: Path, driver: str, table: dict[str, list[Any]], shapes: list[bytes], kind: str, **more: Any
) -> None:
    typed = _typed(table)
    fields = [np.array(typed[name], dtype=object) for name in ("thing_id", "name", "seen_at", "crs")]
    fields.append(np.array([np.nan if value is None else value for value in typed["amount"]]))
    write(
        str(path),
        np.array(shapes, dtype=object),
        fields,
        ["thing_id", "name", "seen_at", "crs", "amount"],
        crs="EPSG:4326",
        geometry_type=kind,
        driver=driver,
        layer="things",
        encoding="UTF-8",
        **more,
    )


def _packed_ogr(things: _Things, path: Path, write_plain: Callable[[Path], None], rows: int) -> CorpusFile:
    """Written plain; for a zip, put into it with all its parts, and removed."""
    plain = path.with_suffix("") if path.suffix == ".zip" else path
    write_plain(plain)
    if path.suffix == ".zip":
        parts = sorted(
            part for part in plain.parent.iterdir() if part.stem == plain.stem and part.suffix != ".zip"
        )
        _write_zip(path, {part.name: part.read_bytes() for part in parts})
        for part in parts:
            part.unlink()
    return CorpusFile(things.format, path, rows, things.malformed, "wkb")


def _shapefile(things: _Things, path: Path) -> CorpusFile:
    """Sound polygons, of which the malformed ones are damaged in the file, in place."""
    table = _table(things, lambda: shapely.to_wkb(geometries.sound_polygon(things.rng)), lambda: b"")
    for name in ("name", "crs"):
        # 254 bytes are what a field can hold, and NUL is an end in it.
        table[name] = [value.replace("\0", "")[:80] for value in table[name]]
    shapes = [shape or shapely.to_wkb(geometries.sound_polygon(things.rng)) for shape in table["geometry"]]

    def write_plain(plain: Path) -> None:
        _write_ogr(plain, "ESRI Shapefile", table, shapes, "Polygon")
        data = bytearray(plain.read_bytes())
        index = plain.with_suffix(".shx").read_bytes()[100:]
        for (offset, length), is_malformed in zip(
            struct.iter_unpack(">ii", index), table["is_malformed"], strict=True
        ):
            if is_malformed:
                _damage_shape(things, data, 2 * offset + 8, 2 * length)
        plain.write_bytes(data)

    return _packed_ogr(things, path, write_plain, len(shapes))


def _damage_shape(things: _Things, data: bytearray, start: int, length: int) -> None:
    """Of a record: its type, box, numbers of parts and points, the parts' starts, the points."""
    count = (length - 48) // 16
    point = start + 48 + 16 * things.rng.randrange(1, count - 3)
    faults: list[tuple[int, bytes]] = [
        (start, struct.pack("<i", things.rng.choice((2, 99, -1, 2**31 - 1)))),
        (start + 36, struct.pack("<i", things.rng.choice((-1, 2**31 - 1, 2**24)))),
        (start + 40, struct.pack("<i", things.rng.choice((-1, 2**31 - 1, 2**24)))),
        (start + 44, struct.pack("<i", things.rng.choice((-1, 500, 2**31 - 1)))),
        (point, struct.pack("<d", things.rng.choice((float("nan"), float("inf"))))),
        # Two neighbours change places: edges cross.
        (point, bytes(data[point + 16 : point + 32] + data[point : point + 16])),
        # The ring is not closed.
        (start + length - 16, struct.pack("<dd", 1.0, 1.0)),
        (start, things.rng.randbytes(4) + things.rng.randbytes(length - 4)),
    ]
    at, changed = faults[things.fault(len(faults))]
    data[at : at + len(changed)] = changed


def _geopackage(things: _Things, path: Path) -> CorpusFile:
    """Any bytes as geometry, with GeoPackage's head or without; SQLite takes them all."""
    table = _wkb_table(things)
    sound = shapely.to_wkb(shapely.Point(7, 47))
    shapes = [
        sound if bad else shape for shape, bad in zip(table["geometry"], table["is_malformed"], strict=True)
    ]

    def changes() -> Iterator[tuple[object, bytes, int]]:
        for fid, (shape, bad) in enumerate(zip(table["geometry"], table["is_malformed"], strict=True), 1):
            if bad:
                heads = (
                    b"GP\0\1" + struct.pack("<i", 4326),
                    b"GP\0\1" + struct.pack("<i", 4326),
                    b"GP\0\x0f",
                    b"",
                )
                head = heads[things.fault(len(heads))]
                yield head + shape or b"\0", f"name {fid}".encode() + b"\xff\0\xfe", fid

    def write_plain(plain: Path) -> None:
        _write_ogr(plain, "GPKG", table, shapes, "Unknown", layer_options={"SPATIAL_INDEX": "NO"})
        with closing(sqlite3.connect(plain)) as database:
            # They call functions that only GDAL has.
            for (name,) in database.execute(
                "select name from sqlite_master where type = 'trigger'"
            ).fetchall():
                database.execute(f'drop trigger "{name}"')
            # The time of writing is in there: the same seed gives the same bytes.
            database.execute("update gpkg_contents set last_change = '2024-01-01T00:00:00.000Z'")
            database.executemany(
                "update things set geom = ?, name = cast(? as text) where fid = ?", changes()
            )
            database.commit()
            database.execute("vacuum")
        # How often it was written to, in two places: GDAL does not always do it equally often.
        data = bytearray(plain.read_bytes())
        data[24:28] = data[92:96] = struct.pack(">I", 1)
        plain.write_bytes(data)

    return _packed_ogr(things, path, write_plain, len(shapes))


def _flatgeobuf(things: _Things, path: Path) -> CorpusFile:
    """The format has no room for bytes that are no geometry: polygons that are written, and are invalid."""
    table = _table(
        things,
        lambda: shapely.to_wkb(geometries.sound_polygon(things.rng)),
        lambda: geometries.invalid_polygon(things.rng),
    )

    def write_plain(plain: Path) -> None:
        # An index needs boxes, and NaN has none.
        _write_ogr(
            plain, "FlatGeobuf", table, table["geometry"], "Polygon", layer_options={"SPATIAL_INDEX": "NO"}
        )

    return _packed_ogr(things, path, write_plain, len(table["geometry"]))


_WRITERS: dict[str, Callable[[_Things, Path], CorpusFile]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "geojson": _geojson,
    "geojsonl": _geojsonl,
    "parquet": _parquet,
    "geoparquet": _geoparquet,
    "shapefile": _shapefile,
    "geopackage": _geopackage,
    "flatgeobuf": _flatgeobuf,
}
