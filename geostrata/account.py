"""`geostrata account`: prints the row ledger, and fails if a single row is missing or counted twice."""

from __future__ import annotations

import argparse
import json

from geostrata import ledger, text_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of objects, for machines")
    parser.add_argument("--target", help="dbt target (the profile's default)")


def run(args: argparse.Namespace) -> int:
    accounts = ledger.accounts(args.target)
    if args.json:
        print(json.dumps([account.as_dict() for account in accounts], indent=2))
    else:
        print(table(accounts))
        print(verdict(accounts))
    return 0 if all(account.balances for account in accounts) else 1


def table(accounts: list[ledger.Account]) -> str:
    header = ["", "landed", "accepted", "quarantined", "superseded", "missing"]
    rows = [
        [
            a.entity,
            f"{a.landed:,}",
            f"{a.accepted:,}",
            f"{a.quarantined:,}",
            f"{a.superseded:,}",
            f"{a.missing:,}",
        ]
        for a in accounts
    ]
    return text_table.render(header, rows)


def verdict(accounts: list[ledger.Account]) -> str:
    wrong = [account for account in accounts if not account.balances]
    if not wrong:
        return "Every landed row is accounted for."
    parts = [f"{a.entity}: {a.missing:,} missing, {a.counted_twice:,} counted twice" for a in wrong]
    return f"The ledger does not balance. {'; '.join(parts)}"
