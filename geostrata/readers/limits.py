"""The numbers that bound memory, disk and time, in one place: those of a file, which a source may set, and our own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from geostrata.errors import GeostrataError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]*)", re.IGNORECASE)


def bytes_of(value: Any) -> int | None:
    """A size such as 500000 or 2 GB; None for anything else, and for nothing."""
    match = _SIZE.fullmatch(str(value).strip())
    if match is None or match[2].lower() not in _UNITS or isinstance(value, bool):
        return None
    return int(float(match[1]) * _UNITS[match[2].lower()]) or None


@dataclass(frozen=True)
class FileLimits:
    """What one file may cost. Beyond a limit the file is refused, or only the record where that is said; other files go on.

    Documented in docs/security.md. The defaults are far beyond any file that was delivered in earnest.
    """

    # Of a gzip, of all members of a zip, and of the pages of a Parquet file.
    unpacked_bytes: int = 50 * 10**9
    # How many times its own size a file may unpack to, or become as rows; counted from `LIMITS.ratio_from_bytes` on.
    # Text and tables pack to between a half and a thirtieth.
    unpacked_ratio: int = 200
    rows: int = 200_000_000
    # Also of a record that names its own fields, which is corrupt beyond.
    columns: int = 2_000
    # Characters of text, bytes of anything else. Of csv, jsonl and geojsonl the record is corrupt, of other formats the file is refused.
    # The largest real features (coastlines, catchments) are some tens of MB.
    record_bytes: int = 32 << 20
    # Of one geometry; the record is corrupt.
    vertices: int = 2_000_000
    # Rows are held back until the file's end was seen: from 32 MB on, on the worker's disk.
    spool_bytes: int = 50 * 10**9
    # Of the process that reads the file, beyond what it had when it started.
    memory_bytes: int = 3 << 30
    # And `LIMITS.slowest_bytes_a_second` on top for a large file.
    deadline_s: int = 300

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> FileLimits:
        """From a source's `external.limits`."""
        if not isinstance(given, Mapping | None):
            raise GeostrataError(f"source: limits must be a mapping of names to numbers, got {given!r}")
        names = [field.name for field in fields(cls)]
        found: dict[str, int] = {}
        for name, value in (given or {}).items():
            if name not in names:
                near = difflib.get_close_matches(str(name), names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
                raise GeostrataError(f"source: limits.{name} is unknown: {hint}")
            number = bytes_of(value) if name.endswith("_bytes") else _whole(value)
            if number is None:
                wanted = (
                    "a size such as 500000 or 2 GB" if name.endswith("_bytes") else "a whole number over 0"
                )
                raise GeostrataError(f"source: limits.{name} must be {wanted}, got {value!r}")
            found[name] = number
        return cls(**found)

    def seconds_for(self, size: int) -> float:
        return self.deadline_s + size / LIMITS.slowest_bytes_a_second


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def beyond(name: str, what: str) -> str:
    """Why a file or record was refused: what it has, and the limit that a person may raise."""
    return f"{what}; if it is right, raise limits.{name} of the source"


@dataclass(frozen=True)
class Limits:
    """Ours: no file needs others."""

    # Enough rows to make Arrow's cost a row vanish, few enough that a batch of ordinary parcels is some MB.
    batch_rows: int = 4096
    # Large polygons reach this long before the rows do.
    batch_bytes: int = 16 << 20
    # GDAL counts features, not bytes: fewer of them, because it can't be told to stop at a size.
    ogr_batch_rows: int = 1024
    # Read at once from a stream. From 64 kB on, larger pieces gained nothing.
    chunk_bytes: int = 256 << 10
    # An opening quote that is not closed within this is a stray one: the line is corrupt, the next line starts anew.
    quoted_lines: int = 1000
    quoted_chars: int = 16 << 20
    # A line over the record limit is not kept whole: this much of it tells which one it is.
    excerpt_chars: int = 1000
    # Where a member behind the features (an old `crs`) is looked for.
    tail_bytes: int = 64 << 10
    # The text of a CRS, which every row carries. PROJJSON of a compound CRS with all its parts has half of it.
    crs_chars: int = 16 << 10
    # Below this much, nobody minds how well a file was packed.
    ratio_from_bytes: int = 256 << 20
    # Readers make some MB a second on one core; a crowded machine a tenth of that.
    slowest_bytes_a_second: int = 100_000
    # Tables that a GeoPackage lists.
    layers: int = 10_000
    sample_records: int = 10_000
    sample_files: int = 5
    # The sample of text formats ends here at the latest, however few records that is.
    sample_bytes: int = 32 << 20


LIMITS = Limits()
