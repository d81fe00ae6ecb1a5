"""Every format, sound and malformed, through the whole pipeline."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely
from lakehouse import Lakehouse
from project_files import FORMATS
from pyogrio.raw import write
from test_arrivals import balanced

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "formats"))
from malformed_corpus import write_corpus

# Where to draw places from, in degrees: west, south, east, north.
CRSS = {
    "EPSG:4326": (-179, -89, 179, 89),
    "OGC:CRS84": (-179, -89, 179, 89),
    "EPSG:3857": (-179, -84, 179, 84),
    "EPSG:32633": (12.5, 1, 17.5, 80),
    "EPSG:2056": (6.2, 46, 10.2, 47.6),
    "EPSG:27700": (-6, 50.5, 1, 58),
    "EPSG:3035": (-8, 36, 30, 68),
    # North comes first by the authority's word, and never in a file.
    "EPSG:2193": (168, -46, 177, -36),
    "EPSG:4258": (-8, 36, 30, 68),
}
ROWS = 20


@pytest.fixture(autouse=True)
def empty(lakehouse: Lakehouse) -> None:
    lakehouse.forget("things")


def test_malformed_geometries_and_lines_fail_nothing_and_are_all_found(lakehouse: Lakehouse) -> None:
    corpus = write_corpus(
        lakehouse.landing / "things", seed=4, rows=int(os.environ.get("MALFORMED", "20000"))
    )
    lakehouse.land("things")
    landed: dict[str, int] = {}
    for name in FORMATS:
        for row in lakehouse.rows(f"bronze.raw_things_{name}"):
            landed[row["_source_file"]] = landed.get(row["_source_file"], 0) + 1
            assert row["_file_problem"] is None
    assert landed == {str(file.path): file.rows for file in corpus.files}
    account = balanced(lakehouse, "things")
    assert account["landed"] == corpus.rows
    silent = [
        row
        for row in lakehouse.rows("silver.things_checked")
        if row["failed_expectations"] and not (row["explanation"] and row["_source_position"])
    ]
    assert silent == []
    for row in lakehouse.rows("silver.things"):
        assert shapely.from_wkb(row["geometry"]).is_valid


def test_every_format_and_crs_comes_out_as_pyproj_says(lakehouse: Lakehouse) -> None:
    chance = np.random.default_rng(11)
    expected: dict[str, Any] = {}
    for name in FORMATS:
        for crs in CRSS:
            shapes = _shapes(chance, crs)
            ids = [f"{name} {crs} {number}" for number in range(len(shapes))]
            _write(lakehouse.landing / "things" / name, name, crs, ids, shapes)
            back = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
            for key, shape in zip(ids, shapes, strict=True):
                expected[key] = shapely.transform(
                    shape, lambda xy, to=back: np.column_stack(to.transform(*xy.T))
                )
    lakehouse.land("things")
    found = {row["thing_id"]: row for row in lakehouse.rows("silver.things")}
    refused = {row["entity_key"]: row["explanation"] for row in lakehouse.quarantine("things")}
    assert refused == {}
    assert found.keys() == expected.keys()
    for key, row in found.items():
        ours, theirs = shapely.from_wkb(row["geometry"]), expected[key]
        assert ours.geom_type == theirs.geom_type or row["_source_file"].endswith(".shp")
        difference = np.abs(_sorted(ours) - _sorted(theirs)).max()
        assert difference < 1e-9, (key, difference)
        # A shapefile's words for OGC:CRS84 have no short name.
        has_name = not key.startswith("shapefile OGC:CRS84")
        assert row["source_crs"] in (key.split()[1], "EPSG:4326") or not has_name
    cells = lakehouse.query(
        "select h3, st_x(place) as lon, st_y(place) as lat from ("
        "select h3, st_pointonsurface(st_geomfromwkb(geometry)) as place from {{ ref('things') }})"
    )
    assert len(cells) == len(expected)
    for row in cells:
        cell = h3.str_to_int(h3.latlng_to_cell(float(row["lat"]), float(row["lon"]), 9))
        assert int(row["h3"]) == cell
    balanced(lakehouse, "things")


def _sorted(shape: Any) -> Any:
    """Coordinates in an order of their own: a shapefile turns rings round."""
    xy = shapely.get_coordinates(shape)
    return xy[np.lexsort(np.round(xy, 7).T)]


def _shapes(chance: np.random.Generator, crs: str) -> list[Any]:
    """Small triangles with a corner each somewhere in the CRS's area, in its own coordinates."""
    west, south, east, north = CRSS[crs]
    places = np.column_stack([chance.uniform(west, east, ROWS), chance.uniform(south, north, ROWS)])
    to = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    corners = places[:, None, :] + np.array([[0, 0], [0.01, 0], [0, 0.01]])
    return [shapely.Polygon(np.column_stack(to.transform(*triangle.T))) for triangle in corners]


