"""A GeoJSON object as a record: a feature, or a geometry alone."""

from __future__ import annotations

from typing import Any

from geostrata.readers.json_values import Members, free_name, members
from geostrata.readers.rows import Record

GEOMETRY_TYPES = frozenset(
    ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")
)


def is_geometry_type(kind: Any) -> bool:
    # Anything may stand there: only text can be looked up.
    return isinstance(kind, str) and kind in GEOMETRY_TYPES


def feature_record(
    position: str, found: list[tuple[str, Any]], text: str, geometry_column: str, chars: int
) -> Record:
    """`found` are the members of the object, `text` is its own text. An object that is no feature is a corrupt record."""
    parts = dict(found) if len(found) < 4 else dict(members(found))
    kind = parts.pop("type", None)
    if is_geometry_type(kind):
        return Record(position, (geometry_column,), [text], chars=chars)
    if kind != "Feature" and not ("geometry" in parts or "properties" in parts):
        return Record(position, corrupt=text, chars=chars)
    names, values = [geometry_column], [parts.pop("geometry", None)]
    properties = parts.pop("properties", None)
    if isinstance(properties, Members):
        own = {name for name, _ in properties}
        for name, value in properties:
            names.append(name if name != geometry_column else free_name(f"properties.{name}", own))
            values.append(value)
    elif properties is not None:
        parts["properties"] = properties
    if kind not in ("Feature", None):
        parts["type"] = kind
    return Record(position, (*names, *parts), [*values, *parts.values()], chars=chars, members=len(parts))
