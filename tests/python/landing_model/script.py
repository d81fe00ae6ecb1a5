"""A script of steps that breaks a promise, made as short as time allows."""

from __future__ import annotations

import os
import time

from ground import Ground, MismatchError
from steps import Round

# Seconds for making a script shorter.
PATIENCE = float(os.environ.get("PATIENCE", "300"))


def play(ground: Ground, rounds: list[Round]) -> MismatchError | None:
    (world,) = rounds[0].steps
    ground.reset([world])
    try:
        ground.run([world])
        for made in rounds:
            if made.play(ground):
                ground.check_against_whole([world])
        if rounds[-1].kill or rounds[-1].left_out:
            ground.run([world])
    except MismatchError as found:
        return found
    return None


def told(ground: Ground, rounds: list[Round], found: MismatchError) -> str:
    short, found = shorter(ground, rounds, found)
    lines = [f"    {made}" for made in short]
    return "\n".join([str(found), "by these rounds:", *lines])


def shorter(ground: Ground, rounds: list[Round], found: MismatchError) -> tuple[list[Round], MismatchError]:
    """Leaves out halves, quarters, ... single rounds, as long as something is still wrong."""
    until = time.monotonic() + PATIENCE
    again = play(ground, rounds) if PATIENCE else None
    if again is None:
        # Alone, the world is well: another one has a part in it, or the moment.
        return rounds, found
    size = max(1, len(rounds) // 2)
    while True:
        at = 0
        while at < len(rounds):
            if time.monotonic() > until:
                return rounds, again
            fewer = rounds[:at] + rounds[at + size :]
            outcome = play(ground, fewer) if fewer else None
            if outcome is not None:
                rounds, again = fewer, outcome
            else:
                at += size
        if size == 1:
            return rounds, again
        size //= 2
