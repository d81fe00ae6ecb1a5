"""`python -m dbt.adapters.sedona.prepare`: fetches the jars and makes the class archive, so that later starts are quick and offline."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dbt.adapters.sedona import class_archive, session
from dbt.adapters.sedona.jars import jar_paths
from dbt_common.exceptions import DbtRuntimeError


def main(arguments: list[str]) -> int:
    if "--exercise" in arguments:
        _exercise()
        return 0
    try:
        jar_paths()
        class_archive.make()
    except DbtRuntimeError as error:
        print(error.msg, file=sys.stderr)
        return 1
    return 0


def _exercise() -> None:
    """Loads the classes that dbt statements use: catalog, Delta write, merge, optimize, Sedona functions, Python functions."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = session.SessionSettings(
            master="local[2]", state_dir=Path(scratch), log_dir=Path(scratch) / "logs", driver_memory="2g"
        )
        spark = session.thread_session(settings)
        spark.udf.register("plus_one", lambda number: number + 1, "bigint")
        for statement in (
            "create schema if not exists exercise",
            "create table exercise.points using delta tblproperties ('delta.enableChangeDataFeed' = 'true') as "
            "select id, st_asbinary(st_point(id / 10, id / 10)) as geometry, plus_one(id) as other from range(100)",
            "show table extended in exercise like '*'",
            "describe extended exercise.points",
            "create or replace temporary view news as select 1 as id, geometry, 2 as other from exercise.points limit 1",
            "merge into exercise.points as old using news as new on old.id = new.id "
            "when matched then update set * when not matched then insert *",
            "alter table exercise.points add constraint known check (id is not null)",
            "insert into exercise.points select id + 1000, geometry, other from exercise.points",
            "optimize exercise.points zorder by (id)",
            "describe history exercise.points",
            "create or replace view exercise.boxes as select st_envelope_aggr(st_geomfromwkb(geometry)) as box from exercise.points",
            "select count(*), max(st_x(st_geomfromwkb(geometry))) from exercise.points group by id % 3 order by 1",
        ):
            spark.sql(statement).collect()
        # The JVM writes the archive when it ends.
        session.stop(class_archive.LONGEST_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
