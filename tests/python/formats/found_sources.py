"""A dbt project for files that others made: a source for those of a format that name their geometry alike."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from outcomes import Outcome
from project_files import THING_EXPECTATIONS, write_checked, write_entity, write_model, write_yaml

# The shapes of one entity are read from a column, those of the other made of two.
SHAPES, PLACES = "found_shapes", "found_places"
# Of formats that have no place for a CRS, or where longitude and latitude are the rule.
_ASSUMED_CRS = {"csv": "EPSG:4326", "geojson": "EPSG:4326", "geojsonl": "EPSG:4326"}
# Files that we don't read are somebody's mistake in a folder of GeoJSON.
_ODD_ONES = "geojson"


@dataclass(frozen=True)
class Source:
    """`shape`: the column of the geometry, the two of a place, or any one where there is no geometry."""

    format: str
    shape: tuple[str, ...]
    types: tuple[str, ...]
    has_geometry: bool
    layer: str | None

    @property
    def entity(self) -> str:
        return PLACES if len(self.shape) == 2 else SHAPES


def source_of(one: Outcome) -> Source:
    facts = one.facts
    if facts is None:
        kind = "geopackage" if one.path.suffix == ".gpkg" else _ODD_ONES
        column = "binary" if kind == "geopackage" else "string"
        return Source(kind, ("geometry",), (column,), True, None)
    shape = facts.lonlat or (facts.geometry or next(iter(facts.columns), "geometry"),)
    types = ("double", "double") if facts.lonlat else (facts.columns.get(shape[0], "binary"),)
    return Source(facts.format, shape, types, bool(facts.lonlat or facts.geometry), one.layer)


class FoundProject:
    def __init__(self, found: list[Outcome]) -> None:
        sources = sorted({source_of(one) for one in found}, key=repr)
        self.names = {source: f"found_{number:02}_{source.format}" for number, source in enumerate(sources)}
        self.found = found

    @property
    def entities(self) -> dict[str, Any]:
        return {
            entity: {"key": "found_id", "landed": [f"raw_{name}" for name in self._of(entity).values()]}
            for entity in (SHAPES, PLACES)
        }

    def place(self, landing: Path) -> dict[str, Outcome]:
        """Copies every file, with its parts, to where its source looks. Returns them by landed path."""
        placed = {}
        for one in self.found:
            source = self.names[source_of(one)]
            # Names that begin with an underscore or a dot are passed over.
            names = [name.lstrip("_.") for name in PurePosixPath(one.file).parts]
            target = landing.joinpath(source, one.package.replace(" ", "-"), *names)
            target.parent.mkdir(parents=True, exist_ok=True)
            for part in one.path.parent.iterdir():
                if part == one.path or (one.path.suffix == ".shp" and part.stem == one.path.stem):
                    shutil.copy(part, target.with_name(part.name.lstrip("_.")))
            placed[str(target)] = one
        return placed

    def write_models(self, models: Path) -> None:
        tables = [self._table(source, name) for source, name in self.names.items()]
        sources = [{"name": "landing", "schema": "landing", "tables": tables}]
        write_yaml(models / "_sources.yml", {"sources": sources})
        for source, name in self.names.items():
            # Delta takes no blank in a name, and others' columns have some.
            shape = ["`" + column + "`" for column in source.shape]
            columns = (
                [f"{shape[0]} as lon", f"{shape[1]} as lat"]
                if source.entity == PLACES
                else [f"cast({shape[0] if source.has_geometry else 'null'} as binary) as landed_geometry"]
            )
            assumed = _ASSUMED_CRS.get(source.format, "EPSG:4326" if source.entity == PLACES else None)
            crs = f"coalesce(_source_crs, '{assumed}')" if assumed else "_source_crs"
            write_model(
                models / "bronze" / f"raw_{name}.sql",
                f"select {', '.join(columns)}, {crs} as source_crs, {{{{ landed_columns() }}}}\n"
                f"from {{{{ landed_rows('landing', '{name}') }}}}\n",
            )
        for entity in (SHAPES, PLACES):
            self._write_entity(models / "silver", entity)

    def _of(self, entity: str) -> dict[Source, str]:
        return {source: name for source, name in self.names.items() if source.entity == entity}

    def _table(self, source: Source, name: str) -> dict[str, Any]:
        external: dict[str, Any] = {
            "location": "{{ var('landing') }}/" + name,
            "file_format": source.format,
            "schema_policy": "rescue",
        }
        if source.layer is not None:
            external["options"] = {"layer": source.layer}
        return {
            "name": name,
            "external": external,
            "columns": [
                {"name": column, "data_type": kind}
                for column, kind in zip(source.shape, source.types, strict=True)
            ],
        }

    def _write_entity(self, silver: Path, entity: str) -> None:
        shape = ["lon", "lat"] if entity == PLACES else ["landed_geometry"]
        columns = ["concat(_source_file, '#', _source_row) as found_id", "source_crs", *shape]
        raws = [f"raw_{name}" for name in self._of(entity).values()]
        rest = ["source_crs", "false as is_deleted", "_source_mtime as updated_at"]
        write_checked(silver, entity, raws, columns, ["found_id", *rest], from_lonlat=entity == PLACES)
        write_entity(silver, entity, "found_id", ["found_id", "source_crs"])
        meta = {"meta": {"key": "found_id", "expectations": THING_EXPECTATIONS}}
        write_yaml(silver / f"_{entity}.yml", {"models": [{"name": f"{entity}_checked", "config": meta}]})
