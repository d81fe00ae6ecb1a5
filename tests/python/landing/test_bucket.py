"""The same landing from a bucket, on a server of our own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lakehouse import Lakehouse
from pyarrow import fs
from test_arrivals import HEADER, balanced, sign, silver


@pytest.fixture
def bucket(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = subprocess.Popen(
        [
            str(Path(sys.executable).parent / "moto_server"),
            "-H",
            "127.0.0.1",
            "-p",
            str(lakehouse.bucket_port),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        files = fs.S3FileSystem(
            endpoint_override=f"http://127.0.0.1:{lakehouse.bucket_port}",
            access_key="any",
            secret_key="any",  # noqa: S106  # the server takes any
            allow_bucket_creation=True,
        )
        for attempt in range(60):
            try:
                files.create_dir("town")
                break
            except OSError:
                assert server.poll() is None and attempt < 59
                time.sleep(0.5)
        yield files
    finally:
        server.terminate()
        server.wait()


def put(files: Any, name: str, *lines: str) -> None:
    with files.open_output_stream(f"town/{name}") as stream:
        stream.write((HEADER + "".join(lines)).encode())


def test_files_of_a_bucket_land_as_those_of_a_folder(lakehouse: Lakehouse, bucket: Any) -> None:
    lakehouse.forget("signs")
    folder = "{{ var('landing') }}/signs"
    lakehouse.declare("signs", location="s3a://town/signs")
    try:
        said = lakehouse.told("run", "--select", "+signs")
        assert "landing.signs: there is no folder s3a://town/signs, nothing to load" in said
        put(bucket, "signs/a.csv", sign("1", "one"), sign("2", "bad", place="?"))
        put(bucket, "signs/2026/b.csv", sign("3", "three"))
        put(bucket, "signs/_hidden/c.csv", sign("4", "hidden"))
        lakehouse.land("signs")
        assert silver(lakehouse) == {"1": "one", "3": "three"}
        (refused,) = lakehouse.quarantine("signs")
        assert (refused["_source_file"], refused["_source_position"]) == ("s3a://town/signs/a.csv", "line 3")
        # Replaced a second later at least: that is how exactly a bucket tells the time.
        time.sleep(1.1)
        put(bucket, "signs/a.csv", sign("1", "one again"))
        lakehouse.land("signs")
        assert silver(lakehouse) == {"1": "one again", "3": "three"}
        assert balanced(lakehouse)["landed"] == 4
        # A second run finds nothing new.
        lakehouse.land("signs")
        assert balanced(lakehouse)["landed"] == 4
    finally:
        lakehouse.declare("signs", location=folder)
