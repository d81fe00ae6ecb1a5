"""What GDAL reads for us: shapefile, GeoPackage and FlatGeobuf, in Arrow batches of WKB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyogrio
import pyogrio.errors

from geostrata.readers import crs as crss
from geostrata.readers import flatgeobuf, geopackage, shapefile
from geostrata.readers.column_types import is_bytes, is_text
from geostrata.readers.columns import ColumnPlan
from geostrata.readers.dbf import DbfField, DbfNumbers
from geostrata.readers.errors import Refused
from geostrata.readers.files import LandedFile
from geostrata.readers.json_values import free_name
from geostrata.readers.limits import LIMITS
from geostrata.readers.ogr_plan import RawShapes
from geostrata.readers.rows import NameMatch
from geostrata.readers.spec import SourceSpec

# What GDAL calls the key of a table: made by it, and not by who delivers.
_NO_OWN_KEY = ("fid", "ogc_fid")
_STRUCTURE = {"shapefile": shapefile, "geopackage": geopackage, "flatgeobuf": flatgeobuf}


@dataclass(frozen=True)
class Layer:
    """An opened layer: what GDAL said of it, and its batches."""

    meta: dict[str, Any]
    reader: Any
    numbers: DbfNumbers | None = None
    shapes: RawShapes | None = None

    @property
    def table_fields(self) -> dict[int, DbfField]:
        """Those of a shapefile's table, by their place."""
        places = [at for at in range(len(self.reader.schema)) if at not in (self.fid_at, self.geometry_at)]
        if self.numbers is None or len(places) != len(self.numbers.fields):
            return {}
        return dict(zip(places, self.numbers.fields, strict=True))

    def exact_fields(self, spec: SourceSpec) -> dict[int, DbfField]:
        """Fields that GDAL made doubles of and that are declared as something else, or are integers; by their place."""
        match = NameMatch(spec.declared)
        kinds = list(spec.declared.values())
        found = {}
        for place, field in self.table_fields.items():
            column = self.reader.schema.field(place)
            at = match.find(column.name)
            is_double = at is not None and kinds[at].strip().lower() in ("double", "float")
            is_rounded = field.is_number and column.type == pa.float64()
            if is_rounded and (field.decimals == 0 or (at is not None and not is_double)):
                found[place] = field
        return found

    @property
    def fid_column(self) -> str:
        return str(self.meta["fid_column"])

    # By place: an attribute may have either name too. GDAL puts its own number first, and the geometry last.
    @property
    def fid_at(self) -> int:
        return int(self.reader.schema.names.index(self.fid_column))

    @property
    def geometry_at(self) -> int | None:
        if self.meta["geometry_type"] is None:
            return None
        name = str(self.meta["geometry_name"]) or "wkb_geometry"
        places = [at for at, found in enumerate(self.reader.schema.names) if found == name]
        return places[-1] if places else None

    @property
    def crs(self) -> str | None:
        return crss.from_ogr(self.meta["crs"])


def check(file: LandedFile, spec: SourceSpec) -> None:
    if file.size == 0:
        return
    with opened(file, spec) as layer:
        _plan(file, spec, layer)


def batches(file: LandedFile, spec: SourceSpec) -> Iterator[pa.RecordBatch]:
    if file.size == 0:
        return
    with opened(file, spec) as layer:
        plan = _plan(file, spec, layer)
        kept = _kept(spec, layer)
        exact = layer.exact_fields(spec)
        for batch in layer.reader:
            fids = batch.column(layer.fid_at)
            positions = pc.binary_join_element_wise("feature ", fids.cast(pa.string()), "")
            columns = dict(enumerate(batch.columns))
            _as_in_table(layer, exact, fids, columns)
            _as_in_file(layer, fids, columns)
            yield plan.fit([columns[at] for at in kept], positions, layer.crs)


def _as_in_table(
    layer: Layer, exact: dict[int, DbfField], fids: pa.Array, columns: dict[int, pa.Array]
) -> None:
    """Numbers that GDAL rounds, or makes of something else, as their text: what fits is taken, the rest rescued."""
    if layer.numbers is None or not layer.table_fields:
        return
    records = layer.numbers.records(fids.to_pylist())
    for at, field in layer.table_fields.items():
        if at in exact or layer.numbers.has_other_signs(field, records):
            columns[at] = layer.numbers.texts(field, records)


def _as_in_file(layer: Layer, fids: pa.Array, columns: dict[int, pa.Array]) -> None:
    """GDAL has no geometry where it can't read one. The row keeps what was delivered, and is found bad by those who judge."""
    at = layer.geometry_at
    if layer.shapes is None or at is None or not columns[at].null_count:
        return
    rows = pc.indices_nonzero(columns[at].is_null()).to_pylist()
    features = fids.to_pylist()
    found = layer.shapes.of(layer.meta, [features[row] for row in rows])
    if found:
        values = columns[at].to_pylist()
        for row in rows:
            values[row] = found.get(features[row])
        columns[at] = pa.array(values, columns[at].type)


