"""The kinds of planted faults, and which expectation each of them must fail."""

from __future__ import annotations

from dataclasses import dataclass

from geostrata.demo import crs as crss

# Fault -> the one expectation that fails. A row with such a fault is quarantined.
EXPECTATION = {
    "truncated_json": "record_readable",
    "missing_key": "key_present",
    "null_geometry": "geometry_present",
    "malformed_wkb": "geometry_readable",
    "malformed_geojson_geometry": "geometry_readable",
    "empty_geometry": "geometry_not_empty",
    "wrong_type": "geometry_type_allowed",
    "invalid_ring": "geometry_valid",
    "unknown_crs": "crs_known",
    "out_of_range_coordinates": "coordinates_within_crs",
    "wrong_crs": "coordinates_within_crs",
    "swapped_coordinates": "within_extent",
    "future_timestamp": "event_ts_sane",
}

# Kinds that are no reason for quarantine: the row is accepted with a warning, or superseded.
LATE_EVENT = "late_event"
DUPLICATE = "duplicate"
DELETE = "delete"
OUT_OF_ORDER = "out_of_order"

_POLYGON = (
    "missing_key",
    "null_geometry",
    "malformed_wkb",
    "empty_geometry",
    "wrong_type",
    "invalid_ring",
    "unknown_crs",
    "out_of_range_coordinates",
    "wrong_crs",
    "swapped_coordinates",
    "future_timestamp",
)
_POINT = ("missing_key", "null_geometry", "out_of_range_coordinates", "swapped_coordinates")
ZONE_FAULTS = _POLYGON
FACILITY_FAULTS = (*_POINT, "unknown_crs", "wrong_crs", "future_timestamp")
TELEMETRY_FAULTS = ("truncated_json", *_POINT, "future_timestamp")
_GEOJSON = tuple("malformed_geojson_geometry" if fault == "malformed_wkb" else fault for fault in _POLYGON)

# Every kind that an entity's manifest lists, planted on the days so far or not.
ENTITY_FAULTS = {
    "parcels": (*_POLYGON, "malformed_geojson_geometry", DUPLICATE, DELETE, OUT_OF_ORDER),
    "telemetry": (*TELEMETRY_FAULTS, DUPLICATE, LATE_EVENT),
    "zones": (*ZONE_FAULTS, DUPLICATE),
    "facilities": (*FACILITY_FAULTS, DUPLICATE),
}


def parcel_faults(drop_format: str, crs: str) -> tuple[str, ...]:
    """The quarantine faults that a parcels drop can hold."""
    faults = _GEOJSON if drop_format == "geojson" else _POLYGON
    if crs == crss.UTM_33N:
        # Swapped UTM coordinates leave the CRS's own bounds: another expectation would fail.
        faults = tuple(fault for fault in faults if fault != "swapped_coordinates")
    return faults


@dataclass(frozen=True)
class Planted:
    """One faulty row to be: its kind, and a number that chooses among the kind's variants."""

    fault: str
    ordinal: int
    variant: int

    @property
    def has_own_key(self) -> bool:
        """Half of the faulty rows pretend to be a version of a key that exists."""
        return self.ordinal % 2 == 0


def plan(faults: tuple[str, ...], each: int, day: int) -> list[Planted]:
    """So many rows of each kind. The day shifts the variants, so small drops differ."""
    return [
        Planted(fault, position * each + number, number + day)
        for position, fault in enumerate(faults)
        for number in range(each)
    ]
