"""What came of a run: rows by entity, gold tables, seconds by stage, and where to look next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geostrata import account, ledger, settings, text_table


@dataclass(frozen=True)
class GoldTable:
    name: str
    rows: int
    size: int
    files: int


@dataclass(frozen=True)
class Facts:
    accounts: list[ledger.Account]
    gold: list[GoldTable]
    # Differences from the demo's manifest; None where the landing is no demo.
    differences: list[str] | None

    @property
    def balances(self) -> bool:
        return all(account.balances for account in self.accounts) and not self.differences


def collect(target: str | None = None) -> Facts:
    accounts = ledger.accounts(target)
    manifest = settings.landing_dir() / "manifest.json"
    differences = None
    if manifest.is_file():
        differences = compare(json.loads(manifest.read_text()), accounts, ledger.expectation_counts(target))
    return Facts(accounts, gold_tables(), differences)


def compare(
    manifest: dict[str, Any], accounts: list[ledger.Account], failed: dict[str, dict[str, int]]
) -> list[str]:
    """Each number of the demo's manifest that the tables do not show."""
    differences = []
    found = {account.entity: account.as_dict() for account in accounts}
    for entity, planted in manifest["entities"].items():
        for name in ("landed", "accepted", "quarantined", "superseded"):
            actual = found.get(entity, {}).get(name, 0)
            if actual != planted[name]:
                differences.append(f"{entity} {name}: {actual:,} in the tables, {planted[name]:,} planted")
        wanted = {**planted["expectations"], **planted["warnings"]}
        for name in sorted(wanted.keys() | failed.get(entity, {}).keys()):
            actual = failed.get(entity, {}).get(name, 0)
            if actual != wanted.get(name, 0):
                differences.append(
                    f"{entity} {name}: {actual:,} rows failed it, {wanted.get(name, 0):,} planted"
                )
    return differences


def gold_tables() -> list[GoldTable]:
    """Rows and sizes from the Delta logs alone. Which tables there are, dbt's manifest says."""
    import pyarrow
    from deltalake import DeltaTable

    nodes = json.loads((settings.project_dir() / "target" / "manifest.json").read_text())["nodes"].values()
    tables = []
    for node in sorted(nodes, key=lambda node: node["name"]):
        path = settings.warehouse_dir() / f"{node['schema']}.db" / node["alias"]
        if node["resource_type"] == "model" and node["schema"] == "gold" and (path / "_delta_log").is_dir():
            files = pyarrow.table(DeltaTable(path).get_add_actions(flatten=True))
            rows = sum(value or 0 for value in files["num_records"].to_pylist())
            tables.append(GoldTable(node["name"], rows, sum(files["size_bytes"].to_pylist()), files.num_rows))
    return tables


def render(facts: Facts, seconds: dict[str, float]) -> str:
    parts = ["", account.table(facts.accounts), "", account.verdict(facts.accounts)]
    if facts.differences is not None:
        parts.append("All numbers equal the demo's manifest." if not facts.differences else "Not as planted:")
        parts += [f"  {line}" for line in facts.differences]
    rows = [
        [table.name, f"{table.rows:,}", text_table.size(table.size), f"{table.files:,}"]
        for table in facts.gold
    ]
    parts += ["", text_table.render(["gold", "rows", "size", "files"], rows), ""]
    parts += [
        text_table.render(["seconds", ""], [[name, f"{value:.1f}"] for name, value in seconds.items()]),
        "",
    ]
    parts += _next_steps()
    return "\n".join(parts)


def _next_steps() -> list[str]:
    docs = _relative(settings.project_dir() / "target" / "static_index.html")
    return [
        "Next:",
        f"  lineage and every column   open {docs}",
        "  ask a question             .venv/bin/dbt show --inline \"select * from {{ ref('zone_summary') }}\"",
        "  what was refused, and why  .venv/bin/dbt show --inline \"select * from {{ ref('quarantine') }}\"",
        "  another day of data        .venv/bin/geostrata demo --day 4 && make run",
    ]


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
