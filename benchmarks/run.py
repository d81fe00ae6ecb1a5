"""`make bench-run`: times `geostrata run` stage by stage, from nothing and again with nothing new, in a state of its own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from geostrata import settings, text_table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        first, repeat = _run(state, ["--scale", f"{scale:g}"]), _run(state, [])
    names = list(dict.fromkeys([*first, *repeat]))
    rows = [[name, _seconds(first, name), _seconds(repeat, name)] for name in names]
    print(text_table.render([f"seconds at scale {scale:g}", "first", "repeat"], rows))
    print(f"\n  The repeat took {repeat['whole run'] / first['whole run']:.2f} of the first run's time.")
    return 0


def _run(state: Path, arguments: list[str]) -> dict[str, float]:
    began = time.monotonic()
    subprocess.run(
        [str(Path(sys.executable).parent / "geostrata"), "run", *arguments],
        cwd=settings.project_dir(),
        env={**os.environ, settings.STATE_VARIABLE: str(state)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    whole = time.monotonic() - began
    seconds: dict[str, float] = json.loads((state / "logs" / "last_run.json").read_text())["seconds"]
    return {**seconds, "whole run": whole}


def _seconds(seconds: dict[str, float], name: str) -> str:
    return f"{seconds[name]:.1f}" if name in seconds else ""


if __name__ == "__main__":
    sys.exit(main())
