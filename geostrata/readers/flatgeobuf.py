"""FlatGeobuf: how many features are promised, and are they all there?"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile
from geostrata.readers.ogr_plan import OgrPlan, unpacked
from geostrata.readers.spec import SourceSpec

ENDINGS = (".fgb",)
MAGIC = b"fgb\x03fgb"
_MAGIC_BYTES = 8
# Of the header table: where in its vtable the two fields are, and what an index node takes.
_COUNT_SLOT, _NODE_SIZE_SLOT = 4 + 2 * 8, 4 + 2 * 9
_DEFAULT_NODE_SIZE = 16
_NODE_BYTES = 40
# A flatbuffer without a field: where its table is, and the table. A file of zeros would be all features of none.
_SMALLEST_FEATURE = 8


def prepare(file: LandedFile, spec: SourceSpec, folder: Path) -> OgrPlan:
    path = unpacked(file, ENDINGS, folder, spec.limits)
    size = path.stat().st_size
    with path.open("rb") as stream:
        magic = stream.read(_MAGIC_BYTES)
        if not magic.startswith(MAGIC) and not (len(magic) < _MAGIC_BYTES and MAGIC.startswith(magic)):
            raise Refused(file.path, "it does not begin as FlatGeobuf does; check the source's format")
        length = stream.read(4)
        # Compared first: Python would make room for the four gigabytes that a header may claim.
        if len(length) < 4 or int.from_bytes(length, "little") > size - _MAGIC_BYTES - 4:
            raise _cut(file.path)
        header = stream.read(int.from_bytes(length, "little"))
        try:
            count, node_size = _facts(header)
        except (struct.error, IndexError):
            raise Refused(file.path, "its FlatGeobuf header is damaged; deliver it again") from None
        start = _MAGIC_BYTES + 4 + len(header) + _index_bytes(count, node_size)
        if start > size:
            raise _cut(file.path)
        features = _count_features(file.path, stream, start, size)
    if features is None or (count and features < count):
        raise _cut(file.path)
    return OgrPlan(str(path), features=count or features)


def _cut(path: str) -> HalfWritten:
    return HalfWritten(path, "the FlatGeobuf ends before its last feature does; left for the next run")


def _facts(header: bytes) -> tuple[int, int]:
    """Feature count (0: not known) and index node size (0: no index) out of the flatbuffer."""
    (table,) = struct.unpack_from("<I", header, 0)
    (back,) = struct.unpack_from("<i", header, table)
    vtable = table - back
    if vtable < 0:
        raise IndexError
    (vtable_bytes,) = struct.unpack_from("<H", header, vtable)

    def slot(at: int) -> int:
        return int(struct.unpack_from("<H", header, vtable + at)[0]) if at < vtable_bytes else 0

    count_at, node_at = slot(_COUNT_SLOT), slot(_NODE_SIZE_SLOT)
    count = struct.unpack_from("<Q", header, table + count_at)[0] if count_at else 0
    node_size = struct.unpack_from("<H", header, table + node_at)[0] if node_at else _DEFAULT_NODE_SIZE
    return count, node_size


def _index_bytes(count: int, node_size: int) -> int:
    if not count or node_size < 2:
        return 0
    nodes, level = count, count
    while level > 1:
        level = -(-level // node_size)
        nodes += level
    return nodes * _NODE_BYTES


def _count_features(path: str, stream: BinaryIO, start: int, size: int) -> int | None:
    """Each feature is preceded by its length: a walk of one short read a feature. None if the last one is cut."""
    stream.seek(start)
    at, count = start, 0
    while at < size:
        length = stream.read(4)
        if len(length) < 4:
            return None
        step = int.from_bytes(length, "little")
        if step < _SMALLEST_FEATURE:
            raise Refused(path, f"feature {count + 1} of the FlatGeobuf is damaged; deliver it again")
        at += 4 + step
        stream.seek(step, 1)
        count += 1
    return count if at == size else None
