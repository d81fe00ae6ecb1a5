"""Lists data files through Hadoop, so that folders and buckets look the same."""

from __future__ import annotations

import re
from typing import Any


def list_files(spark: Any, location: str) -> list[dict[str, Any]]:
    """Files below the location, without the hidden ones that Spark's readers skip too. A missing folder has none."""
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(location)
    file_system = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not file_system.exists(path):
        return []
    root = file_system.makeQualified(path).toUri().getPath()
    found = file_system.listFiles(path, True)
    files = []
    while found.hasNext():
        status = found.next()
        uri = status.getPath().toUri()
        parts = uri.getPath()[len(root) :].strip("/").split("/")
        if not any(part.startswith(("_", ".")) for part in parts):
            # Written as `_metadata.file_path` writes it (one slash for a local file), so that the two can be compared.
            files.append(
                {
                    "path": re.sub("^file:/+", "file:/", uri.toString()),
                    "modified_ms": status.getModificationTime(),
                    "bytes": status.getLen(),
                }
            )
    return sorted(files, key=lambda file: file["path"])
