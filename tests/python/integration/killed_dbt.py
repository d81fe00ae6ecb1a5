"""dbt, which kills itself and all processes of its group at a chosen commit.

python killed_dbt.py <table> <number of its commit> <before|after> <arguments of dbt>
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "landing_model"))

from killing import Kill, KillSwitch, install


def main() -> None:
    table, number, side, *arguments = sys.argv[1:]
    from dbt.cli.main import cli

    switch = KillSwitch(is_real=True)
    install(switch, pytest.MonkeyPatch())
    sys.argv = ["dbt", *arguments]
    with switch.armed(Kill(int(number), side == "after"), rf"\b{re.escape(table)}\b"):
        cli()


if __name__ == "__main__":
    main()
