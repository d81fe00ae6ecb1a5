"""The process that Spark forks its Python workers from, with the project's modules already imported.

Spark starts a worker for every task that runs Python at the same time, and each would import pandas, Arrow and the rest anew.
Forked from here they have them from the first moment. `python_preload` in the profile says which.
A module of its own, outside the adapter's package, because importing that one brings in all of dbt.
"""

from __future__ import annotations

import contextlib
import importlib
import os

PRELOAD = "DBT_SEDONA_PRELOAD"


def preload() -> None:
    for name in filter(None, os.environ.get(PRELOAD, "").split(",")):
        # What is wrong with a module is told where it is used.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
