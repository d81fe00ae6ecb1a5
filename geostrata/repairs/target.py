"""The table that is to be mended, and what the project knows of it: its key, and who reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.tables import project
from geostrata.tables.project import ProjectTable
from geostrata.tables.state import is_table


@dataclass(frozen=True)
class Target:
    table: ProjectTable
    # By which rows are told apart; none where nobody knows.
    keys: tuple[str, ...] = ()
    # Models that are built from it, and those of them that add to what they have, whatever becomes of it here.
    readers: tuple[str, ...] = ()
    appending: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def path(self) -> str:
        """As Spark needs it: whole."""
        uri = self.table.uri
        return uri if "://" in uri else str(Path(uri).resolve())

    @property
    def is_in_catalog(self) -> bool:
        """Known to SQL by schema and name, not by path only."""
        return bool(self.table.layer)

    def at(self, version: int | None = None) -> str:
        return relation(self.path, version)


def relation(path: str, version: int | None = None) -> str:
    """A table by path, for SQL: no metastore is asked."""
    quoted = path.replace("`", "``")
    return f"delta.`{quoted}`" + ("" if version is None else f" version as of {version}")


def find(name: str, keys: str | None = None) -> Target:
    """By name (parcels, silver.parcels), by path, or a backup that only the warehouse knows (silver.parcels_version_3)."""
    table = _backup(name) or _one(name)
    node_id, node = _node(table.name)
    declared = (node.get("config") or {}).get("unique_key") or ()
    known = (declared,) if isinstance(declared, str) else tuple(declared)
    given = tuple(part.strip() for part in keys.split(",") if part.strip()) if keys else ()
    readers = _readers(node_id)
    appending = tuple(node["name"] for node in readers if _appends(node.get("config") or {}))
    return Target(table, given or known, tuple(node["name"] for node in readers), appending)


def _one(name: str) -> ProjectTable:
    found = project.find([name])
    if len(found) > 1:
        choices = ", ".join(table.name for table in found[:4])
        raise GeostrataError(f"{name} is {len(found)} tables ({choices}): name one, such as {found[0].name}")
    return found[0]


def _backup(name: str) -> ProjectTable | None:
    """A table in the warehouse that is no model's."""
    if "/" in name or name.count(".") != 1:
        return None
    schema, table = name.split(".")
    path = project.path_of(schema, table)
    if not is_table(path) or _node(name)[0]:
        return None
    return ProjectTable(name, str(path), layer=schema)


def _nodes() -> Mapping[str, Mapping[str, Any]]:
    path = project.manifest_path_or_none()
    nodes: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text())["nodes"] if path else {}
    return nodes


def _node(name: str) -> tuple[str, Mapping[str, Any]]:
    for node_id, node in _nodes().items():
        if f"{node.get('schema')}.{node.get('alias')}" == name:
            return node_id, node
    return "", {}


def _readers(node_id: str) -> list[Mapping[str, Any]]:
    if not node_id:
        return []
    readers = [
        node
        for node in _nodes().values()
        if node.get("resource_type") in ("model", "snapshot")
        and node_id in (node.get("depends_on") or {}).get("nodes", ())
    ]
    return sorted(readers, key=lambda node: str(node["name"]))


def _appends(config: Mapping[str, Any]) -> bool:
    return config.get("materialized") == "incremental" and config.get("incremental_strategy") in (
        None,
        "append",
    )
