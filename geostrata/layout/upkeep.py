"""All that a table needs after a run, so that it is as its model declares it: properties, clustering, layout of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dbt.adapters.sedona.table_figures import TableFigures

from geostrata.layout import properties, statistics
from geostrata.layout.columns import leaves_of_json
from geostrata.layout.declared import Model
from geostrata.layout.judging import Work, judge
from geostrata.layout.ordering import Unordered


@dataclass(frozen=True)
class Upkeep:
    set: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    drift: list[str] = field(default_factory=list)
    # New columns of liquid clustering, none of them to end it; None where it is as declared.
    cluster_by: list[str] | None = None
    work: Work | None = None
    files: int = 0


def plan(model: Model, table: TableFigures, unordered: Callable[[], Unordered]) -> Upkeep:
    declared = declared_properties(model, leaves_of_json(table.schema))
    differing = properties.changes(declared, table.properties)
    cluster_by = None
    if model.layout.is_kept and table.clustering != model.layout.cluster_by:
        cluster_by = list(model.layout.cluster_by)
    return Upkeep(
        set=differing.set,
        unset=differing.unset,
        drift=differing.drift,
        cluster_by=cluster_by,
        work=judge(model.layout, table, unordered),
        files=table.files,
    )


def declared_properties(model: Model, columns: Mapping[str, str]) -> dict[str, str]:
    """What the project says, and the columns that are to have statistics."""
    declared = dict(model.properties)
    if columns and not statistics.is_declared(model) and (wanted := statistics.wanted(model, columns)):
        declared[statistics.PROPERTY] = wanted
    return declared


def wanted_properties(model: Model, columns: Mapping[str, str]) -> dict[str, str]:
    """For a new table: with the note of what is ours."""
    declared = declared_properties(model, columns)
    return declared | {properties.REMEMBERED: properties.remembered(declared)} if declared else {}
