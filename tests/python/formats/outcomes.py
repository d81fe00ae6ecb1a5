"""What happens to a file: read by us as `inspect` finds it, its geometries examined by GEOS, its rows counted by GDAL."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pyogrio.errors
import shapely
from third_party import NOT_SUPPORTED, is_topology, zip_heads

from geostrata.readers import HalfWritten, Refused, check, inspect, landed, read
from geostrata.readers.inspecting import SourceFacts
from geostrata.readers.spec import CORRUPT, RESCUED

LOADED, REFUSED, HALF_WRITTEN, UNSUPPORTED = "loaded", "refused", "half written", "not supported"
_PARSERS = {"wkt": shapely.from_wkt, "geojson": shapely.from_geojson}
_GDAL_ERRORS = (
    pyogrio.errors.DataSourceError,
    pyogrio.errors.DataLayerError,
    pyogrio.errors.FeatureError,
    pyogrio.errors.GeometryError,
    # pyogrio's word for a file without any layer.
    IndexError,
    pa.ArrowException,
    UnicodeDecodeError,
)


@dataclass
class Outcome:
    package: str
    # Below the archive's own folder.
    file: str
    path: Path
    layer: str | None = None
    # None: it was not recognised.
    facts: SourceFacts | None = None
    kind: str = LOADED
    reason: str = ""
    format: str = ""
    encoding: str | None = None
    rows: int = 0
    # None: GDAL does not read it.
    gdal_rows: int | None = None
    gdal_reason: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    # What must not be, and is.
    faults: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.file if self.layer is None else f"{self.file} ({self.layer})"


def outcomes(package: str, root: Path, path: Path) -> list[Outcome]:
    """One a layer where there are several."""
    found = []
    with warnings.catch_warnings():
        # GDAL and GEOS warn of what is counted here.
        warnings.simplefilter("ignore")
        layers: list[str] | list[None] = layers_of(path) or [None]
        for layer in layers:
            outcome = Outcome(package, path.relative_to(root).as_posix(), path, layer)
            before = _states(path.parent)
            _read(outcome, path)
            if _states(path.parent) != before:
                outcome.faults.append("reading changed something in its folder")
            # Later: some drivers of GDAL write beside what they read.
            _count_by_gdal(outcome, path)
            found.append(outcome)
    return found


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


def layers_of(path: Path) -> list[str]:
    """Names of its layers if it has more than one."""
    if path.suffix == ".zip":
        names = [PurePosixPath(name) for name, _ in zip_heads(path)]
        stems = [name.stem for name in names if name.suffix.lower() == ".shp"]
    elif path.suffix == ".gpkg":
        try:
            stems = [str(name) for name, _ in pyogrio.list_layers(path)]
        except _GDAL_ERRORS:
            stems = []
    else:
        stems = []
    return stems if len(stems) > 1 else []


def _is_supported(path: Path) -> bool:
    if path.name.lower().endswith(NOT_SUPPORTED):
        return False
    with path.open("rb") as stream:
        return not (path.suffix == ".json" and is_topology(stream.read(1 << 20)))


def _read(outcome: Outcome, path: Path) -> None:
    file = landed(path)
    try:
        facts = inspect([str(path)], {} if outcome.layer is None else {"layer": outcome.layer})
        outcome.facts, outcome.format, outcome.encoding = facts, facts.format, facts.encoding
        spec = facts.spec("rescue")
        try:
            check(file, spec)
            is_cut = False
        except HalfWritten:
            is_cut = True
        try:
            for batch in read(file, spec):
                batch.validate(full=True)
                _count(outcome, batch, facts.geometry)
        except HalfWritten:
            if not is_cut:
                outcome.faults.append("only reading found that it is cut")
            raise
    except (HalfWritten, Refused) as error:
        outcome.kind = HALF_WRITTEN if isinstance(error, HalfWritten) else REFUSED
        if outcome.kind == REFUSED and not _is_supported(path):
            outcome.kind = UNSUPPORTED
        outcome.reason = error.reason
        _judge_reason(outcome, path, str(error))
    # Anything else is a fault, whatever it is: that is what is tested.
    except Exception as error:
        outcome.faults.append(f"{type(error).__name__}: {error}")


def _judge_reason(outcome: Outcome, path: Path, text: str) -> None:
    """One line that names the file, says what is wrong and what to do, and shows nothing of our insides."""
    is_good = (
        text == f"{path}: {outcome.reason}"
        and 10 < len(outcome.reason) < 400
        and "\n" not in outcome.reason
        and not any(word in outcome.reason for word in ("geostrata-", "Traceback", " object at 0x", "None"))
    )
    if not is_good:
        outcome.faults.append(f"a poor reason: {text!r}")


def _count(outcome: Outcome, batch: pa.RecordBatch, geometry: str | None) -> None:
    outcome.rows += batch.num_rows
    outcome.counts["unreadable rows"] += batch.num_rows - batch[CORRUPT].null_count
    outcome.counts["rescued"] += batch.num_rows - batch[RESCUED].null_count
    if geometry is not None:
        _examine(outcome, batch[geometry].to_pylist())


def _examine(outcome: Outcome, values: list[Any]) -> None:
    """Curves and surfaces are a limit of GEOS' Python side: counted apart from what can't be read."""
    parse = _PARSERS.get(outcome.encoding or "", shapely.from_wkb)
    with np.errstate(all="ignore"):
        for value in values:
            if value is None:
                outcome.counts["without geometry"] += 1
                continue
            try:
                shape = parse(value, on_invalid="ignore")
            except NotImplementedError:
                outcome.counts["curved geometries"] += 1
                continue
            if shape is None:
                outcome.counts["unreadable geometries"] += 1
            elif not shapely.is_valid(shape):
                outcome.counts["invalid geometries"] += 1


def _count_by_gdal(outcome: Outcome, path: Path) -> None:
    try:
        if path.suffix == ".parquet":
            outcome.gdal_rows = pq.ParquetFile(path).metadata.num_rows
        else:
            source, layer = _gdal_source(path, outcome.layer)
            outcome.gdal_rows = pyogrio.raw.read_arrow(source, layer=layer)[1].num_rows
    except (*_GDAL_ERRORS, pa.ArrowException, OSError) as error:
        outcome.gdal_reason = f"{type(error).__name__}: {error}"


def _gdal_source(path: Path, layer: str | None) -> tuple[str | bytes, str | None]:
    if path.suffix == ".zip" and not path.name.endswith(NOT_SUPPORTED):
        # By the member: GDAL looks into no folder of a zip.
        members = [
            name for name, _ in zip_heads(path) if name.lower().endswith((".shp", ".gpkg", ".json", ".csv"))
        ]
        named = [name for name in members if layer is None or PurePosixPath(name).stem == layer]
        return f"/vsizip/{path.resolve()}/{named[0]}" if named else f"/vsizip/{path.resolve()}", None
    if path.suffix == ".gz":
        return f"/vsigzip/{path.resolve()}", layer
    # pyogrio takes what stands behind a `!` for a place in an archive.
    return (path.read_bytes() if "!" in path.name else str(path.resolve())), layer
