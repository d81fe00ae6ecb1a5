"""Readers of landed spatial files: streamed, bounded in memory, and never stopped by a bad row.

A row carries the declared columns, where it stood in the file, the CRS that the file declares, its text if it could not
be read, and what did not fit the declared columns. Geometry stays as delivered: nothing is parsed or repaired here.
"""

from geostrata.readers.errors import HalfWritten, ReaderError, Refused
from geostrata.readers.files import LandedFile, landed, open_file
from geostrata.readers.inspecting import SourceFacts, inspect
from geostrata.readers.reading import check, read
from geostrata.readers.rows import output_schema
from geostrata.readers.spec import SourceSpec

__all__ = [
    "HalfWritten",
    "LandedFile",
    "ReaderError",
    "Refused",
    "SourceFacts",
    "SourceSpec",
    "check",
    "inspect",
    "landed",
    "open_file",
    "output_schema",
    "read",
]