def columns(file: LandedFile, spec: SourceSpec) -> list[tuple[str, pa.DataType]]:
    if file.size == 0:
        return []
    with opened(file, spec) as layer:
        found = _columns(spec, layer)
        if spec.format == "geopackage" and layer.fid_column.lower() not in _NO_OWN_KEY:
            found.insert(0, (layer.fid_column, pa.int64()))
        return found


def _plan(file: LandedFile, spec: SourceSpec, layer: Layer) -> ColumnPlan:
    found = _columns(spec, layer)
    return ColumnPlan(file.path, spec, [name for name, _ in found], [kind for _, kind in found])


def _kept(spec: SourceSpec, layer: Layer) -> list[int]:
    """GDAL keeps a table's integer key apart from its columns, as the feature's number; declared, it is a column."""
    match, names = NameMatch(spec.declared), layer.reader.schema.names
    others = [at for at in range(len(names)) if at != layer.fid_at]
    is_declared = match.find(layer.fid_column) is not None
    is_taken = any(names[at].casefold() == layer.fid_column.casefold() for at in others)
    return [layer.fid_at, *others] if is_declared and not is_taken else others


def _columns(spec: SourceSpec, layer: Layer) -> list[tuple[str, pa.DataType]]:
    exact, schema = layer.exact_fields(spec), layer.reader.schema
    kept = _kept(spec, layer)
    names = {at: str(schema.field(at).name) for at in kept}
    if layer.geometry_at is not None:
        geometry = spec.geometry_column(names.pop(layer.geometry_at))
        taken = {geometry, *names.values()}
        for at, name in names.items():
            # An attribute of that name gives way, as in GeoJSON.
            names[at] = free_name(f"properties.{name}", taken) if name == geometry else name
        names[layer.geometry_at] = geometry
    return [(names[at], exact[at].kind if at in exact else _delivered_type(schema.field(at))) for at in kept]


def _delivered_type(field: pa.Field) -> pa.DataType:
    """Date-times come as text, so that each keeps its own zone; by type they are what GDAL says."""
    kind = (field.metadata or {}).get(b"GDAL:OGR:type")
    return pa.timestamp("us", tz="UTC") if kind == b"DateTime" else field.type


@contextmanager
def opened(file: LandedFile, spec: SourceSpec) -> Iterator[Layer]:
    structure = _STRUCTURE[spec.format]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="geostrata-")))
        # GDAL is content with half a file: it gives null geometries or no rows. So we look ourselves first.
        plan = structure.prepare(file, spec, folder)
        stack.enter_context(_trouble(file, spec, folder))
        meta, reader = stack.enter_context(
            pyogrio.raw.open_arrow(
                plan.source,
                layer=plan.layer,
                encoding=plan.encoding,
                return_fids=True,
                batch_size=LIMITS.ogr_batch_rows,
                use_pyarrow=True,
                datetime_as_string=True,
                **plan.open_options,
            )
        )
        yield Layer(
            {**meta, "layer_name": plan.layer},
            _Counted(file, reader, plan.features),
            plan.numbers,
            plan.shapes,
        )


class _Counted:
    """Batches, and at the end whether there were as many features as the file promised."""

    def __init__(self, file: LandedFile, reader: Any, expected: int | None) -> None:
        self._file, self._reader, self._expected = file, reader, expected
        self.schema = reader.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in self._reader:
            rows += batch.num_rows
            if not is_sound(batch):
                raise Refused(self._file.path, "a feature in it is damaged; deliver it again")
            yield batch
        # All of them are there, we counted before: what GDAL passes over is damaged, and waiting would not help.
        if self._expected is not None and rows < self._expected:
            raise Refused(
                self._file.path, f"{rows} of its {self._expected} features can be read; deliver it again"
            )


def is_sound(batch: pa.RecordBatch) -> bool:
    """Damaged lengths in a file can make batches of GDAL's that say more than they hold; nobody looked at them so far."""
    batch.validate()
    for column in batch.columns:
        if is_bytes(column.type) or is_text(column.type):
            shortest = pc.min(pc.binary_length(column)).as_py()
            if shortest is not None and shortest < 0:
                return False
    return True


@contextmanager
def _trouble(file: LandedFile, spec: SourceSpec, folder: Path) -> Iterator[None]:
    try:
        yield
    except (
        pyogrio.errors.DataSourceError,
        pyogrio.errors.DataLayerError,
        pyogrio.errors.FieldError,
        pyogrio.errors.GeometryError,
        pyogrio.errors.FeatureError,
        pa.ArrowException,
        OSError,
        UnicodeDecodeError,
        # pyogrio's word for a file without a layer.
        IndexError,
        # pyogrio 0.13's own slip on a CRS whose text is not UTF-8.
        UnboundLocalError,
        MemoryError,
    ) as error:
        # Without the folder that GDAL saw, and without its advice: both are of no use to who delivers.
        words = " ".join(str(error).replace(f"{folder}/", "").split()).split("; It might help")[0][:200]
        raise Refused(file.path, f"GDAL can't read it as {spec.format} ({words}); deliver it again") from None
