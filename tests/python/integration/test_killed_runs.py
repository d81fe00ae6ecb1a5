"""Runs killed at random moments and between the commits of a model leave nothing behind: two here, fifty by `make test-faults`."""

from __future__ import annotations

import os
from pathlib import Path

from killed_runs import Lakehouse, disturb
from town import Town

KILLS = int(os.environ.get("KILLS", "2"))
LAYERS = ("bronze.", "silver.", "gold.")
SEED = int(os.environ.get("SEED", "1"))


def test_killed_runs_leave_nothing_behind(town: Town, tmp_path: Path) -> None:
    """Accounts, silver and gold equal those of the town, which nobody disturbed."""
    undisturbed = town.as_built
    disturbed = Lakehouse(tmp_path / "the state", tmp_path / "the project")
    tables = [*sorted(name.replace(".db/", ".") for name in town.data_files() if name.startswith(LAYERS))]
    assert len(disturb(disturbed, undisturbed.manifest, tables, KILLS, SEED)) == KILLS
    counts = ("landed", "accepted", "quarantined", "superseded")
    accounts = {row["entity"]: [row[name] for name in counts] for row in disturbed.accounts()}
    entities = undisturbed.manifest["entities"].items()
    assert accounts == {entity: [planted[name] for name in counts] for entity, planted in entities}
    silver = Town(disturbed.state).silver()
    for name, rows in undisturbed.silver.items():
        assert silver[name] == rows, f"{name} differs"
    gold = Town(disturbed.state).gold()
    assert gold.keys() == undisturbed.gold.keys()
    for name, rows in undisturbed.gold.items():
        assert gold[name] == rows, f"{name} differs"
