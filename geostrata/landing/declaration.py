"""A source as its YAML declares it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.readers import SourceSpec
from geostrata.readers.limits import FileLimits, bytes_of

_KEYS = (
    "location",
    "file_format",
    "options",
    "schema_policy",
    "pattern",
    "max_files",
    "max_bytes",
    "limits",
)


@dataclass(frozen=True)
class Declaration:
    name: str
    location: str
    spec: SourceSpec
    # Which files of the folder belong to the source, as a shell pattern on the path below it. All by default.
    pattern: str | None = None
    # A run loads at most so much and leaves the rest to the next one. No limit by default.
    max_files: int | None = None
    max_bytes: int | None = None

    @classmethod
    def of(cls, name: str, location: str, external: dict[str, Any], columns: dict[str, str]) -> Declaration:
        """From a source's `external:` block; a mistake in it is told by its name."""
        for key in external:
            if key not in _KEYS:
                near = difflib.get_close_matches(key, _KEYS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_KEYS)}"
                raise GeostrataError(f"source {name}: external.{key} is unknown: {hint}")
        options = external.get("options") or {}
        try:
            spec = SourceSpec(
                external.get("file_format") or "",
                columns,
                {str(key): str(value) for key, value in options.items()},
                external.get("schema_policy") or "rescue",
                limits=FileLimits.of(external.get("limits")),
            )
        except GeostrataError as error:
            raise GeostrataError(str(error).replace("source:", f"source {name}:", 1)) from None
        return cls(
            name,
            location,
            spec,
            external.get("pattern"),
            _count(name, external.get("max_files")),
            _size(name, external.get("max_bytes")),
        )

    def with_columns(self, columns: dict[str, str]) -> Declaration:
        """The same source with columns that came later: a file may lack them."""
        spec = replace(
            self.spec,
            columns={**self.spec.columns, **columns},
            optional=(*self.spec.optional, *columns),
        )
        return replace(self, spec=spec)


def _count(name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, int) and value > 0):
        return value
    raise GeostrataError(f"source {name}: max_files must be a whole number over 0, got {value!r}")


def _size(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if size := bytes_of(value):
        return size
    raise GeostrataError(f"source {name}: max_bytes must be a size such as 500000 or 2 GB, got {value!r}")
