"""Where things are. One setting, GEOSTRATA_STATE, moves all that a run writes."""

from __future__ import annotations

import os
from pathlib import Path

from geostrata.errors import GeostrataError

STATE_VARIABLE = "GEOSTRATA_STATE"


def project_dir() -> Path:
    """The dbt project: the nearest folder with a dbt_project.yml, from here upwards, else the one of this file."""
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / "dbt_project.yml").is_file():
                return folder
    raise GeostrataError("no dbt_project.yml in this folder or above it: run geostrata inside the project")


def state_dir() -> Path:
    """Everything that is written: landing, warehouse, metastore, logs. A relative setting counts from the project."""
    return project_dir() / os.environ.get(STATE_VARIABLE, ".geostrata")


def landing_dir() -> Path:
    return state_dir() / "landing"


def warehouse_dir() -> Path:
    return state_dir() / "warehouse"


def metastore_dir() -> Path:
    return state_dir() / "metastore"


def logs_dir() -> Path:
    return state_dir() / "logs"


def profiles_dir() -> Path:
    """As dbt does: what the environment says, else the project's own."""
    return project_dir() / os.environ.get("DBT_PROFILES_DIR", "profiles")
