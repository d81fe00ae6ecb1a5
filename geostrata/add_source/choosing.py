"""Which column is the key, the geometry, the CRS, the time: what a person would choose after the same look."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from dbt_sedona_text import literal
from geostrata.add_source.columns import TIME_NAMES, TIMES, Column, Draft, carried, draft
from geostrata.add_source.naming import singular
from geostrata.add_source.sampling import EARLIEST, Look
from geostrata.errors import GeostrataError
from geostrata.readers.guessing import lonlat_of

_CRS_NAMES = ("crs", "srid", "epsg", "source_crs", "epsg_code", "srs")
_DELETED_NAMES = ("is_deleted", "deleted")
_KEY_NAME = re.compile(
    r"(?:.*[_ ])?(?:id|uuid|guid|gid|fid|key|code|no|nr|num|number|ref)|.*id", re.IGNORECASE
)
_DEFAULT_CRS = "EPSG:4326"
# A type of geometry rarer than this may be a fault of the sample.
_RARE = 0.01
# From here on what looks like a fault is how the source is.
_OFTEN = 0.1


@dataclass(frozen=True)
class Wishes:
    """What the person has said."""

    key: str | None = None
    crs: str | None = None
    geometry: str | None = None


@dataclass(frozen=True)
class Geometry:
    """`columns`: one, or the two of points."""

    columns: tuple[str, ...]
    encoding: str
    # How often the sample has each, the most frequent first.
    types: dict[str, int]

    @property
    def is_lonlat(self) -> bool:
        return self.encoding == "lonlat"

    @property
    def is_points(self) -> bool:
        return list(self.types) == ["Point"]


@dataclass(frozen=True)
class Crs:
    """`text` is for people, `sql` for the checked model."""

    text: str
    sql: str


@dataclass(frozen=True)
class Choices:
    name: str
    look: Look
    # The types of the columns that are declared, in the order of the files, and their names in bronze.
    landed: dict[str, str]
    bronze: dict[str, str]
    # The key in silver, and the column that it comes from: without one, a row's place in its file is its key.
    key: str
    key_column: str | None
    geometry: Geometry
    crs: Crs
    # Where none is found, the time of the file takes its place.
    time_column: str | None
    time_may_lack: bool
    earliest: str
    deleted_column: str | None
    others: tuple[Column, ...]
    notes: tuple[str, ...]

    @property
    def one(self) -> str:
        return singular(self.name)

    def of_group(self, *groups: str) -> list[Column]:
        return [column for group in groups for column in self.others if column.group == group]


def choose(name: str, look: Look, wishes: Wishes) -> Choices:
    made = draft(look, singular(name))
    geometry = _geometry(made, wishes.geometry)
    key = f"{singular(name)}_id"
    key_column = _key(made, wishes.key, key)
    crs = _crs(made, wishes.crs, geometry)
    time = _time(made)
    deleted = next((one for one in made.named(_DELETED_NAMES) if made.kinds[one] == "boolean"), None)
    made.used.update({deleted} if deleted else ())
    return Choices(
        name=name,
        look=look,
        landed=made.kinds,
        bronze=made.bronze,
        key=key,
        key_column=key_column,
        geometry=geometry,
        crs=crs,
        time_column=time,
        time_may_lack=_time_may_lack(made, time),
        earliest=_earliest(made, time),
        deleted_column=deleted,
        others=carried(made, singular(name), key),
        notes=tuple(made.notes),
    )


def _geometry(made: Draft, wish: str | None) -> Geometry:
    facts = made.look.facts
    if wish is not None:
        columns = tuple(made.column(name, "--geometry") for name in wish.split(","))
    elif (found := made.find(facts.geometry)) is not None:
        columns = (found,)
    else:
        columns = _lonlat(made)
    made.used.update(columns)
    if len(columns) == 1:
        return _shapes(made, columns[0])
    return _points(made, columns)


def _lonlat(made: Draft) -> tuple[str, ...]:
    found = lonlat_of(made.kinds)
    if found is None:
        raise GeostrataError(
            f"no geometry was found in {', '.join(made.kinds)}; name its column, or the two of its points: "
            "--geometry east,north"
        )
    return found


def _points(made: Draft, columns: tuple[str, ...]) -> Geometry:
    if len(columns) != 2:
        raise GeostrataError(f"--geometry must be one column, or two for points, got {len(columns)}")
    for name in columns:
        if made.kinds[name] == "string":
            if not made.facts[name].is_nearly("double"):
                raise GeostrataError(f"--geometry {','.join(columns)}: {name} is no number in the sample")
            made.kinds[name] = "double"
    return Geometry(columns, "lonlat", {"Point": made.look.rows})


def _shapes(made: Draft, name: str) -> Geometry:
    found = made.facts[name]
    encoding = made.look.facts.encoding if name == made.find(made.look.facts.geometry) else None
    encoding = encoding or next((kind for kind, _ in found.encodings.most_common(1)), None)
    if encoding is None or not found.geometry_types:
        raise GeostrataError(
            f"column {name} holds no geometry in the sample that can be read; look at the files, or name another column: "
            "--geometry COLUMN"
        )
    types = Counter(dict(sorted(found.geometry_types.items()))).most_common()
    for kind, count in types:
        if count < _RARE * found.values:
            made.notes.append(
                f"{count} of {found.values} geometries are a {kind}: take it out of geometry_types if it is a mistake"
            )
    return Geometry((name,), encoding, dict(types))


def _key(made: Draft, wish: str | None, key: str) -> str | None:
    name = _found_key(made) if wish is None else _wished_key(made, wish)
    if name is None:
        made.notes.append(
            f"no column is a key in the sample: {key} is the row's place, its file and number; say better with --key"
        )
    else:
        made.used.add(name)
    return name


def _wished_key(made: Draft, wish: str) -> str:
    name = made.column(wish, "--key")
    if name in made.used:
        raise GeostrataError(f"--key {wish}: that column is the geometry; name another")
    found = made.facts[name]
    if found.nulls or found.repeats:
        made.notes.append(
            f"{name}: {found.nulls} of {made.look.rows} sampled rows lack it, {found.repeats} repeat it"
        )
    return name


def _found_key(made: Draft) -> str | None:
    name = made.find(made.look.facts.key)
    if name is None or name in made.used:
        return None
    if _KEY_NAME.fullmatch(name):
        return name
    if made.kinds[name] != "string":
        made.notes.append(
            f"{name} is unique in the sample, but its name is no key's: --key {name} if it is one"
        )
        return None
    made.notes.append(
        f"{name} is unique in the sample and taken for the key, though its name does not say so"
    )
    return name


def _crs(made: Draft, wish: str | None, geometry: Geometry) -> Crs:
    wished = _checked_crs(wish)
    by_row = _crs_column(made)
    declared = [crs for crs in made.look.file_crss if crs is not None]
    if by_row is not None:
        value = f"trim(string({made.sql(by_row)}))"
        sql = f"coalesce({value}, {literal(wished)}) as source_crs" if wished else f"{value} as source_crs"
        return Crs(f"by row (column {by_row})", sql)
    names = {short_crs(crs) for crs in declared}
    if wished is not None:
        if names - {wished}:
            others = sorted(name or "another CRS" for name in names - {wished})
            made.notes.append(
                f"the files declare {', '.join(others)}: {wished} counts only for files that declare nothing"
            )
        return _with_default(wished)
    if declared:
        (name,) = names if len(names) == 1 else (None,)
        if name is not None:
            return _with_default(name)
        if None in names:
            made.notes.append(
                "a CRS of the files has no short name in PROJ: it counts as each file declares it"
            )
        return Crs("as each file declares it", "_source_crs as source_crs")
    if made.look.facts.crs is not None:
        # A default would count before what a value says of itself.
        return Crs(f"{short_crs(made.look.facts.crs) or 'declared'}, by value", "_source_crs as source_crs")
    return _with_default(_undeclared(made, geometry))


def short_crs(text: str) -> str | None:
    """AUTHORITY:CODE, as PROJ lists it. No other text of a file's CRS is ever written into a model."""
    from geostrata.geometry.coordinate_systems import coordinate_system
    from geostrata.geometry.crs_registry import by_code

    system = coordinate_system(text)
    return by_code(system.name) if system.is_known and system.name else None


