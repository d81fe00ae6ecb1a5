"""The project's own Spark session, for Geostrata and for Sedona by itself, and tables as the project has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).resolve().parents[3]
# As in dbt_project.yml.
H3_RESOLUTION = 9


def session(scratch: Path) -> Any:
    from dbt.adapters.sedona import session as sessions
    from dbt.adapters.sedona.connections import SedonaCredentials

    profile = yaml.safe_load((_ROOT / "profiles" / "profiles.yml").read_text())
    local = profile["geostrata"]["outputs"]["local"]
    ours = {name: local[name] for name in ("python_preload", "spark_config")}
    credentials = SedonaCredentials(schema="bench", state_dir=str(scratch / "state"), **ours)
    settings = credentials.session_settings(scratch)
    sessions.register_python_macros(settings, [_ROOT / "macros" / "python"])
    return sessions.thread_session(settings)


def stop() -> None:
    from dbt.adapters.sedona import session as sessions

    sessions.stop()


def columns(frame: Any) -> list[Any]:
    """Of a small outcome."""
    table = frame.toArrow()
    return [table.column(name).to_numpy() for name in table.column_names]


def with_contract(points: Any) -> Any:
    """The columns that every spatial table of the project has: bbox and H3 cell."""
    place = "st_geomfromwkb(geometry)"
    x, y = f"st_x({place})", f"st_y({place})"
    return points.selectExpr(
        "*",
        f"struct({x} as xmin, {y} as ymin, {x} as xmax, {y} as ymax) as bbox",
        f"st_h3cellids({place}, {H3_RESOLUTION}, false)[0] as h3",
    )


def with_box(shapes: Any) -> Any:
    sides = ", ".join(
        f"st_{side}(st_geomfromwkb(geometry)) as {side}" for side in ("xmin", "ymin", "xmax", "ymax")
    )
    return shapes.selectExpr("*", f"struct({sides}) as bbox")


def parent(cell: str, resolution: int) -> str:
    """As macros/h3/h3_parent.sql writes it of a cell that is one."""
    return f"{cell} & {-1 - 15 * 2**52} | {resolution * 2**52 + 8 ** (15 - resolution) - 1}"


class BytesRead:
    """By all tasks of the session since this was made, as Hadoop's file systems count it."""

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self._before = next((stage.stageId() for stage in self._newest_stages()), -1)

    def total(self) -> int:
        stages = itertools.takewhile(lambda stage: stage.stageId() > self._before, self._newest_stages())
        return sum(stage.inputBytes() for stage in stages)

    def _newest_stages(self) -> Iterator[Any]:
        self._context._jsc.sc().listenerBus().waitUntilEmpty()
        no_quantiles = self._context._gateway.new_array(self._context._jvm.double, 0)
        stages = self._context._jsc.sc().statusStore().stageList(None, False, False, no_quantiles, None)
        return (stages.apply(number) for number in range(stages.size()))


def bytes_of_files(frame: Any) -> int:
    """Sizes of the files that were left after pruning, of a frame that has run."""
    waiting, total = [frame._jdf.queryExecution().executedPlan()], 0
    while waiting:
        plan = waiting.pop()
        size = plan.metrics().get("filesSize")
        total += size.get().value() if size.isDefined() else 0
        children = plan.children()
        waiting += [children.apply(number) for number in range(children.size())]
    return total


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))
