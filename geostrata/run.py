"""`geostrata run`: demo data if there is none, the whole build, the docs, and a summary that a person wants to read."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geostrata import dbt_calls, lineage_docs, settings, summary
from geostrata.errors import GeostrataError
from geostrata.progress import BuildProgress, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="size of the demo town, if it is generated now (1)")
    parser.add_argument("--target", help="dbt target (the profile's default)")
    parser.add_argument(
        "--full-refresh", action="store_true", help="rebuild incremental tables from all landed files"
    )


class Stages:
    """Seconds by stage, in order."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - began


def run(args: argparse.Namespace) -> int:
    stages = Stages()
    _demo(stages, args.scale)
    _prepare(stages)
    target = ["--target", args.target] if args.target else []
    refresh = ["--full-refresh"] if args.full_refresh else []

    progress = BuildProgress()
    with stages.timed("build"):
        outcome = dbt_calls.invoke(["build", *target, *refresh], progress)
    progress.close()
    if not outcome.success:
        # dbt has said what failed and why.
        print(f"The build failed. The whole story is in {settings.logs_dir() / 'dbt.log'}.")
        return 1
    for name, seconds in progress.seconds.items():
        stages.seconds[f"  {name}"] = seconds
    if not lineage_docs.are_current(outcome.result, target):
        say("docs")
        with stages.timed("docs"):
            lineage_docs.generate(target)
    with stages.timed("ledger"):
        facts = summary.collect(args.target)
    _record(stages, facts)
    print(summary.render(facts, stages.seconds))
    return 0 if facts.balances else 1


def _record(stages: Stages, facts: summary.Facts) -> None:
    """The run's figures for machines, beside its logs."""
    record = {"seconds": stages.seconds, "accounts": [account.as_dict() for account in facts.accounts]}
    (settings.logs_dir() / "last_run.json").write_text(json.dumps(record, indent=2))


def _demo(stages: Stages, scale: float | None) -> None:
    from geostrata import demo

    landing = settings.landing_dir()
    if (landing / "manifest.json").is_file():
        if scale is not None:
            _check_scale(landing, scale)
        return
    if landing.is_dir() and any(landing.iterdir()) and not (landing / ".generating.json").is_file():
        # Files of the user's own: there is nothing to make up.
        return
    say("demo data")
    with stages.timed("demo data"):
        demo.generate(landing, scale=scale or 1)


def _check_scale(landing: Path, scale: float) -> None:
    present = json.loads((landing / "manifest.json").read_text())["scale"]
    if present != scale:
        raise GeostrataError(
            f"{landing} holds a demo town of scale {present}, not {scale:g}: run without --scale, "
            "or remove all data first with `make clean-state`"
        )


def _prepare(stages: Stages) -> None:
    from dbt.adapters.sedona import class_archive, jars

    if jars.jar_paths_if_cached() is None or class_archive.is_wanted():
        say("engine, once for this environment")
        with stages.timed("engine"):
            jars.jar_paths()
            class_archive.make()
