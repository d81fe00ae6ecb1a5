"""The lineage docs as one static page, made again only when they would differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geostrata import dbt_calls, settings
from geostrata.errors import GeostrataError

# What the page is made of, besides the tables.
_SOURCES = (
    "dbt_project.yml",
    "profiles",
    "models",
    "macros",
    "seeds",
    "snapshots",
    "tests",
    "docs",
    "adapter",
)


def page() -> Path:
    return settings.project_dir() / "target" / "static_index.html"


def generate(target: list[str]) -> None:
    outcome = dbt_calls.invoke(["docs", "generate", "--static", *target])
    if not outcome.success:
        raise GeostrataError(f"the docs could not be generated: {dbt_calls.first_line(outcome)}")
    _mark().write_text(_identity(target))


def are_current(build: Any, target: list[str]) -> bool:
    """True if the page was made from this state's tables, and neither they nor the project's files have changed since."""
    if not page().is_file() or not _mark().is_file() or _mark().read_text() != _identity(target):
        return False
    if any(_wrote(result) for result in build.results):
        return False
    made = page().stat().st_mtime
    files = (file for name in _SOURCES for file in _files(settings.project_dir() / name))
    return all(file.stat().st_mtime < made for file in files)


def _wrote(result: Any) -> bool:
    """Views and seeds change with the project's files only."""
    if result.node.resource_type not in ("model", "snapshot") or result.node.config.materialized == "view":
        return False
    return bool(result.message != "NOTHING NEW")


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.suffix != ".pyc"]


def _identity(target: list[str]) -> str:
    """Another state's run, another target's, or plain dbt, writes the same page."""
    return f"{page()} {page().stat().st_mtime_ns} {' '.join(target)}"


def _mark() -> Path:
    return settings.logs_dir() / "docs.made"
