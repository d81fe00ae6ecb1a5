"""The `layout` of a model's config, and what else of the model decides how its table is laid out."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from geostrata.errors import GeostrataError
from geostrata.tables.units import parse_size

# Delta's own advice: smaller partitions cost more than they prune.
_LEAST_PARTITION = 10**9
# Delta refuses more, and each further column makes the order of the others worse.
_MOST_CLUSTERING_COLUMNS = 4


@dataclass(frozen=True)
class Layout:
    zorder: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    # None: by the table's size, see geostrata/tables/file_size.py.
    target_file_size: int | None = None
    # Fewer small files than these are let be, and a table that would fill fewer is not put in order.
    min_files: int = 8
    # Small files are gathered once they are at least this part of all files.
    small_file_share: float = 0.5
    # A table is put in order anew once at least this part of its bytes was written since the last time.
    unclustered_share: float = 0.3
    # Partitions that hold less on average are refused.
    min_partition_size: int = _LEAST_PARTITION
    # `layout: none` leaves the files as they were written.
    is_kept: bool = True

    @property
    def order(self) -> tuple[str, ...]:
        return self.zorder or self.cluster_by


_KEYS = [key.name for key in fields(Layout) if key.name != "is_kept"]


@dataclass(frozen=True)
class Model:
    """What is declared of one table."""

    # As dbt calls it in messages.
    name: str
    layout: Layout = field(default_factory=Layout)
    partition_by: tuple[str, ...] = ()
    # Columns that name a row: unique_key, and the entity's key.
    keys: tuple[str, ...] = ()
    # Declared table properties, as text.
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        layout: Any = None,
        partition_by: Any = None,
        keys: Any = None,
        properties: Mapping[str, Any] | None = None,
    ) -> Model:
        """From dbt's config, as people write it."""
        return cls(
            name=name,
            layout=parse_layout(name, layout),
            partition_by=names(partition_by),
            keys=names(keys),
            properties=as_text(properties or {}),
        )


def parse_layout(model: str, given: Any) -> Layout:
    if given is None:
        return Layout()
    if isinstance(given, str) and given.lower() == "none":
        return Layout(is_kept=False)
    if not isinstance(given, Mapping):
        raise GeostrataError(
            f"{model}: layout must be none or a mapping such as {{zorder: [h3]}}, got {given!r}"
        )
    for key in given:
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it knows {', '.join(_KEYS)}"
            raise GeostrataError(f"{model}: layout has no {key}: {hint}")
    layout = Layout(
        zorder=names(given.get("zorder")),
        cluster_by=names(given.get("cluster_by")),
        target_file_size=_target(model, given.get("target_file_size")),
        min_files=_whole(model, "min_files", given.get("min_files", Layout.min_files)),
        small_file_share=_share(
            model, "small_file_share", given.get("small_file_share", Layout.small_file_share)
        ),
        unclustered_share=_share(
            model, "unclustered_share", given.get("unclustered_share", Layout.unclustered_share)
        ),
        min_partition_size=_size(
            model, "min_partition_size", given.get("min_partition_size", _LEAST_PARTITION)
        ),
    )
    if layout.zorder and layout.cluster_by:
        raise GeostrataError(
            f"{model}: layout has zorder ({', '.join(layout.zorder)}) and cluster_by ({', '.join(layout.cluster_by)}): "
            "Delta keeps a table in one order only. Leave one of them out"
        )
    if len(layout.cluster_by) > _MOST_CLUSTERING_COLUMNS:
        raise GeostrataError(
            f"{model}: layout.cluster_by names {len(layout.cluster_by)} columns "
            f"({', '.join(layout.cluster_by)}): Delta takes at most {_MOST_CLUSTERING_COLUMNS}"
        )
    return layout


def names(given: Any) -> tuple[str, ...]:
    """Of one column or several."""
    if not given:
        return ()
    return (given,) if isinstance(given, str) else tuple(str(name) for name in given)


def as_text(properties: Mapping[str, Any]) -> dict[str, str]:
    """As Delta keeps them. A property that a model sets to null is one that the layer declares and this model does not want."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in properties.items()
        if value is not None
    }


def _target(model: str, given: Any) -> int | None:
    return None if given in (None, "auto") else _size(model, "target_file_size", given)


def _size(model: str, key: str, given: Any) -> int:
    try:
        return parse_size(given)
    except ValueError as error:
        raise GeostrataError(f"{model}: layout.{key}: {error}") from error


def _whole(model: str, key: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise GeostrataError(f"{model}: layout.{key} must be a whole number from 1, got {given!r}")
    return given


def _share(model: str, key: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise GeostrataError(f"{model}: layout.{key} must be above 0 and at most 1, got {given!r}")
    return float(given)
