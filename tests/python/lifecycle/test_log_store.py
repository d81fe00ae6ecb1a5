"""Of several that commit the same version on a local disk, one succeeds and the others are told."""

from __future__ import annotations

import threading
from pathlib import Path

from deltalake import DeltaTable
from lifecycle_bench import LifecycleBench
from maintain_bench import SharedEngine
from py4j.protocol import Py4JJavaError

THREADS, VERSIONS = 6, 40


def test_a_version_is_written_once(bench: LifecycleBench, tmp_path: Path) -> None:
    bench.run({"anything": "select 1 as one"})
    spark = SharedEngine().handle().spark
    jvm, conf = spark._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    won: list[tuple[int, int]] = []
    refused: list[str] = []
    together = threading.Barrier(THREADS)

    def commit_all(writer: int) -> None:
        store = jvm.io.delta.storage.ExclusiveLocalLogStore(conf)
        for version in range(VERSIONS):
            path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / f"{version}.json"))
            actions = jvm.java.util.ArrayList()
            actions.add(f"writer {writer}")
            together.wait()
            try:
                store.write(path, actions.iterator(), False, conf)
                won.append((version, writer))
            except Py4JJavaError as error:
                refused.append(error.java_exception.getClass().getName())

    threads = [threading.Thread(target=commit_all, args=(writer,)) for writer in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(version for version, _ in won) == list(range(VERSIONS))
    assert refused == ["java.nio.file.FileAlreadyExistsException"] * VERSIONS * (THREADS - 1)
    for version, writer in won:
        assert (tmp_path / f"{version}.json").read_text() == f"writer {writer}\n"
    # Nothing else is left there.
    assert len(list(tmp_path.iterdir())) == VERSIONS


def test_spark_commits_by_it(bench: LifecycleBench, tmp_path: Path) -> None:
    bench.run({"anything": "select 1 as one"})
    spark = SharedEngine().handle().spark
    path = tmp_path / "a folder" / "t"
    spark.sql(f"create table delta.`{path}` using delta as select 1 as x")
    spark.sql(f"insert into delta.`{path}` values (2)")
    assert sorted(DeltaTable(path).to_pyarrow_table()["x"].to_pylist()) == [1, 2]
    # Delta's own store writes a checksum beside each commit.
    assert not list((path / "_delta_log").glob(".*.json.crc"))
