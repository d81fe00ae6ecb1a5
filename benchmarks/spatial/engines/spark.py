"""The project's own Spark session, for Geostrata and for Sedona by itself, and tables as the project has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).resolve().parents[3]
# As in dbt_project.yml.
H3_RESOLUTION = 9
# A box that none of the data is near.
NOWHERE = (-2.0, -2.0, -1.0, -1.0)
# Where the session of a process that answers many cases has its state.
_kept: Path | None = None


def keep_session(folder: Path) -> None:
    """From now on one session serves all cases of this process, until it ends."""
    global _kept
    _kept = folder


def session(scratch: Path) -> Any:
    from dbt.adapters.sedona import session as sessions
    from dbt.adapters.sedona.connections import SedonaCredentials
    from dbt.adapters.sedona.python_macros import Folders

    profile = yaml.safe_load((_ROOT / "profiles" / "profiles.yml").read_text())
    local = profile["geostrata"]["outputs"]["local"]
    ours = {name: local[name] for name in ("python_preload", "spark_config")}
    home = _kept or scratch
    credentials = SedonaCredentials(schema="bench", state_dir=str(home / "state"), **ours)
    settings = credentials.session_settings(home)
    sessions.register_python_macros(settings, Folders(own=(_ROOT / "macros" / "python",)))
    return sessions.thread_session(settings)


def stop() -> None:
    from dbt.adapters.sedona import session as sessions

    if _kept is None:
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


def bytes_read(frame: Any, nothing: Any) -> int:
    """From files, for all columns of a frame. `nothing` asks the same table for rows that it has none of: what that reads, such as the
    table's log, is left out."""
    return _read_by_jvm(frame) - _read_by_jvm(nothing)


def _read_by_jvm(frame: Any) -> int:
    """As Linux counts it: reads of several ranges at once escape Hadoop's own count. Others can only add, so the least of three."""
    pid = frame.sparkSession._jvm.java.lang.ProcessHandle.current().pid()
    counts = []
    for _ in range(3):
        before = _bytes_read_by(pid)
        frame.write.format("noop").mode("overwrite").save()
        counts.append(_bytes_read_by(pid) - before)
    return min(counts)


def _bytes_read_by(pid: int) -> int:
    facts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(facts["rchar"])


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