def _checked_crs(wish: str | None) -> str | None:
    from geostrata.geometry.coordinate_systems import coordinate_system

    if wish is None:
        return None
    if (problem := coordinate_system(wish).problem) is not None:
        raise GeostrataError(f"--crs must be a CRS such as EPSG:2056: {problem}")
    if (name := short_crs(wish)) is None:
        raise GeostrataError(
            "--crs must be a CRS with a short name, such as EPSG:2056. Name the one that comes nearest."
        )
    return name


def _crs_column(made: Draft) -> str | None:
    for name in made.named(_CRS_NAMES):
        found = made.facts[name]
        if found.values and found.crs_like >= (1 - _OFTEN) * found.values:
            made.used.add(name)
            return name
    return None


def _undeclared(made: Draft, geometry: Geometry) -> str:
    """GeoJSON is in EPSG:4326 unless it says otherwise, and so is most of what is called longitude and latitude."""
    if geometry.encoding == "geojson":
        return _DEFAULT_CRS
    if geometry.is_lonlat:
        x, y = (made.facts[name] for name in geometry.columns)
        if x.beyond[180] <= _OFTEN * x.values and y.beyond[90] <= _OFTEN * y.values:
            return _DEFAULT_CRS
    raise GeostrataError(
        "neither files nor columns say which CRS the coordinates are in; say it with --crs EPSG:2056"
    )


def _with_default(crs: str) -> Crs:
    return Crs(crs, f"coalesce(_source_crs, {literal(crs)}) as source_crs")


def _time(made: Draft) -> str | None:
    named = [name for name in made.named(TIME_NAMES) if made.kinds[name] in TIMES]
    moments = [name for name, kind in made.kinds.items() if kind in TIMES[:2] and name not in made.used]
    found = named[:1] or (moments if len(moments) == 1 else [])
    if not found:
        made.notes.append("no column says when a row was changed: updated_at is the time of its file")
        return None
    if not made.facts[found[0]].values:
        made.notes.append(f"{found[0]} is empty in the sample: updated_at is the time of the file")
        return None
    made.used.add(found[0])
    return found[0]


def _time_may_lack(made: Draft, time: str | None) -> bool:
    if time is None or made.facts[time].nulls <= _OFTEN * made.look.rows:
        return False
    made.notes.append(
        f"{made.facts[time].nulls} of {made.look.rows} sampled rows lack {time}: theirs is the time of the file"
    )
    return True


def _earliest(made: Draft, time: str | None) -> str:
    if time is not None and made.facts[time].early > _OFTEN * made.facts[time].values:
        made.notes.append(
            f"{made.facts[time].early} sampled times are before {EARLIEST}: 1900 is the earliest allowed"
        )
        return "1900-01-01"
    return f"{EARLIEST}-01-01"
