"""What PROJ's database lists. Asked before PROJ itself, which searches a third of a second for a name that it doesn't
know: a column of ids read as CRSs would take an hour."""

from __future__ import annotations

from functools import cache

from pyproj import database

# Where names repeat: the one for maps before those with a height.
_BY_PREFERENCE = ("PROJECTED_CRS", "GEOGRAPHIC_2D_CRS", "COMPOUND_CRS", "GEOGRAPHIC_3D_CRS")
_ALSO_CALLED = {"WGS84": "EPSG:4326"}


@cache
def _codes() -> dict[str, str]:
    """Each authority's codes, as they are written."""
    found = {}
    for authority in database.get_authorities():
        for code in database.get_codes(authority, "CRS", allow_deprecated=True):
            found[f"{authority}:{code}".upper()] = f"{authority}:{code}"
    return found


@cache
def _names() -> dict[str, str]:
    found = {name.upper(): code for name, code in _ALSO_CALLED.items()}
    # EPSG comes first.
    listed = sorted(database.query_crs_info(), key=lambda entry: entry.auth_name != "EPSG")
    for kind in _BY_PREFERENCE:
        for entry in listed:
            if entry.type.name == kind:
                found.setdefault(entry.name.upper(), f"{entry.auth_name}:{entry.code}")
    return found


def by_code(code: str) -> str | None:
    """`EPSG:25833` from any case of it, or None if no such code is listed."""
    return _codes().get(code.upper())


def by_name(name: str) -> str | None:
    """`EPSG:32633` from "WGS 84 / UTM zone 33N", or None if nothing is called exactly that."""
    return _names().get(name.upper())
