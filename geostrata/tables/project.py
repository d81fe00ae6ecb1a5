"""Which tables the project has: dbt's manifest says so, and the warehouse holds them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geostrata import settings
from geostrata.errors import GeostrataError
from geostrata.layout.declared import names
from geostrata.tables.state import is_table

_TABLES = {"table", "incremental", "seed", "snapshot"}


@dataclass(frozen=True)
class ProjectTable:
    # schema.table, as SQL calls it.
    name: str
    uri: str
    # The schema is the layer.
    layer: str = ""
    model: str = ""
    tags: frozenset[str] = frozenset()
    layout: Mapping[str, Any] | None = field(default=None, hash=False)
    # `layout: none` leaves the files as they were written.
    is_kept: bool = True
    # A stream reads it: what it needs must be kept for longer.
    streamed: bool = False

    @property
    def order(self) -> tuple[str, ...]:
        """The columns in whose order its files should be."""
        layout = self.layout or {}
        return names(layout.get("zorder")) or names(layout.get("cluster_by"))


def manifest_path() -> Path:
    return settings.project_dir() / "target" / "manifest.json"


def all_tables() -> list[ProjectTable]:
    """Every table that the manifest knows and that has been built, by name."""
    return [table for table in declared_tables() if is_table(Path(table.uri))]


def declared_tables() -> list[ProjectTable]:
    """Every table that the manifest knows, built or not, by name."""
    path = manifest_path()
    if not path.is_file():
        raise GeostrataError(f"{path} is not there, so that nobody knows the tables: run `dbt parse` first")
    nodes = json.loads(path.read_text())["nodes"].values()
    found = [_table(node) for node in nodes if node["config"].get("materialized") in _TABLES]
    return sorted(found, key=lambda table: table.name)


def find(wanted: list[str]) -> list[ProjectTable]:
    """Tables by name (parcels, silver.parcels), by layer (silver), or by path; all of the project's if none is named."""
    if not wanted:
        return all_tables()
    if all(_is_path(name) for name in wanted):
        return [_by_path(name) for name in wanted]
    known = all_tables()
    found: dict[str, ProjectTable] = {}
    for name in wanted:
        chosen = [_by_path(name)] if _is_path(name) else _by_name(known, name)
        found |= {table.uri: table for table in chosen}
    return list(found.values())


def path_of(schema: str, table: str) -> Path:
    return settings.warehouse_dir() / f"{schema}.db" / table


def _table(node: Mapping[str, Any]) -> ProjectTable:
    config = node["config"]
    meta = config.get("meta") or {}
    layout = config.get("layout")
    return ProjectTable(
        name=f"{node['schema']}.{node['alias']}",
        uri=str(path_of(node["schema"], node["alias"])),
        layer=node["schema"],
        model=node["name"],
        tags=frozenset(node.get("tags") or ()),
        layout=layout if isinstance(layout, dict) else None,
        is_kept=not (isinstance(layout, str) and layout.lower() == "none"),
        streamed=bool(meta.get("streamed")),
    )


def _by_name(known: list[ProjectTable], name: str) -> list[ProjectTable]:
    chosen = [table for table in known if name in (table.name, table.model, table.layer)]
    if chosen:
        return chosen
    choices = [choice for table in known for choice in (table.name, table.model)]
    near = difflib.get_close_matches(name, choices, n=1)
    hint = (
        f"did you mean {near[0]}?" if near else "name a table, a layer (silver) or the path of a Delta table"
    )
    raise GeostrataError(f"{name}: no such table among the {len(known)} that are built; {hint}")


def _is_path(name: str) -> bool:
    return "/" in name or name in (".", "..")


def _by_path(name: str) -> ProjectTable:
    """A table of the project keeps what the project knows of it."""
    if "://" not in name and not is_table(Path(name)):
        raise GeostrataError(f"{name}: no Delta table is here (no _delta_log)")
    if "://" not in name and manifest_path_or_none():
        same = [table for table in all_tables() if Path(table.uri).resolve() == Path(name).resolve()]
        if same:
            return same[0]
    return ProjectTable(name=name.rstrip("/"), uri=name)


def manifest_path_or_none() -> Path | None:
    """Paths are audited outside a project as well."""
    try:
        path = manifest_path()
    except GeostrataError:
        return None
    return path if path.is_file() else None
