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
from geostrata.readers.columns import ColumnPlan
from geostrata.readers.dbf import DbfField, DbfNumbers
from geostrata.readers.errors import HalfWritten, Refused
from geostrata.readers.files import LandedFile
from geostrata.readers.limits import LIMITS
from geostrata.readers.rows import NameMatch
from geostrata.readers.spec import SourceSpec

_STRUCTURE = {"shapefile": shapefile, "geopackage": geopackage, "flatgeobuf": flatgeobuf}


@dataclass(frozen=True)
class Layer:
    """An opened layer: what GDAL said of it, and its batches."""

    meta: dict[str, Any]
    reader: Any
    numbers: DbfNumbers | None = None

    def exact_fields(self, spec: SourceSpec) -> dict[str, DbfField]:
        """Fields that GDAL made doubles of and that are declared as something else, or are integers."""
        names = [str(name) for name in self.meta["fields"]]
        if self.numbers is None or len(names) != len(self.numbers.fields):
            return {}
        match = NameMatch(spec.declared)
        kinds = list(spec.declared.values())
        found = {}
        for name, field in zip(names, self.numbers.fields, strict=True):
            at = match.find(name)
            is_double = at is not None and kinds[at].strip().lower() in ("double", "float")
            is_rounded = field.is_number and self.reader.schema.field(name).type == pa.float64()
            if is_rounded and (field.decimals == 0 or (at is not None and not is_double)):
                found[name] = field
        return found

    @property
    def fid_column(self) -> str:
        return str(self.meta["fid_column"])

    @property
    def geometry_column(self) -> str:
        return str(self.meta["geometry_name"]) or "wkb_geometry"

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
        names = layer.reader.schema.names
        fid = names.index(layer.fid_column)
        kept = [at for at in range(len(names)) if at != fid]
        exact = layer.exact_fields(spec)
        for batch in layer.reader:
            fids = batch.column(fid)
            positions = pc.binary_join_element_wise("feature ", fids.cast(pa.string()), "")
            columns = [batch.column(at) for at in kept]
            if layer.numbers is not None and exact:
                rows = fids.to_pylist()
                for name, field in exact.items():
                    columns[kept.index(names.index(name))] = layer.numbers.texts(field, rows)
            yield plan.fit(columns, positions, layer.crs)


def columns(file: LandedFile, spec: SourceSpec) -> list[tuple[str, pa.DataType]]:
    if file.size == 0:
        return []
    with opened(file, spec) as layer:
        return _columns(spec, layer)


def _plan(file: LandedFile, spec: SourceSpec, layer: Layer) -> ColumnPlan:
    names, types = zip(*_columns(spec, layer), strict=True)
    return ColumnPlan(file.path, spec, names, types)


def _columns(spec: SourceSpec, layer: Layer) -> list[tuple[str, pa.DataType]]:
    found = []
    exact = layer.exact_fields(spec)
    for field in layer.reader.schema:
        if field.name != layer.fid_column:
            is_geometry = field.name == layer.geometry_column
            name = spec.geometry_column(field.name) if is_geometry else field.name
            kind = exact[field.name].kind if field.name in exact else _delivered_type(field)
            found.append((name, kind))
    return found


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
        stack.enter_context(_trouble(file, spec))
        meta, reader = stack.enter_context(
            pyogrio.raw.open_arrow(
                plan.source,
                layer=_layer(file, spec, plan.source),
                encoding=plan.encoding,
                return_fids=True,
                batch_size=LIMITS.ogr_batch_rows,
                use_pyarrow=True,
                datetime_as_string=True,
                **plan.open_options,
            )
        )
        yield Layer(meta, _Counted(file, reader, plan.features), plan.numbers)


class _Counted:
    """Batches, and at the end whether there were as many features as the file promised."""

    def __init__(self, file: LandedFile, reader: Any, expected: int | None) -> None:
        self._file, self._reader, self._expected = file, reader, expected
        self.schema = reader.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in self._reader:
            rows += batch.num_rows
            yield batch
        if self._expected is not None and rows < self._expected:
            raise HalfWritten(
                self._file.path, f"{rows} of {self._expected} features are there; left for the next run"
            )


def _layer(file: LandedFile, spec: SourceSpec, source: str) -> str | None:
    layers = [str(name) for name, _ in pyogrio.list_layers(source)]
    wanted = spec.options.get("layer")
    names = ", ".join(layers) or "none"
    if wanted is not None and spec.format == "geopackage":
        if wanted not in layers:
            raise Refused(file.path, f"layer {wanted} is not in it; option layer must be one of: {names}")
        return wanted
    # QGIS keeps its styles in a table of this name.
    layers = [name for name in layers if name != "layer_styles"] or layers
    if len(layers) != 1:
        raise Refused(file.path, f"it has {len(layers)} layers; set option layer to one of: {names}")
    return layers[0]


@contextmanager
def _trouble(file: LandedFile, spec: SourceSpec) -> Iterator[None]:
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
        # pyogrio 0.13's own slip on a CRS whose text is not UTF-8.
        UnboundLocalError,
        MemoryError,
    ) as error:
        words = " ".join(str(error).split())[:200]
        raise Refused(file.path, f"GDAL can't read it as {spec.format} ({words}); deliver it again") from None
