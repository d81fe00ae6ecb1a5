"""The questions that are asked, and who is asked each."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.spatial.data import Data

ENGINES = ("geostrata", "duckdb", "sedonadb", "geopandas", "postgis", "sedona-naive")
NEIGHBOURS = 5
# In Europe's middle: metres and true angles nearly everywhere in the square (UTM), and true areas anywhere.
METRES, EQUAL_AREA = "EPSG:25832", "EPSG:6933"


@dataclass(frozen=True)
class Case:
    """`kind` says what is asked of the two files: join, nearest, overlay or window (which has no right one)."""

    name: str
    kind: str
    left: str
    right: str = ""
    engines: tuple[str, ...] = ENGINES

    @property
    def right_key(self) -> str:
        return {"facilities": "facility_id"}.get(self.right, f"{self.right[:-1]}_id")

    def rows(self, data: Data) -> int:
        return {
            "queries": data.queries,
            "overlay_parcels": data.parcels_to_overlay,
            "many_parcels": data.many_parcels,
        }.get(self.left, data.points)


CASES = {
    case.name: case
    for case in (
        Case("zones", "join", "points", "zones"),
        # The same with what Geostrata can keep as tables: the build is shown as a row of its own.
        Case("zones-stored", "join", "points", "zones", ("geostrata",)),
        Case("parcels", "join", "points", "parcels"),
        # Who can't do it by parts does it anew.
        Case("parcels-incremental", "join", "changed_points", "parcels", ("geostrata", "duckdb", "sedonadb")),
        Case("window", "window", "points", engines=("geostrata", "duckdb", "sedona-naive")),
        Case("nearest", "nearest", "queries", "facilities"),
        Case("overlay-zones", "overlay", "overlay_parcels", "zones"),
        Case("overlay-areas", "overlay", "many_parcels", "areas"),
    )
}
