"""Which format is it? By content first, by name only where the content leaves it open."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections import Counter

from geostrata.readers import flatgeobuf, geojson, geopackage, json_lines, parquet, shapefile
from geostrata.readers.errors import Refused
from geostrata.readers.files import landed, open_file
from geostrata.readers.packing import directory, open_unpacked, packing
from geostrata.readers.spec import FORMATS
from geostrata.readers.text import KEEP_BYTES, encoding_of

_HEAD_BYTES = 256 << 10
_SEPARATORS = (",", ";", "\t", "|")
_COLLECTION = re.compile(r'"type"\s*:\s*"FeatureCollection"')
_FEATURE = re.compile(r'"type"\s*:\s*"Feature"')
_INNER = {".shp": "shapefile", ".gpkg": "geopackage", ".fgb": "flatgeobuf"}
_MAGIC = {
    parquet.MAGIC: "parquet",
    geopackage.MAGIC: "geopackage",
    flatgeobuf.MAGIC: "flatgeobuf",
    shapefile.MAGIC: "shapefile",
}


def detect(path: str) -> tuple[str, dict[str, str]]:
    """The format, and the options that its text needs: encoding and separator."""
    file = landed(path)
    if file.size == 0:
        raise Refused(path, "it is empty; name a file with rows in it")
    if packing(path) == "zip":
        for entry in directory(path):
            for ending, name in _INNER.items():
                if entry.filename.lower().endswith(ending):
                    return name, {}
    with open_unpacked(path, ()) as stream:
        head = stream.read(_HEAD_BYTES)
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return _parquet_kind(path) if name == "parquet" else name, {}
    encoding = guess_encoding(head)
    options = {} if encoding is None else {"encoding": encoding}
    text = head.decode(encoding_of(head, encoding), errors=KEEP_BYTES)
    name = _text_format(path, text, len(head) < _HEAD_BYTES)
    if name == "csv" and (separator := guess_separator(text)) != ",":
        options["separator"] = separator
    return name, options


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
    if not text.startswith("{"):
        return _csv_or_nothing(path, text)
    first, *others = text.splitlines()
    try:
        value = json.loads(first)
    except ValueError:
        # Either laid out over several lines, or one line longer than the head.
        if _COLLECTION.search(text) or path.lower().removesuffix(".gz").endswith(geojson.ENDINGS[0]):
            return "geojson"
        return "geojsonl" if _FEATURE.search(text) and not others else "jsonl"
    if value.get("type") == "FeatureCollection":
        return "geojson"
    if value.get("type") == "Feature":
        is_single = is_whole and not any(line.strip() for line in others)
        by_name = path.lower().removesuffix(".gz").endswith(json_lines.FEATURE_ENDINGS[:-1])
        return "geojson" if is_single and not by_name else "geojsonl"
    return "geojson" if "coordinates" in value and is_whole and not others else "jsonl"


def _csv_or_nothing(path: str, text: str) -> str:
    controls = sum(1 for sign in text[:4096] if sign < " " and sign not in "\t\r\n")
    if controls > len(text[:4096]) // 20:
        raise Refused(path, f"no format that is known; deliver one of {', '.join(FORMATS)}")
    return "csv"


def guess_separator(text: str) -> str:
    """The one that cuts the first lines into the same number of fields, more than one."""
    sample = re.split(r"\r\n|\r|\n", text)[:200]
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
