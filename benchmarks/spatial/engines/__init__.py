"""One module an engine, each imported in a process of its own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.spatial.cases import Case
from benchmarks.spatial.data import Data
from benchmarks.spatial.engines.base import Engine

_CLASSES = {
    "geostrata": "geostrata:Geostrata",
    "duckdb": "duck:Duck",
    "sedonadb": "sedonadb:SedonaDB",
    "geopandas": "geopandas:GeoPandas",
    "postgis": "postgis:PostGIS",
    "sedona-naive": "sedona_naive:SedonaNaive",
}


def create(name: str, case: Case, data: Data, scratch: Path) -> Engine:
    module, class_name = _CLASSES[name].split(":")
    engine: type[Engine] = getattr(import_module(f"{__name__}.{module}"), class_name)
    return engine(case, data, scratch)
