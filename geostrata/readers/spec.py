"""What a source promises: its format, its columns and how much a file may differ from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from geostrata.errors import GeostrataError
from geostrata.readers.limits import FileLimits

FORMATS = (
    "csv",
    "flatgeobuf",
    "geojson",
    "geojsonl",
    "geopackage",
    "geoparquet",
    "jsonl",
    "parquet",
    "shapefile",
)
POLICIES = ("strict", "additive", "rescue")

# Added to every row by the reader. A source that declares one of them describes it, and gets it once.
POSITION, CRS, CORRUPT, RESCUED = EXTRAS = ("_source_position", "_source_crs", "_corrupt_record", "_rescued")


@dataclass(frozen=True)
class SourceSpec:
    """`columns` maps names to Spark SQL types. `schema_policy` says what a file may do with them:

    - `strict`: exactly these columns, in types that fit. Anything else refuses the file.
    - `additive`: new columns are kept in `_rescued`; a missing or retyped one refuses the file. Those in `optional`, which came
      after the source was declared, may be missing, and values that don't fit them are kept in `_rescued`.
    - `rescue`: missing columns are null; new columns and values that don't fit are kept in `_rescued`.
    """

    format: str
    columns: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    schema_policy: str = "rescue"
    optional: tuple[str, ...] = ()
    limits: FileLimits = field(default_factory=FileLimits)

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise GeostrataError(f"source: format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        if self.schema_policy not in POLICIES:
            raise GeostrataError(
                f"source: schema_policy must be one of {', '.join(POLICIES)}, got {self.schema_policy!r}"
            )

    @property
    def declared(self) -> dict[str, str]:
        return {name: kind for name, kind in self.columns.items() if name not in EXTRAS}

    def geometry_column(self, own_name: str | None = None) -> str:
        """The column that takes the geometry: the one named by option, else `geometry`, else the file's own name."""
        if "geometry" in self.options:
            return self.options["geometry"]
        if "geometry" not in self.declared and own_name in self.declared:
            return str(own_name)
        return "geometry"
