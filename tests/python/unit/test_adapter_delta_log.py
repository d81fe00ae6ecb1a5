"""Reading commits from a table's log, with Hadoop's file system played by the local one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.sedona.delta_log import Commit, TableLog


class Reader:
    def __init__(self, text: str) -> None:
        self._lines = iter(text.splitlines())

    def readLine(self) -> str | None:  # noqa: N802  # Java's name
        return next(self._lines, None)

    def close(self) -> None:
        pass


class HadoopPath:
    def __init__(self, *parts: Any) -> None:
        self.path = Path(*(getattr(part, "path", part) for part in parts))

    def getName(self) -> str:  # noqa: N802
        return self.path.name

    def getPath(self) -> HadoopPath:  # noqa: N802
        return self

    def getFileSystem(self, _: Any) -> Any:  # noqa: N802
        return SimpleNamespace(
            listStatus=lambda folder: [HadoopPath(path) for path in folder.path.iterdir()],
            open=lambda path: path.path.read_text(),
        )


@pytest.fixture
def spark(tmp_path: Path) -> Any:
    location = SimpleNamespace(path=tmp_path)
    state = SimpleNamespace(
        catalog=lambda: SimpleNamespace(
            getTableMetadata=lambda _: SimpleNamespace(location=lambda: location)
        ),
        sqlParser=lambda: SimpleNamespace(parseTableIdentifier=lambda name: name),
        newHadoopConf=lambda: None,
    )
    io = SimpleNamespace(BufferedReader=Reader, InputStreamReader=lambda stream, _: stream)
    hadoop = SimpleNamespace(hadoop=SimpleNamespace(fs=SimpleNamespace(Path=HadoopPath)))
    return SimpleNamespace(
        _jsparkSession=SimpleNamespace(sessionState=lambda: state),
        _jvm=SimpleNamespace(org=SimpleNamespace(apache=hadoop), java=SimpleNamespace(io=io)),
    )


def commit(folder: Path, version: int, *actions: dict[str, Any]) -> None:
    log = folder / "_delta_log"
    log.mkdir(exist_ok=True)
    (log / f"{version:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))


def test_commits_newest_first(spark: Any, tmp_path: Path) -> None:
    commit(tmp_path, 0, {"commitInfo": {"txnId": "a"}}, {"metaData": {}})
    commit(tmp_path, 1, {"commitInfo": {"txnId": "b", "userMetadata": "a note"}})
    commit(tmp_path, 10, {"commitInfo": {"txnId": "c"}})
    log_folder = tmp_path / "_delta_log"
    for other in (
        "00000000000000000010.checkpoint.parquet",
        "_last_checkpoint",
        ".00000000000000000011.json.tmp",
    ):
        (log_folder / other).touch()
    log = TableLog(spark, "town.t")
    assert log.versions == [0, 1, 10]
    assert list(log.newest(2)) == [Commit(10, None, None, "c"), Commit(1, "a note", None, "b")]
    assert log.commit(0).transaction == "a"


def test_another_writer_may_put_its_words_last_or_nowhere(spark: Any, tmp_path: Path) -> None:
    commit(tmp_path, 0, {"add": {"path": "x"}}, {"commitInfo": {"userMetadata": "late"}})
    commit(tmp_path, 1, {"add": {"path": "y"}})
    log = TableLog(spark, "town.t")
    assert [found.note for found in log.newest(2)] == [None, "late"]
