"""The numbers that bound memory, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # Enough rows to make Arrow's cost a row vanish, few enough that a batch of ordinary parcels is some MB.
    batch_rows: int = 4096
    # Large polygons reach this long before the rows do.
    batch_bytes: int = 16 << 20
    # GDAL counts features, not bytes: fewer of them, because it can't be told to stop at a size.
    ogr_batch_rows: int = 1024
    # Read at once from a stream. From 64 kB on, larger pieces gained nothing.
    chunk_bytes: int = 256 << 10
    # One record. The largest real features (coastlines, catchments) are some tens of MB of text.
    record_chars: int = 256 << 20
    # An opening quote that is not closed within this is a stray one: the line is corrupt, the next line starts anew.
    quoted_lines: int = 1000
    quoted_chars: int = 16 << 20
    # A line over `record_chars` is not kept whole: this much of it tells which one it is.
    excerpt_chars: int = 1000
    # Where a member behind the features (an old `crs`) is looked for.
    tail_bytes: int = 64 << 10
    sample_records: int = 10_000
    sample_files: int = 5
    # The sample of text formats ends here at the latest, however few records that is.
    sample_bytes: int = 32 << 20


LIMITS = Limits()
