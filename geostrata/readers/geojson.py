"""GeoJSON, feature by feature: a file of any size in the memory of its largest feature."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any

from geostrata.readers import crs as crss
from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.features import feature_record, is_geometry_type
from geostrata.readers.files import LandedFile
from geostrata.readers.json_scan import (
    BLANKS,
    BrokenError,
    UnfinishedError,
    Window,
    end_of_broken,
    walk_members,
    walk_object,
)
from geostrata.readers.json_values import DECODER
from geostrata.readers.limits import LIMITS, beyond
from geostrata.readers.packing import open_unpacked
from geostrata.readers.rows import Record, Records
from geostrata.readers.spec import SourceSpec
from geostrata.readers.text import KEEP_BYTES, text_stream

ENDINGS = (".geojson", ".json")
_FEATURE = re.compile(r'\{[ \t\r\n]*"type"[ \t\r\n]*:[ \t\r\n]*"Feature"[ \t\r\n]*[,}]')
# The end of a collection: the features' bracket, perhaps more members, the last brace.
_END = re.compile(r'\][ \t\r\n]*(?:,[ \t\r\n]*"[^{}\[\]]*(?:\{[^\[\]]*)?)?\}[ \t\r\n]*\Z')
# What neither opens nor closes anything, and can't follow a backslash.
_NO_SIGNS = b"0123456789+-.,: \t\r\n"
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_AS_ASCII = ("utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252")
_Walked = tuple[list[tuple[str, Any]], int, bool]
# A crs in a crs in a crs: each is tried by itself.
_TRIED_CRSS = 20
_CRS = re.compile(r'"crs"[ \t\r\n]*:[ \t\r\n]*(?=[{n"])')


def records(file: LandedFile, spec: SourceSpec) -> Records:
    reader = _Reader(file, spec)
    reader.look_behind_features()
    return Records(reader.crs, reader.rows())


def check(file: LandedFile, spec: SourceSpec) -> None:
    """The head must be that of GeoJSON, and what was opened must be closed at the end."""
    reader = _Reader(file, spec)
    reader.close()
    if not _is_closed(file.path, spec, reader.encoding, b"]" if reader.is_array else b"}"):
        # Cut, or a feature in it has a bracket or a quote too few: only reading can tell.
        for _ in records(file, spec).rows:
            pass


class _Reader:
    def __init__(self, file: LandedFile, spec: SourceSpec) -> None:
        self._path, self._file, self._spec = file.path, file, spec
        self._geometry = spec.geometry_column()
        self._stream = text_stream(
            open_unpacked(file.path, ENDINGS, spec.limits), spec.options.get("encoding")
        )
        self._longest = spec.limits.record_bytes
        self._window = Window(self._stream, self._longest)
        self._head: list[tuple[str, Any]] = []
        self._single: Record | None = None
        self.is_array = False
        self._is_crs_behind = False
        self.crs: str | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def close(self) -> None:
        self._stream.close()

    def _open(self) -> None:
        """Read up to the features, or the whole object if it has none."""
        first = self._window.peek()
        if first == "[":
            self._window.at += 1
            self.is_array = True
        elif first == "{":
            self._head, end, has_features = self._whole(_walk_head)
            self.crs = crss.from_geojson(dict(self._head).get("crs"))
            text = self._window.text[self._window.at : end]
            self._window.at = end
            if not has_features:
                self._single = self._only_object(text)
            self._is_crs_behind = has_features and "crs" not in dict(self._head)
        elif first:
            raise Refused(
                self._path, f"GeoJSON begins with {{, this file with {first!r}; check the source's format"
            )

    def look_behind_features(self) -> None:
        """The rows need the crs before it comes, if it comes last."""
        if self._is_crs_behind:
            try:
                self.crs = _crs_behind_features(_tail(self._file, self._spec, self.encoding))
            except BaseException:
                self.close()
                raise

    def _only_object(self, text: str) -> Record:
        found = dict(self._head)
        kind = found.get("type")
        # Some programs leave a feature's type away; in a collection such features are taken, too.
        is_feature = kind == "Feature" or (kind is None and "geometry" in found)
        if not is_feature and not is_geometry_type(kind):
            has = "no type" if kind is None else f"the type {kind!r}"
            raise Refused(
                self._path, f"its outermost object has {has}: no FeatureCollection, Feature or geometry"
            )
        members = [(name, value) for name, value in self._head if name != "crs"]
        return feature_record("feature 1", members, text, self._geometry, len(text))

    def _whole(self, read: Callable[[str, int], _Walked]) -> _Walked:
        """Read something whole, however much of the file that takes."""
        while True:
            try:
                return read(self._window.text, self._window.at)
            except UnfinishedError:
                self._more("a value")
            except BrokenError:
                raise Refused(self._path, "it is not JSON; check the source's format and encoding") from None

    def _more(self, what: str) -> None:
        if self._window.is_last:
            raise _cut(self._path)
        if not self._window.more() and not self._window.is_last:
            what = f"{what} is over {self._longest:,} characters: split it, or check its quotes"
            raise Refused(self._path, beyond("record_bytes", what))

    def rows(self) -> Iterator[Record]:
        with self._stream:
            if self._single is not None:
                self._nothing_follows()
                yield self._single
            elif self.is_array or self._window.peek():
                yield from self._features()
                if not self.is_array:
                    self._rest()
                self._nothing_follows()
            elif self._head:
                raise _cut(self._path)

    def _features(self) -> Iterator[Record]:
        number = 0
        while (sign := self._window.peek()) != "]":
            if not sign:
                raise _cut(self._path)
            if sign == ",":
                self._window.at += 1
                continue
            number += 1
            yield self._feature(f"feature {number}", sign)
        self._window.at += 1

    def _feature(self, position: str, sign: str) -> Record:
        window = self._window
        while sign == "{":
            try:
                found, end = walk_object(window.text, window.at)
            except UnfinishedError as error:
                # With the end of the file in sight, an error in front of it is one of this feature. So is a string that
                # takes the end of the collection with it: its quote is missing.
                if window.is_last and (
                    error.at < window.text_end or (error.is_in_string and window.find(_END, window.at))
                ):
                    break
                self._more(position)
                continue
            except BrokenError:
                break
            text = window.text[window.at : end]
            window.at = end
            return feature_record(position, found, text, self._geometry, len(text))
        return self._broken(position)

    def _broken(self, position: str) -> Record:
        """An element that is no JSON ends where its brackets do, or where the next feature begins."""
        window = self._window
        while (end := self._end_of_broken()) is None:
            self._more(position)
        start, window.at = window.at, max(end, window.at + 1)
        text = window.text[start : window.at].rstrip(" \t\r\n,")
        return Record(position, corrupt=text, chars=len(text))

    def _end_of_broken(self) -> int | None:
        """None if that takes more of the file."""
        text, at = self._window.text, self._window.at
        following = self._window.find(_FEATURE, at + 1)
        end, perhaps = end_of_broken(text, at, following.start() if following else len(text))
        if end is None and following:
            return following.start()
        if end is None and self._window.is_last:
            last = self._window.find(_END, at)
            return last.start() if last else perhaps
        return end

    def _rest(self) -> None:
        """Members behind the features. A crs there must be the one that all rows have been given."""
        sign = self._window.peek()
        if not sign:
            raise _cut(self._path)
        self._window.at += 1
        if sign == "}":
            return
        if sign != ",":
            raise Refused(self._path, f"{sign!r} behind its features: not JSON; deliver it again")
        found, self._window.at, _ = self._whole(walk_members)
        if "crs" in dict(found) and crss.from_geojson(dict(found)["crs"]) != self.crs:
            raise Refused(self._path, "its crs stands far behind its features; write it in front of them")

    def _nothing_follows(self) -> None:
        if self._window.peek():
            raise Refused(
                self._path,
                "more follows behind the outermost value; if it is a feature a line, declare format geojsonl",
            )


def _walk_head(text: str, at: int) -> _Walked:
    match = BLANKS.match(text, at + 1)
    start = match.end() if match else at + 1
    if text[start : start + 1] == "}":
        return [], start + 1, False
    return walk_members(text, start, stop="features")


def _cut(path: str) -> HalfWritten:
    return HalfWritten(path, "the GeoJSON ends in the middle; left for the next run")


def _is_closed(path: str, spec: SourceSpec, encoding: str, closing: bytes) -> bool:
    """Do brackets and quotes come out even, and is the last sign the closing one? A look at every byte, a twentieth of the
    time that reading takes."""
    depth, is_inside, held, last = 0, 0, b"", closing
    for piece in _pieces(path, spec, encoding):
        last = piece.rstrip(b" \t\r\n")[-1:] or last
        signs = (held + piece).translate(None, _NO_SIGNS)
        held = b""
        if b"\\" in signs:
            if (len(signs) - len(signs.rstrip(b"\\"))) % 2:
                signs, held = signs[:-1], b"\\"
            signs = _ESCAPED.sub(b"", signs)
        parts = signs.split(b'"')
        outside = b"".join(parts[is_inside::2])
        is_inside ^= (len(parts) - 1) % 2
        depth += outside.count(b"{") + outside.count(b"[") - outside.count(b"}") - outside.count(b"]")
    return depth == 0 and not is_inside and last == closing


def _pieces(path: str, spec: SourceSpec, encoding: str) -> Iterator[bytes]:
    """The content in an encoding in which a sign of JSON is that byte, and no part of another."""
    with open_unpacked(path, ENDINGS, spec.limits) as stream:
        if codecs.lookup(encoding).name in _AS_ASCII:
            while piece := stream.read(LIMITS.chunk_bytes):
                yield piece
        else:
            text = text_stream(stream, encoding)
            while part := text.read(LIMITS.chunk_bytes):
                yield part.encode(errors="replace")


def _tail(file: LandedFile, spec: SourceSpec, encoding: str = "utf-8") -> str:
    """The last piece of the content. A packed file is unpacked once for it, and nothing of it is kept."""
    with open_unpacked(file.path, ENDINGS, spec.limits) as stream:
        if stream.seekable():
            stream.seek(max(0, file.size - LIMITS.tail_bytes))
            data = stream.read()
        else:
            data = b""
            while piece := stream.read(LIMITS.chunk_bytes):
                data = (data + piece)[-LIMITS.tail_bytes :]
    # Cut at an even place from the end, so that two-byte encodings stay in step.
    return data[len(data) % 4 :].decode(encoding, errors=KEEP_BYTES)


def _crs_behind_features(tail: str) -> str | None:
    """A `crs` in front of the last brace. That it is the outermost one is made sure of at the end of reading."""
    for match in list(_CRS.finditer(tail))[: -_TRIED_CRSS - 1 : -1]:
        try:
            value, end = DECODER.raw_decode(tail, match.end())
        except (ValueError, RecursionError):
            continue
        # Inside a feature more brackets would close; a column named crs is common.
        if tail.count("}", end) == 1 and "]" not in tail[end:]:
            return crss.from_geojson(value)
    return None
