"""Files that mean harm, in every format: by their names, their CRSs, their columns, their values, and by what they unpack to.

`write_hostile` gives the same files for the same seed, in a folder a format, each beside a good one. Nothing is promised of their rows but
that a reader ends with each of them, in bounded time and memory, and that the good files load whole.
"""

from __future__ import annotations

import bz2
import gzip
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import malformed_corpus
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyogrio.raw import write

from geostrata.readers import SourceSpec
from geostrata.readers.limits import FileLimits

GOOD_ROWS = 20
GOOD = "good"
# Small, so that a bomb goes off early. Nothing else needs more.
LIMITS = {
    "unpacked_bytes": "300 MB",
    "rows": 300_000,
    "columns": 1_000,
    "record_bytes": "4 MB",
    "vertices": 100_000,
    "spool_bytes": "500 MB",
    "memory_bytes": "1500 MB",
    "deadline_s": 8,
}
ENDINGS = {
    "csv": "csv",
    "flatgeobuf": "fgb",
    "geojson": "geojson",
    "geojsonl": "geojsonl",
    "geopackage": "gpkg",
    "geoparquet": "parquet",
    "jsonl": "jsonl",
    "parquet": "parquet",
    "shapefile": "zip",
}
_DRIVERS = {"shapefile": "ESRI Shapefile", "geopackage": "GPKG", "flatgeobuf": "FlatGeobuf"}
_WKT = "POINT (16.37 48.21)"
_JINJA = "{{ adapter.drop_schema(this) }}"

NAMES = (
    "two\nlines",
    "red\x1b[31m\x07",
    "\u202egpj.exe",
    "a'; drop table bronze.raw_things_csv; --",
    'quo"te',
    "back`tick` string",
    "back\\slash\\n",
    _JINJA,
    "${env:HOME} $HOME $(id)",
    "%2e%2e%2fpasswd",
    "-rf --help",
    "[a-z]*?",
    "hash#fragment?query=1",
    "zip!inner|layername=x",
    "x" * 200,
    "ﷺ" * 60,
)
CRSS = (
    _JINJA,
    "{{ env_var('HOME') }}",
    "EPSG:4326'; drop table x; --",
    "+init=/dev/stdin:1",
    "+proj=utm +zone=33 +nadgrids=/etc/passwd",
    "+proj=utm +zone=33 +geoidgrids=../../etc/passwd",
    "+proj=pipeline +step +proj=hgridshift +grids=http://127.0.0.1:9/x",
    "+proj=utm +zone=33 +nadgrids=@/proc/self/environ,null",
    'PROJCS["x",EXTENSION["PROJ4","+init=/dev/zero:1"]]',
    'BOUNDCRS[SOURCECRS[GEOGCRS["x"]],PARAMETERFILE["grid","/etc/passwd"]]',
    "GEOGCS[" * 1500,
    '{"type":' * 1500,
    "EPSG:" + "9" * 4000,
    "x" * 100_000,
    "\x1b]0;title\x07EPSG:4326",
    "urn:ogc:def:crs:EPSG::" + "1" * 500,
)
COLUMNS = (
    "a`; drop table t; --",
    "a b c",
    _JINJA,
    "<script>alert(1)</script>",
    "select",
    "ID",
    "_row_id",
    "_source_file",
    "\u202enmuloc",
    "x" * 5000,
    "a.b.c",
    "\x1b[2J",
    "'\"\\",
    "${spark.app.name}",
)


def _deep(levels: int, opening: str, closing_: str, inner: str = "") -> str:
    return opening * levels + inner + closing_ * levels


def values(seed: int) -> dict[str, str]:
    """Geometries and other values as text, by what is wrong with them."""
    rng = np.random.default_rng(seed)
    tangle = shapely.polygons(rng.random((2_000, 2)))
    return {
        "tangle": shapely.to_wkt(tangle, rounding_precision=6),
        "many_vertices": shapely.to_wkt(shapely.linestrings(rng.random((120_000, 2))), rounding_precision=3),
        "points_2_32": struct.pack("<BII", 1, 2, 2**32 - 1).hex(),
        "rings_2_32": struct.pack("<BII", 1, 3, 2**32 - 1).hex() + "00" * 4000,
        "deep_collection": _deep(20_000, "GEOMETRYCOLLECTION (", ")", _WKT),
        "deep_wkb": (struct.pack("<BII", 1, 7, 1) * 20_000).hex(),
        "many_srids": "SRID=1;" * 20_000 + _WKT,
        "long_srid": f"SRID={'9' * 5000};{_WKT}",
        "blanks": " " * 200_000,
        "blanks_in_wkt": "POINT" + " " * 200_000,
        "deep_json": _deep(20_000, "[", "]"),
        "deep_geojson": _deep(5_000, '{"type":"GeometryCollection","geometries":[', "]}"),
        "quotes": '{"coordinates"' + '\\"' * 50_000,
        "not_a_number": "POINT (nan inf)",
        "huge_number": f"POINT ({'9' * 400} 1e-400)",
        "digits": "9" * 100_000,
        "exponent": "1e999999999",
        "formula": "=cmd|' /C calc'!A0",
        "emoji": "x" * 300_000 + "\U0001f600",
        "date": "9999999-99-99T99:99:99.999999999999Z",
    }


