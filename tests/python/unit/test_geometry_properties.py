"""Whatever lands: an answer for every row, the same alone as in a batch, and true to what it says."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from geostrata.geometry import examine, examine_points
from geostrata.geometry.parsing import MAX_DEPTH
from geostrata.geometry.wkb import is_too_deep

pytestmark = pytest.mark.filterwarnings("error")

# The first example builds CRSs and imports half of pandas: slow, and no sign of trouble.
quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

CRSS = [
    None,
    "",
    "EPSG:4326",
    "EPSG:3857",
    "EPSG:32633",
    "EPSG:2056",
    "EPSG:3413",
    "EPSG:999999",
    "+proj=utm +zone=33",
    "OGC:CRS84",
]
# 9 decimals and no negative zero: GEOS writes these as text in full.
degrees = st.tuples(
    st.floats(-180, 180).map(lambda value: round(value, 9) + 0.0),
    st.floats(-90, 90).map(lambda value: round(value, 9) + 0.0),
)


def _geometries(dimensions: str) -> st.SearchStrategy[Any]:
    """Any simple or nested geometry in degrees, valid or not, as WKT: shapely's constructors know no M."""
    extra = {"": 0, "Z": 1, "M": 1, "ZM": 2}[dimensions]
    position = st.tuples(degrees, st.lists(st.floats(-1e6, 1e6), min_size=extra, max_size=extra)).map(
        lambda parts: " ".join(repr(value) for value in (*parts[0], *parts[1]))
    )

    def text(kind: str, body: str) -> str:
        return f"{kind} {dimensions} {body}"

    def listed(items: st.SearchStrategy[str], low: int, high: int) -> st.SearchStrategy[str]:
        return st.lists(items, min_size=low, max_size=high).map(lambda found: f"({', '.join(found)})")

    ring = st.lists(position, min_size=3, max_size=7).map(lambda found: f"({', '.join([*found, found[0]])})")
    point = position.map("({})".format)
    line, polygon = listed(position, 2, 6), listed(ring, 1, 2)
    bodies = {
        "POINT": point,
        "LINESTRING": line,
        "POLYGON": polygon,
        "MULTIPOINT": listed(point, 1, 4),
        "MULTILINESTRING": listed(line, 1, 3),
        "MULTIPOLYGON": listed(polygon, 1, 3),
    }
    simple = st.one_of(
        [body.map(lambda found, kind=kind: text(kind, found)) for kind, body in bodies.items()]
    )
    nested = st.recursive(
        simple,
        lambda inner: listed(inner, 1, 3).map(lambda found: text("GEOMETRYCOLLECTION", found)),
        max_leaves=5,
    )
    # Not inside collections: GEOS writes an empty part without its Z, and doesn't read that itself.
    empty = st.sampled_from([*bodies, "GEOMETRYCOLLECTION"]).map(lambda kind: text(kind, "EMPTY"))
    return st.one_of(nested, empty).map(shapely.from_wkt)


geometries = st.sampled_from(["", "Z", "M", "ZM"]).flatmap(_geometries)


def geopackage(body: bytes) -> bytes:
    return b"GP" + struct.pack("<BBi", 0, 1, 4326) + body


