"""Numbers of a shapefile's table as they are written. GDAL makes doubles of those that are longer than 18 digits or have a
fraction: 4611686018427387905 comes out as ...904, and nobody is told."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_HEADER, _FIELD = 32, 32
_END_OF_FIELDS = 0x0D
_NUMBERS = (b"N", b"F")
_OF_NUMBERS = np.isin(np.arange(256), list(b"0123456789+-.eE* \0"))
# Of 64-bit integers, sign included: what GDAL itself writes them with.
_INTEGER_WIDTH = 20


@dataclass(frozen=True)
class DbfField:
    offset: int
    width: int
    decimals: int
    is_number: bool

    @property
    def kind(self) -> pa.DataType:
        if self.decimals == 0 and self.width <= _INTEGER_WIDTH:
            return pa.int64()
        precision = min(38, self.width)
        return pa.decimal128(precision, min(self.decimals, precision))


class DbfNumbers:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.fields: list[DbfField] = []
        with path.open("rb") as stream:
            header = stream.read(_HEADER)
            self._start, self._record = struct.unpack_from("<HH", header, 8)
            # The first byte of a record marks deleted ones.
            offset = 1
            # Not beyond the header, however late the sign for its end comes.
            for _ in range((self._start - _HEADER) // _FIELD):
                if len(entry := stream.read(_FIELD)) < _FIELD or entry[0] == _END_OF_FIELDS:
                    break
                width, decimals = entry[16], entry[17]
                is_number = entry[11:12] in _NUMBERS
                # Of text fields, the second byte is a part of the width.
                width += 0 if is_number else decimals << 8
                self.fields.append(DbfField(offset, width, decimals, is_number))
                offset += width
        if offset > self._record:
            # A damaged header: GDAL must say what it makes of it.
            self.fields = []

    def records(self, rows: Sequence[int]) -> npt.NDArray[np.uint8]:
        """The bytes of these rows."""
        first, last = min(rows, default=0), max(rows, default=-1)
        with self._path.open("rb") as stream:
            stream.seek(self._start + first * self._record)
            block = np.frombuffer(stream.read((last - first + 1) * self._record), np.uint8)
        return block.reshape(-1, self._record)[np.asarray(rows, dtype=np.int64) - first]

    def has_other_signs(self, field: DbfField, records: npt.NDArray[np.uint8]) -> bool:
        """Is there anything in the field that no number has? GDAL reads as far as it can: abc is 0, 3,14 is 3."""
        return field.is_number and not _OF_NUMBERS[_cells(field, records)].all()

    def texts(self, field: DbfField, records: npt.NDArray[np.uint8]) -> pa.Array:
        """The field's text in these rows; null where it is blank, or starred out because a number was too long for it."""
        texts = [bytes(cell).decode("latin-1").strip(" \0") for cell in _cells(field, records)]
        return pa.array([text if text.strip("*") else None for text in texts], pa.string())


def _cells(field: DbfField, records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return records[:, field.offset : field.offset + field.width]
