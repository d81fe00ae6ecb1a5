"""Run as a process of its own: prints the local path of each jar coordinate, fetched by Spark's resolver."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dbt.adapters.sedona.java import find_java, launcher_home


def main(coordinates: list[str]) -> int:
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as scratch:
        os.environ["JAVA_HOME"] = str(launcher_home(find_java(), Path(scratch) / "java"))
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", scratch)
            .getOrCreate()
        )
        paths = []
        for coordinate in coordinates:
            try:
                spark.sql(f"add jar 'ivy://{coordinate}?transitive=false'")
            except Exception as error:
                print(str(error).splitlines()[0], file=sys.stderr)
                return 1
            # Ivy's cache names the file group_artifact-version.jar; Spark lists it by that name.
            group, artifact, version = coordinate.split(":")
            name = f"{group}_{artifact}-{version}.jar"
            found = [path for path in _ivy_folders(spark) if (path / name).is_file()]
            if not found:
                print(
                    f"{coordinate} was resolved but {name} is nowhere in {_ivy_folders(spark)}",
                    file=sys.stderr,
                )
                return 1
            paths.append(str(found[0] / name))
        spark.stop()
    print("\n".join(f"jar {path}" for path in paths))
    return 0


def _ivy_folders(spark) -> list[Path]:  # type: ignore[no-untyped-def]  # pyspark is imported late, in main
    chosen = spark.conf.get("spark.jars.ivy", None)
    # Java takes a user's home from the system, whatever HOME says.
    home = Path(spark._jvm.java.lang.System.getProperty("user.home"))
    homes = [Path(chosen)] if chosen else sorted(home.glob(".ivy2*"))
    return [home / "jars" for home in homes]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