def encodings(geometry: Any) -> list[bytes]:
    plain = shapely.to_wkb(geometry, flavor="iso")
    return [
        plain,
        shapely.to_wkb(geometry, flavor="iso", byte_order=0),
        shapely.to_wkb(shapely.set_srid(geometry, 4326), flavor="extended", include_srid=True),
        plain.hex().encode(),
        geopackage(plain),
        shapely.to_wkt(geometry, rounding_precision=-1).encode(),
        b"SRID=4326;" + shapely.to_wkt(geometry, rounding_precision=-1).encode(),
        shapely.to_geojson(shapely.force_2d(geometry)).encode(),
    ]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sound value of any encoding with some bytes changed, cut, doubled or put in."""
    value = bytearray(draw(st.sampled_from(encodings(draw(geometries)))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(value)))
        match draw(st.integers(0, 4)):
            case 0:
                value[at : at + 1] = draw(st.binary(max_size=2))
            case 1:
                del value[at:]
            case 2:
                del value[at : at + draw(st.integers(1, 8))]
            case 3:
                value[at:at] = value[: draw(st.integers(0, 40))]
            case _:
                value[at:at] = draw(
                    st.sampled_from([b"\xff", b"\0", b"(", b"}", b"nan", b"1e999", b"\x7f\xf0", b"EMPTY"])
                )
    return bytes(value)


values = st.one_of(st.none(), st.binary(max_size=60), st.text(max_size=20).map(str.encode), mutated())
rows = st.lists(st.tuples(values, st.sampled_from(CRSS)), min_size=1, max_size=8)


def check(frame: pd.DataFrame, given_values: list[bytes | None]) -> None:
    """What must hold between the columns, whatever came."""
    assert len(frame) == len(given_values)
    for row, value in enumerate(given_values):
        found = {name: None if pd.isna(frame[name][row]) else frame[name][row] for name in frame}
        assert found["has_geometry"] == (value is not None) == (found["excerpt"] is not None)
        for name in ("problem", "excerpt", "crs"):
            assert found[name] is None or (len(found[name]) <= 200 and found[name].isprintable())
        assert (found["is_readable"] is None) == (value is None)
        is_read = bool(found["is_readable"])
        for name in ("is_empty", "is_valid", "geometry_type"):
            assert (found[name] is not None) == is_read
        is_placed = is_read and bool(found["is_crs_known"]) and not found["is_empty"]
        assert (found["is_within_crs"] is not None) == is_placed
        assert (found["geometry"] is not None) == (is_placed and bool(found["is_within_crs"]))
        assert (found["area_change"] is not None) == bool(found["is_repaired"])
        if value is not None and found["problem"] is None:
            assert found["geometry"] is not None and found["is_valid"] and not found["is_repaired"]
        if found["geometry"] is not None:
            check_geometry(found)


def check_geometry(found: dict[str, Any]) -> None:
    geometry = shapely.from_wkb(found["geometry"])
    assert shapely.to_wkb(geometry, byte_order=1, output_dimension=2, flavor="iso") == found["geometry"]
    assert not (geometry.has_z or geometry.has_m or geometry.is_empty or shapely.get_srid(geometry))
    assert (geometry.geom_type, bool(shapely.is_valid(geometry))) == (
        found["geometry_type"],
        found["is_valid"],
    )
    xy = shapely.get_coordinates(geometry)
    assert (np.abs(xy) <= [180, 90]).all()
    if found["is_repaired"]:
        assert found["is_valid"] and 0 <= found["area_change"] <= 1


@quick
@given(rows, st.booleans(), st.sampled_from(["xy", "authority"]))
@example([(b"\x01", None)], True, "xy")
def test_every_value_gets_a_consistent_answer(
    batch: list[tuple[bytes | None, str | None]], repair: bool, axis_order: str
) -> None:
    landed, crs = [value for value, _ in batch], [name for _, name in batch]
    check(examine(landed, crs, repair=repair, axis_order=axis_order), landed)


@quick
@given(rows, st.booleans())
def test_a_batch_gives_what_its_rows_give_alone(
    batch: list[tuple[bytes | None, str | None]], repair: bool
) -> None:
    together = examine([value for value, _ in batch], [crs for _, crs in batch], repair=repair)
    alone = pd.concat([examine([value], [crs], repair=repair) for value, crs in batch], ignore_index=True)
    assert (
        together.astype(object)
        .where(together.notna(), None)
        .equals(alone.astype(object).where(alone.notna(), None))
    )


@quick
@given(geometries)
def test_every_encoding_gives_shapely_s_own_two_dimensions(geometry: Any) -> None:
    found = examine(encodings(geometry), ["EPSG:4326"] * 8)
    assert found["is_readable"].all(), found["problem"].tolist()
    assert (found["is_empty"] == shapely.is_empty(geometry)).all()
    assert (found["geometry_type"] == geometry.geom_type).all()
    assert (found["is_valid"] == shapely.is_valid(geometry)).all()
    plain = shapely.to_wkb(geometry, output_dimension=2, byte_order=1, flavor="iso")
    expected = None if geometry.is_empty else plain
    assert [value == expected for value in found["geometry"]] == [True] * 8


@quick
@given(geometries, st.sampled_from(["EPSG:3857", "EPSG:32633"]))
def test_repair_never_leaves_less_than_it_says(geometry: Any, crs: str) -> None:
    value = shapely.to_wkb(geometry, flavor="iso")
    plain, repaired = (examine([value], [crs], repair=repair) for repair in (False, True))
    assert plain["is_readable"].equals(repaired["is_readable"])
    assert plain["is_within_crs"].equals(repaired["is_within_crs"]) or repaired["is_repaired"][0]
    if plain["is_valid"][0]:
        assert plain.equals(repaired)


numbers = st.one_of(st.none(), st.floats(), st.floats(-200, 200), st.floats(-2e7, 2e7))


@quick
@given(st.lists(st.tuples(numbers, numbers, st.sampled_from(CRSS)), min_size=1, max_size=20))
def test_points_get_a_consistent_answer_and_wkb_s(
    batch: list[tuple[float | None, float | None, str | None]],
) -> None:
    x, y = (pd.Series([row[at] for row in batch], dtype=float) for at in (0, 1))
    crs = [row[2] for row in batch]
    found = examine_points(x, y, crs)
    is_given = (x.notna() & y.notna()).to_numpy()
    assert found["has_geometry"].tolist() == is_given.tolist()
    landed = [
        struct.pack("<BIdd", 1, 1, *pair) if has else None
        for pair, has in zip(zip(x, y, strict=True), is_given, strict=True)
    ]
    pd.testing.assert_frame_equal(found.drop(columns="excerpt"), examine(landed, crs).drop(columns="excerpt"))
    check(found.assign(excerpt=found["excerpt"].where(is_given, None)), landed)


@st.composite
def nests(draw: st.DrawFn) -> tuple[bytes, int]:
    """WKB of collections inside each other, with siblings on the way, and how deep they are."""
    sibling = shapely.to_wkb(shapely.box(0, 0, 1, 1))
    depth = draw(st.integers(MAX_DEPTH - 3, MAX_DEPTH + 3))
    parts, order = [], "<"
    for _ in range(depth):
        byte = draw(st.sampled_from([0, 1, 9]))
        order = {0: ">", 1: "<"}.get(byte, order)
        code = draw(st.sampled_from([7, 1007, 2007, 3007, 0x80000007, 0x40000007, 0x20000007, 0xE0000007]))
        srid = struct.pack(order + "I", 4326) if code & 0x20000000 else b""
        before = draw(st.integers(0, 2))
        parts.append(struct.pack(order + "BI", byte, code) + srid + struct.pack(order + "I", before + 1))
        parts += [sibling] * before
        order = "<" if before else order
    return b"".join(parts) + struct.pack("<BIdd", 1, 1, 1, 2), depth


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(nests())
def test_depth_is_counted_as_geos_reads(nest: tuple[bytes, int]) -> None:
    value, depth = nest
    assert is_too_deep(value) == (depth > MAX_DEPTH)
    geometry = shapely.from_wkb(value)
    levels = 0
    while geometry.geom_type == "GeometryCollection":
        geometry, levels = geometry.geoms[len(geometry.geoms) - 1], levels + 1
    assert levels == depth