@dataclass(frozen=True)
class Hostile:
    format: str
    path: Path

    @property
    def spec(self) -> SourceSpec:
        return spec_of(self.format)


def spec_of(name: str) -> SourceSpec:
    return SourceSpec(name, malformed_corpus.columns_of(name), limits=FileLimits.of(LIMITS))


def write_hostile(folder: Path, seed: int = 15) -> list[Hostile]:
    """At least 300 of them, and a good one a format, which is not in the list."""
    rng = random.Random(seed)
    found = []
    for name, ending in ENDINGS.items():
        (folder / name).mkdir(parents=True)
        write_one(folder / name / f"{GOOD}.{ending}", name)
        makers = [*_by_name(name), *_by_crs(name), *_by_column(name), *_by_value(name, seed)]
        makers += [(label, make) for label, make in BOMBS.get(name, {}).items()]
        for at, (label, make) in enumerate(makers):
            path = folder / name / f"{at:03d} {label}"
            path = path if "." in label[-9:] else path.with_name(f"{path.name}.{ending}")
            make(path)
            found.append(Hostile(name, path))
    rng.shuffle(found)
    return found


_Maker = tuple[str, Callable[[Path], Any]]


def _by_name(name: str) -> Iterator[_Maker]:
    for title in NAMES:
        yield title.replace("/", "_"), lambda path: write_one(path, name)


def _by_crs(name: str) -> Iterator[_Maker]:
    if name in ("geojson", "geojsonl", "geoparquet", "shapefile", "csv"):
        for at, crs in enumerate(CRSS):
            yield f"crs {at}", lambda path, crs=crs: write_one(path, name, crs=crs)


def _by_column(name: str) -> Iterator[_Maker]:
    if name in ("csv", "jsonl", "geojson", "geoparquet", "geopackage"):
        for at, column in enumerate(COLUMNS):
            yield f"column {at}", lambda path, column=column: write_one(path, name, column=column)


def _by_value(name: str, seed: int) -> Iterator[_Maker]:
    if name in ("csv", "jsonl", "parquet"):
        for label, value in values(seed).items():
            yield f"value {label}", lambda path, value=value: write_one(path, name, value=value)


def write_one(
    path: Path, name: str, crs: str | None = None, column: str | None = None, value: str | None = None
) -> None:
    """A good file but for one thing."""
    rows: list[dict[str, Any]] = []
    for at in range(GOOD_ROWS):
        row = {"thing_id": f"{name} {at}", "name": "ok", "geometry": f"POINT ({16 + at / 100} 48)"}
        row |= {"crs": crs} if crs and name == "csv" else {}
        row |= {column: "x"} if column else {}
        if value is not None and at == 1:
            row |= {"name": value, "geometry": value}
        rows.append(row)
    _WRITERS[name](path, rows, crs)


