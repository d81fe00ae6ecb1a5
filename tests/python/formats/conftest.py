"""What the readers make of the files of other packages, once for all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from outcomes import Outcome, outcomes
from third_party import NotFetchedError, fetch, unpack

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "landing"))


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    archives, trouble = {}, ""
    try:
        archives = fetch()
    except NotFetchedError as error:
        trouble = str(error)
    if trouble:
        # Outside of the except block: one line, without the way to it.
        pytest.fail(f"these tests need the source archives of other packages: {trouble}", pytrace=False)
    root = tmp_path_factory.mktemp("archives")
    every = []
    for package, archive in archives.items():
        folder = root / f"{package.name}-{package.version}"
        for path in unpack(archive, folder):
            every += outcomes(package.title, folder, path)
    return every