def _write(folder: Path, name: str, crs: str, ids: list[str], shapes: list[Any]) -> None:
    stem = folder / f"sound_{crs.replace(':', '_')}"
    wkb = shapely.to_wkb(np.array(shapes))
    if name == "csv":
        lines = [
            f'{key},,,,{crs},"{shapely.to_wkt(shape, -1)}"\n' for key, shape in zip(ids, shapes, strict=True)
        ]
        stem.with_suffix(".csv").write_text("thing_id,name,amount,seen_at,crs,geometry\n" + "".join(lines))
    elif name == "jsonl":
        hexes = shapely.to_wkb(np.array(shapes), hex=True, byte_order=0)
        lines = [
            f'{{"thing_id":"{key}","crs":"{crs}","geometry":"{text}"}}\n'
            for key, text in zip(ids, hexes, strict=True)
        ]
        stem.with_suffix(".jsonl").write_text("".join(lines))
    elif name in ("geojson", "geojsonl"):
        features = [
            f'{{"type":"Feature","properties":{{"thing_id":"{key}","crs":"{crs}"}},"geometry":{shapely.to_geojson(shape)}}}'
            for key, shape in zip(ids, shapes, strict=True)
        ]
        text = "\n".join(features)
        if name == "geojson":
            text = '{"type":"FeatureCollection","features":[' + ",\n".join(features) + "]}"
        stem.with_suffix(f".{name}").write_text(text)
    elif name in ("parquet", "geoparquet"):
        table = pa.table({"thing_id": ids, "geometry": list(wkb)})
        if name == "parquet":
            table = table.append_column("crs", pa.array([crs] * len(ids)))
        else:
            geo = {
                "version": "1.1.0",
                "primary_column": "geometry",
                "columns": {
                    "geometry": {
                        "encoding": "WKB",
                        "geometry_types": ["Polygon"],
                        "crs": pyproj.CRS(crs).to_json_dict(),
                    }
                },
            }
            import json

            table = table.replace_schema_metadata({"geo": json.dumps(geo)})
        pq.write_table(table, stem.with_suffix(".parquet"))
    else:
        driver, ending = {
            "shapefile": ("ESRI Shapefile", ".shp"),
            "geopackage": ("GPKG", ".gpkg"),
            "flatgeobuf": ("FlatGeobuf", ".fgb"),
        }[name]
        write(
            stem.with_suffix(ending),
            np.array(wkb, dtype=object),
            field_data=[np.array(ids, dtype=object)],
            fields=np.array(["thing_id"]),
            geometry_type="Polygon",
            crs=crs,
            driver=driver,
        )


def test_shapes_over_180_degrees_are_cut_or_put_aside(lakehouse: Lakehouse) -> None:
    x, y = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32760", always_xy=True).transform(180, -17)
    parcel = shapely.box(x - 200, y - 200, x + 200, y + 200)
    places = {
        "parcel": (parcel, "EPSG:32760"),
        "track": (shapely.LineString([(x - 900, y), (x + 900, y + 100)]), "EPSG:32760"),
        "band": (shapely.box(-179.9, -17.1, 179.9, -16.9), "EPSG:4326"),
        "greenwich": (shapely.box(-0.1, -17.1, 0.1, -16.9), "EPSG:4326"),
    }
    lines = [f'{name},,1,2026-01-01T00:00:00Z,{crs},"{shape.wkt}"' for name, (shape, crs) in places.items()]
    path = lakehouse.landing / "things/csv/pacific.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["thing_id,name,amount,seen_at,crs,geometry", *lines]) + "\n")
    lakehouse.land("things")

    assert {row["entity_key"]: row["reasons"] for row in lakehouse.quarantine("things")} == {
        "band": ["antimeridian_clear"]
    }
    rows = {row["thing_id"]: row for row in lakehouse.rows("silver.things")}
    assert rows.keys() == {"parcel", "track", "greenwich"}
    for name, kind in (("parcel", "MultiPolygon"), ("track", "MultiLineString")):
        shape = shapely.from_wkb(rows[name]["geometry"])
        assert (shape.geom_type, shape.is_valid, len(shape.geoms)) == (kind, True, 2)
        assert (rows[name]["bbox"]["xmin"], rows[name]["bbox"]["xmax"]) == (-180, 180)
        latitude, longitude = h3.cell_to_latlng(h3.int_to_str(rows[name]["h3"]))
        assert abs(longitude) > 179.9
        assert abs(latitude + 17) < 0.05
    balanced(lakehouse, "things")

    def found_in(west: float, east: float) -> set[str]:
        window = f"within_window(ref('things'), bbox=[{west}, -18, {east}, -16])"
        return {row["thing_id"] for row in lakehouse.query(f"select thing_id from {{{{ {window} }}}}")}

    # What lies at 180 degrees is seen from both sides, and not at 0, which a band around the world would cross.
    assert found_in(179, 180) == found_in(-180, -179) == found_in(179, -179) == {"parcel", "track"}
    assert found_in(-1, 1) == {"greenwich"}
    sides = "ref('things'), ref('things'), left_columns=['thing_id'], right_columns={'thing_id': 'other_id'}"
    pairs = lakehouse.query(f"select * from {{{{ spatial_join({sides}) }}}} where thing_id <> other_id")
    assert sorted((row["thing_id"], row["other_id"]) for row in pairs) == [
        ("parcel", "track"),
        ("track", "parcel"),
    ]
    (area,) = lakehouse.query(
        "select st_areaspheroid(st_geomfromwkb(geometry)) as area_m2"
        " from {{ ref('things') }} where thing_id = 'parcel'"
    )
    assert float(area["area_m2"]) == pytest.approx(parcel.area, rel=3e-3)