def _write_csv(path: Path, rows: list[dict[str, Any]], _crs: str | None) -> None:
    lines = [rows[0].keys(), *(row.values() for row in rows)]
    texts = [",".join('"' + str(cell).replace('"', '""') + '"' for cell in line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")


def _write_jsonl(path: Path, rows: list[dict[str, Any]], _crs: str | None) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _features(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "type": "Feature",
            "properties": {name: value for name, value in row.items() if name != "geometry"},
            "geometry": json.loads(shapely.to_geojson(shapely.from_wkt(row["geometry"]))),
        }
        for row in rows
    ]


def _named(crs: str | None) -> dict[str, Any]:
    return {"crs": {"type": "name", "properties": {"name": crs}}} if crs else {}


def _write_geojson(path: Path, rows: list[dict[str, Any]], crs: str | None) -> None:
    path.write_text(json.dumps({"type": "FeatureCollection", **_named(crs), "features": _features(rows)}))


def _write_geojsonl(path: Path, rows: list[dict[str, Any]], crs: str | None) -> None:
    features = _features(rows)
    path.write_text("\n".join(json.dumps({**_named(crs), **feature}) for feature in features))


def _write_parquet(path: Path, rows: list[dict[str, Any]], crs: str | None) -> None:
    names = [name for name in rows[0] if name != "geometry"]
    table = {name: pa.array([row[name] for row in rows], pa.string()) for name in names}
    shapes = [row["geometry"].encode() for row in rows]
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", "crs": crs}}}
    found = pa.table({**table, "geometry": pa.array(shapes, pa.binary())})
    pq.write_table(found.replace_schema_metadata({"geo": json.dumps(geo)}) if crs else found, path)


def _write_ogr(path: Path, rows: list[dict[str, Any]], driver: str) -> None:
    names = [name for name in rows[0] if name != "geometry"]
    write(
        str(path),
        shapely.to_wkb(shapely.from_wkt([row["geometry"] for row in rows])),
        [np.array([row[name] for row in rows], dtype=object) for name in names],
        names,
        crs="EPSG:4326",
        geometry_type="Point",
        driver=driver,
        layer="things",
        encoding="UTF-8",
    )


def _under_plain_name(path: Path, ending: str, make: Callable[[Path], None]) -> None:
    """GDAL reads more into a name than it says: written under another, then renamed."""
    plain = path.parent / f"_plain{ending}"
    make(plain)
    plain.rename(path)


def _write_gpkg(path: Path, rows: list[dict[str, Any]], _crs: str | None) -> None:
    _under_plain_name(path, ".gpkg", lambda plain: _write_ogr(plain, rows, "GPKG"))


def _write_fgb(path: Path, rows: list[dict[str, Any]], _crs: str | None) -> None:
    _under_plain_name(path, ".fgb", lambda plain: _write_ogr(plain, rows, "FlatGeobuf"))


def _shapefile_parts(path: Path, rows: list[dict[str, Any]]) -> dict[str, bytes]:
    plain = path.parent / "_plain.shp"
    _write_ogr(plain, rows, "ESRI Shapefile")
    parts = {}
    for part in path.parent.glob("_plain.*"):
        parts[part.suffix] = part.read_bytes()
        part.unlink()
    return parts


def _write_shapefile(path: Path, rows: list[dict[str, Any]], crs: str | None) -> None:
    parts = _shapefile_parts(path, rows)
    if crs is not None:
        parts[".prj"] = crs.encode()
    _zip(path, {f"things{ending}": data for ending, data in parts.items()})


_WRITERS: dict[str, Callable[[Path, list[dict[str, Any]], str | None], None]] = {
    "csv": _write_csv,
    "flatgeobuf": _write_fgb,
    "geojson": _write_geojson,
    "geojsonl": _write_geojsonl,
    "geopackage": _write_gpkg,
    "geoparquet": _write_parquet,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
    "shapefile": _write_shapefile,
}


def _zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _gzip(path: Path, *pieces: tuple[bytes, int]) -> None:
    """Each piece so many times, never whole in memory."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for piece, times in pieces:
            block = piece * max(1, min(times, (1 << 20) // len(piece)))
            for _ in range(times * len(piece) // len(block)):
                stream.write(block)


@cache
def _packed_zeros() -> bytes:
    packer = bz2.BZ2Compressor()
    return b"".join(packer.compress(bytes(10**7)) for _ in range(10)) + packer.flush()


def zip_bomb(path: Path, member: str = "things.csv") -> None:
    """A hundred megabytes in some hundred bytes: bzip2, which unpacks all at once."""
    packed = _packed_zeros()
    name = member.encode()
    facts = (46, 0, 12, 0, 0, 0, len(packed), 10**8, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", *facts) + name + packed
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 46, *facts, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)
    path.write_bytes(local + entry + end)


def parquet_bomb(path: Path, rows: int = 100_000) -> None:
    """One value of 64 kB that a dictionary repeats."""
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype="int32")), ["x" * 65_536])
    pq.write_table(pa.table({"name": values}), path, compression="zstd", write_statistics=False)


def _many_columns(path: Path) -> None:
    pq.write_table(pa.table({f"c{at}": pa.array([1]) for at in range(5_000)}), path)


def _nested(path: Path) -> None:
    kind = pa.int64()
    for _ in range(300):
        kind = pa.struct([("a", kind)])
    pq.write_table(pa.table({"name": pa.nulls(1, kind)}), path)


def endless_contents(path: Path) -> None:
    """The table that lists the layers is a view without an end."""
    write_one(path, "geopackage")
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r)"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            f"""
            pragma writable_schema = on;
            delete from sqlite_master where type = 'trigger';
            alter table gpkg_contents rename to gpkg_held;
            create view gpkg_contents as {endless}
            select 'things' || n as table_name, 'features' as data_type from r;
            """
        )
        database.commit()


def endless_layer(path: Path) -> None:
    write_one(path, "geopackage")
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r)"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            f"""
            alter table things rename to gpkg_held;
            create view things as {endless} select n as fid, gpkg_held.geom as geom, 'x' as thing_id, 'y' as name from r, gpkg_held;
            """
        )
        database.commit()


def _slow_layer(path: Path) -> None:
    """Not a row comes out of it, ever."""
    endless_layer(path)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """
            drop view things;
            create view things as with recursive r(n) as (select 1 union all select n + 1 from r)
            select n as fid, null as geom, 'x' as thing_id, 'y' as name from r where n < 0;
            """
        )
        database.commit()


def _dbf(path: Path, change: Callable[[bytearray], bytes | bytearray]) -> None:
    rows = [{"thing_id": "1", "name": "x", "geometry": _WKT}]
    parts = _shapefile_parts(path, rows)
    parts[".dbf"] = bytes(change(bytearray(parts[".dbf"])))
    _zip(path, {f"things{ending}": data for ending, data in parts.items()})


def _no_end_of_fields(dbf: bytearray) -> bytes:
    return bytes(dbf[:32]) + b"A" * 2_000_000


def _long_records(dbf: bytearray) -> bytes:
    struct.pack_into("<H", dbf, 10, 65_535)
    return bytes(dbf) + bytes(200_000)


def _many_parts(path: Path) -> None:
    """A polygon of two thousand million parts."""
    rows = [{"thing_id": "1", "name": "x", "geometry": _WKT}]
    parts = _shapefile_parts(path, rows)
    shape = struct.pack("<i4dii", 5, 0, 0, 1, 1, 2**31 - 1, 2**31 - 1) + bytes(64)
    head = bytearray(parts[".shp"][:100])
    struct.pack_into(">i", head, 24, (108 + len(shape)) // 2)
    struct.pack_into("<i", head, 32, 5)
    parts[".shp"] = bytes(head) + struct.pack(">ii", 1, len(shape) // 2) + shape
    index = bytearray(parts[".shx"][:100])
    struct.pack_into("<i", index, 32, 5)
    parts[".shx"] = bytes(index) + struct.pack(">ii", 50, len(shape) // 2)
    _zip(path, {f"things{ending}": data for ending, data in parts.items()})


def _fgb_header(path: Path) -> None:
    path.write_bytes(b"fgb\x03fgb\x00" + struct.pack("<I", 2**32 - 1) + bytes(1000))


def _fgb_zeros(path: Path) -> None:
    write_one(path, "flatgeobuf")
    data = path.read_bytes()
    path.unlink()
    _zip(path, {"things.fgb": data + bytes(50_000_000)})


def _fgb_lengths(path: Path) -> None:
    write_one(path, "flatgeobuf")
    data = bytearray(path.read_bytes())
    for at in range(len(data) - 600, len(data) - 4, 4):
        struct.pack_into("<I", data, at, 2**31 - 1)
    path.write_bytes(data)


_HEADER = b"thing_id,name,geometry\n"
_JSON_HEAD = b'{"type":"FeatureCollection","features":['
BOMBS: dict[str, dict[str, Callable[[Path], Any]]] = {
    "csv": {
        "zip.zip": zip_bomb,
        "zeros.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (bytes(1 << 20), 600)),
        "lines.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (b"\n", 8 << 20)),
        "rows.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (b"1,x,\n", 400_000)),
        "equal_names.csv": lambda path: path.write_bytes(b"a," * 100_000 + b"a\n" + b"1," * 100_000 + b"1\n"),
        "wide_rows.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (b"1," * 100_000 + b"\n", 20)),
        "quoted.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (b'1,"', 1), (b"x" * 1024, 100_000)),
        "quoted_lines.csv.gz": lambda path: _gzip(path, (_HEADER, 1), (b'1,"x\n' + b'"",x\n' * 999, 50)),
        "emoji.csv.gz": lambda path: _gzip(
            path, (_HEADER, 1), ("1,\U0001f600".encode(), 1), (b"x" * 1024, 60_000), (b",\n", 1)
        ),
        "xml.csv": lambda path: path.write_bytes(b"<" + b"!>\n<!-->\n<" * 14),
    },
    "jsonl": {
        "keys.jsonl": lambda path: path.write_text(json.dumps({f"k{at}": at for at in range(100_000)})),
        "equal_keys.jsonl": lambda path: path.write_text("{" + '"a":1,' * 100_000 + '"a":1}'),
        "emoji.jsonl.gz": lambda path: _gzip(
            path, ('{"name":"\U0001f600'.encode(), 1), (b"x" * 1024, 60_000)
        ),
        "deep.jsonl": lambda path: path.write_text(_deep(100_000, '{"a":', "}", "1")),
        "layouts.jsonl": lambda path: path.write_text(
            "".join(json.dumps({f"k{line} {at}": 1 for at in range(50)}) + "\n" for line in range(2_000))
        ),
        "sequence.jsonl.gz": lambda path: _gzip(path, (b"\x1e{\n", 1_000_000)),
    },
    "geojsonl": {
        "keys.geojsonl": lambda path: path.write_text('{"type":"Feature",' + '"geometry":{},' * 50_000),
        "crs.geojsonl": lambda path: path.write_text('{"crs":' * 50_000),
    },
    "geojson": {
        "numbers.geojson.gz": lambda path: _gzip(path, (_JSON_HEAD, 1), (b"1,", 1 << 20), (b"1]}", 1)),
        "broken.geojson.gz": lambda path: _gzip(
            path, (_JSON_HEAD, 1), (b'{"type":"Feature",]},', 100_000), (b'{"a":"', 1)
        ),
        "open_strings.geojson": lambda path: path.write_bytes(_JSON_HEAD + b'{"a":"' * 20_000),
        "brackets.geojson": lambda path: path.write_bytes(b"[" * 200_000),
        "braces.geojson": lambda path: path.write_bytes(_JSON_HEAD + b"{" * 200_000 + b"}" * 200_000 + b"]}"),
        "quotes.geojson": lambda path: path.write_bytes(b'{"\\"' + b'\\"' * 120_000),
        "crs.geojson": lambda path: path.write_bytes(_JSON_HEAD + b"]," + b'"crs":{' * 9_000 + b"}"),
        "ends.geojson": lambda path: path.write_bytes(_JSON_HEAD + b'{"a":"],"{' * 20_000),
        "emoji.geojson.gz": lambda path: _gzip(
            path, (_JSON_HEAD + '{"a":"\U0001f600'.encode(), 1), (b"x" * 1024, 60_000), (b'"}]}', 1)
        ),
        "blanks.geojson.gz": lambda path: _gzip(path, (_JSON_HEAD, 1), (b" " * 1024, 100_000), (b"]}", 1)),
        "zip.zip": lambda path: zip_bomb(path, "things.geojson"),
    },
    "parquet": {
        "dictionary.parquet": parquet_bomb,
        "rows.parquet": lambda path: pq.write_table(
            pa.table({"name": pa.nulls(5_000_000, pa.string())}), path
        ),
        "columns.parquet": _many_columns,
        "nested.parquet": _nested,
        "footer.parquet": lambda path: path.write_bytes(
            b"PAR1" + b"\xff" * 1000 + struct.pack("<I", 900) + b"PAR1"
        ),
    },
    "geoparquet": {"dictionary.parquet": parquet_bomb},
    "geopackage": {
        "contents.gpkg": endless_contents,
        "layer.gpkg": endless_layer,
        "slow_layer.gpkg": _slow_layer,
        "zip.zip": lambda path: zip_bomb(path, "things.gpkg"),
    },
    "shapefile": {
        "zip.zip": lambda path: zip_bomb(path, "things.shp"),
        "fields.zip": lambda path: _dbf(path, _no_end_of_fields),
        "records.zip": lambda path: _dbf(path, _long_records),
        "parts.zip": _many_parts,
    },
    "flatgeobuf": {
        "header.fgb": _fgb_header,
        "zeros.zip": _fgb_zeros,
        "lengths.fgb": _fgb_lengths,
        "zip.zip": lambda path: zip_bomb(path, "things.fgb"),
    },
}
