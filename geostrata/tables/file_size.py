"""How large a table's files should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.tables.units import parse_size

# As the layout hook has it: a small table has some files to choose from, a large one is not cut to pieces.
_FILES_WANTED = 64
_LEAST, _MOST = 4 << 20, 256 << 20
# Under this part of the target a file is small.
SMALL = 0.5


def target_size(layout: Mapping[str, Any] | None, properties: Mapping[str, str], table_bytes: int) -> int:
    """What the model's layout says, else the table's own property, else a 64th of the table within 4 and 256 MB."""
    for text in ((layout or {}).get("target_file_size"), properties.get("delta.targetFileSize")):
        if text is not None and str(text) != "auto":
            try:
                return parse_size(text)
            except ValueError as error:
                raise GeostrataError(f"target_file_size: {error}") from error
    return min(_MOST, max(_LEAST, table_bytes // _FILES_WANTED))
