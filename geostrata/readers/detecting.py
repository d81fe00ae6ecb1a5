"""Which format is it? By content first, by name only where the content leaves it open."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

from geostrata.readers import csv_rows, flatgeobuf, geojson, geopackage, json_lines, parquet, shapefile
from geostrata.readers.errors import Refused
from geostrata.readers.features import is_geometry_type
from geostrata.readers.files import landed, open_file
from geostrata.readers.json_scan import outer_members
from geostrata.readers.limits import FileLimits
from geostrata.readers.packing import directory, open_unpacked, packing
from geostrata.readers.spec import FORMATS
from geostrata.readers.text import KEEP_BYTES, encoding_of

HEAD_BYTES = 256 << 10
_SEPARATORS = (",", ";", "\t", "|")
_FEATURE = re.compile(r'"type"\s*:\s*"Feature"')
# In front of the first element: a declaration, comments, a document type. Each is passed over by itself: one expression for
# all of them would try every way to share a text among them.
_XML_PROLOG = re.compile(r"<!--.*?-->\s*|<[?!](?!--)[^>]*>\s*", re.DOTALL)
_XML = re.compile(r"<(?:\w{1,100}:)?([A-Za-z][\w.-]{0,100})[\s/>]")
_LINE_END = re.compile(r"\r\n|\r|\n")
# Of lines that may be JSON, as many are tried: the first ones may be broken.
_TRIED_LINES = 20
_INNER = {".shp": "shapefile", ".gpkg": "geopackage", ".fgb": "flatgeobuf"}
_TEXT_ENDINGS = (*json_lines.FEATURE_ENDINGS, geojson.ENDINGS[0], *csv_rows.ENDINGS)
_MAGIC = {
    parquet.MAGIC: "parquet",
    geopackage.MAGIC: "geopackage",
    flatgeobuf.MAGIC: "flatgeobuf",
    shapefile.MAGIC: "shapefile",
}


def detect(path: str) -> tuple[str, dict[str, str]]:
    """The format, and the options that its text needs: encoding and separator."""
    file = landed(path)
    kind = packing(path)
    if kind == "zip" and (inner := _inner_format(path)):
        return inner, {}
    with open_unpacked(path, _TEXT_ENDINGS, FileLimits()) as stream:
        head = stream.read(HEAD_BYTES)
    if file.size == 0 or not head:
        raise Refused(path, "it is empty; name a file with rows in it")
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return _of_magic(path, name, kind)
    encoding = guess_encoding(head)
    options = {} if encoding is None else {"encoding": encoding}
    text = head.decode(encoding_of(head, encoding), errors=KEEP_BYTES)
    name = _text_format(path, text, len(head) < HEAD_BYTES)
    if name == "csv" and (separator := guess_separator(text)) != ",":
        options["separator"] = separator
    return name, options


def _inner_format(path: str) -> str | None:
    paths = [PurePosixPath(entry.filename.lower()) for entry in directory(path)]
    if any(part.endswith(".gdb") for inner in paths for part in inner.parts[:-1]):
        raise Refused(path, "it is a file geodatabase, which is not read; convert it, as to GeoPackage")
    names = [inner.name for inner in paths]
    for name in names:
        if found := _INNER.get(PurePosixPath(name).suffix):
            return found
    if len(names) != 1 and sum(name.endswith(_TEXT_ENDINGS) for name in names) != 1:
        few = ", ".join(names[:5]) or "none"
        raise Refused(path, f"the zip must hold one file of a format that is read, it holds {few}")
    return None


def _of_magic(path: str, name: str, kind: str | None) -> tuple[str, dict[str, str]]:
    if kind is not None and name == "parquet":
        raise Refused(path, f"Parquet in a {kind}; deliver it as it is, it is compressed already")
    if kind == "gzip":
        raise Refused(path, f"a {name} in gzip; deliver it plain or in a zip")
    return _parquet_kind(path) if name == "parquet" else name, {}


def _parquet_kind(path: str) -> str:
    file = landed(path)
    with open_file(path) as stream:
        opened = parquet.open_parquet(file, stream)
        return "geoparquet" if opened is not None and parquet.geo_metadata(opened) else "parquet"


def guess_encoding(head: bytes) -> str | None:
    """None where no option is needed: UTF-8, or a byte order mark that tells."""
    if encoding_of(head, None) != "utf-8":
        return None
    # Latin text in UTF-16 is every second byte zero.
    if head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    if head[0::2].count(0) > len(head) // 4:
        return "utf-16-be"
    return guess_latin(head)


def guess_latin(head: bytes) -> str | None:
    try:
        # Incremental: the head may end in the middle of a character.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        # 0x80 to 0x9f are control signs in Latin-1, and letters or quotes in Windows' version of it.
        return "cp1252" if re.search(rb"[\x80-\x9f]", head) else "latin-1"
    return None


def _text_format(path: str, text: str, is_whole: bool) -> str:
    text = text.lstrip(" \t\r\n\ufeff")
    if text.startswith("\x1e"):
        return "geojsonl"
    if text.startswith("["):
        if _FEATURE.search(text):
            return "geojson"
        raise Refused(path, "a JSON array of objects; deliver one object a line (jsonl)")
    if text.startswith("{"):
        return _json_format(path, text, is_whole)
    if found := _xml_element(text):
        raise Refused(path, f"it is XML ({found}), which is not read; convert it, as to GeoPackage")
    return _csv_or_nothing(path, text)


def _xml_element(text: str) -> str | None:
    at = 0
    while found := _XML_PROLOG.match(text, at):
        at = found.end()
    element = _XML.match(text, at)
    return element[1] if element else None


def _json_format(path: str, text: str, is_whole: bool) -> str:
    """One object, or one a line?"""
    lines = [line for line in _LINE_END.split(text) if line.strip()]
    first = _object(lines[0])
    whole = _object(text) if first is None and is_whole else None
    members: Mapping[str, object] = first or whole or outer_members(text)
    kind = members.get("type")
    if kind == "Topology":
        raise Refused(path, "it is TopoJSON, which is not read; convert it to GeoJSON")
    name = path.lower().removesuffix(".gz")
    if kind == "FeatureCollection" or (first is None and name.endswith(geojson.ENDINGS[0])):
        return "geojson"
    # A line of JSON lines begins as an object does.
    is_cut = first is None and not is_whole
    is_laid_out = whole is not None or (is_cut and len(lines) > 1 and not lines[1].lstrip().startswith("{"))
    is_geometry = is_geometry_type(kind) and ("coordinates" in members or "geometries" in members)
    if is_laid_out:
        if kind == "Feature" or is_geometry:
            return "geojson"
        raise Refused(
            path, "one JSON object over several lines, no GeoJSON; deliver one object a line (jsonl)"
        )
    if (kind == "Feature" or is_geometry) and (first is not None or is_cut):
        is_single = len(lines) == 1 and is_whole and not name.endswith(json_lines.FEATURE_ENDINGS[:-1])
        return "geojson" if is_single else "geojsonl"
    return _lines_format(path, lines, is_whole)


def _lines_format(path: str, lines: list[str], is_whole: bool) -> str:
    found = [members for line in lines[:_TRIED_LINES] if (members := _object(line)) is not None]
    if not found and (is_whole or len(lines) > 1):
        raise Refused(
            path, f"it begins as JSON does, but no line is an object; deliver one of {', '.join(FORMATS)}"
        )
    return "geojsonl" if found and found[0].get("type") == "Feature" else "jsonl"


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _csv_or_nothing(path: str, text: str) -> str:
    controls = sum(1 for sign in text[:4096] if sign < " " and sign not in "\t\r\n")
    if controls > len(text[:4096]) // 20:
        raise Refused(path, f"no format that is known; deliver one of {', '.join(FORMATS)}")
    return "csv"


def guess_separator(text: str) -> str:
    """The one that cuts the first lines into the same number of fields, more than one."""
    sample = _LINE_END.split(text)[:200]
    if len(sample) > 1:
        sample = sample[:-1]
    best, best_score = ",", 0.0
    for separator in _SEPARATORS:
        try:
            counts = Counter(len(row) for row in csv.reader(sample, delimiter=separator) if row)
        except csv.Error:
            continue
        width, rows = counts.most_common(1)[0] if counts else (1, 0)
        # Agreement weighs more than width: a comma in the text of some lines must not win.
        score = 0.0 if width < 2 else rows / sum(counts.values()) + min(width, 50) / 1000
        if score > best_score:
            best, best_score = separator, score
    return best
