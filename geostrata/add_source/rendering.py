"""The text of every file, from the choices."""

from __future__ import annotations

from geostrata.add_source.bronze_yaml import bronze_yaml
from geostrata.add_source.choosing import Choices
from geostrata.add_source.places import Place
from geostrata.add_source.project_files import paths_of
from geostrata.add_source.silver_yaml import silver_yaml
from geostrata.add_source.sql import checked_sql, raw_sql, silver_sql


def rendered(choices: Choices, place: Place) -> dict[str, str]:
    """By path below the project, in the order in which data flows."""
    texts = (
        bronze_yaml(choices, place),
        raw_sql(choices),
        checked_sql(choices),
        silver_sql(choices),
        silver_yaml(choices),
    )
    return dict(zip(paths_of(choices.name), texts, strict=True))
