"""Scripts of rounds: played side by side, and made as short as time allows when they break a promise."""

from __future__ import annotations

import os
import time

from ground import Ground, MismatchError
from known import Move
from steps import Round, Step

# Seconds for making a script shorter.
PATIENCE = float(os.environ.get("PATIENCE", "300"))


def play(ground: Ground, rounds: list[Round]) -> dict[str, MismatchError]:
    """What is wrong, by world. A world that went wrong is left alone from then on."""
    names = list(rounds[0].steps)
    wrong: dict[str, MismatchError] = {}
    ground.reset(names)
    nothing = Round({name: Step() for name in names})
    for at, made in enumerate([*rounds, nothing]):
        is_last = at == len(rounds)
        while remaining := [name for name in names if name not in wrong]:
            try:
                # Whatever the last round left out or was killed in is made good by one more.
                if made.only(remaining).play(ground) and is_last:
                    ground.check_against_whole(remaining)
                break
            except MismatchError as found:
                wrong[found.world] = found
                made = nothing
    return wrong


def side_by_side(scripts: dict[str, list[Move]]) -> list[Round]:
    """One script for each world. A kill of one is a kill of all, so it gets a round of its own."""
    rounds = []
    for at in range(max(map(len, scripts.values()))):
        moves = {world: moves[at] if at < len(moves) else Move(Step()) for world, moves in scripts.items()}
        kills = [(world, move.kill) for world, move in moves.items() if move.kill]
        rounds.append(
            Round(
                {world: move.step for world, move in moves.items()},
                {world: move.left_out for world, move in moves.items()},
                kills[0] if kills else None,
            )
        )
    return rounds


def told(ground: Ground, rounds: list[Round], found: MismatchError) -> str:
    short, found = shorter(ground, [made.only([found.world]) for made in rounds], found)
    return "\n".join([str(found), "by these rounds:", *(f"    {made}" for made in short)])


def shorter(ground: Ground, rounds: list[Round], found: MismatchError) -> tuple[list[Round], MismatchError]:
    """Leaves out halves, quarters, ... single rounds, as long as something is still wrong."""
    until = time.monotonic() + PATIENCE
    again = play(ground, rounds).get(found.world) if PATIENCE else None
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
            outcome = play(ground, fewer).get(found.world) if fewer else None
            if outcome is not None:
                rounds, again = fewer, outcome
            else:
                at += size
        if size == 1:
            return rounds, again
        size //= 2
