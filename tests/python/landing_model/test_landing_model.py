"""The landing against an oracle in plain Python: whatever happens to files, rules, models and tables, whenever a run is killed."""

from __future__ import annotations

import os
import time

import hypothesis.strategies as st
import pytest
from ground import Ground, MismatchError
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from known import DATED, JUDGED, SNAPSHOTS
from script import play, side_by_side
from steps import KILLS, LEFT_OUT, STEPS, Round
from worlds import SIGNS, STOPS, WORLDS

STEP_COUNT = int(os.environ.get("STEPS", "30"))
SEED = int(os.environ.get("SEED", "1"))
# Of one life of the worlds: long enough for a history, short enough to begin anew now and then.
ROUNDS = int(os.environ.get("ROUNDS", "25"))


def _batches() -> list[dict[str, str]]:
    """Scripts by world, as many at once as there are worlds."""
    waiting = {SIGNS[::2]: list(DATED), SIGNS[1::2]: list(JUDGED), STOPS: list(SNAPSHOTS)}
    batches = []
    while any(waiting.values()):
        batches.append({world: names.pop(0) for of, names in waiting.items() for world in of if names})
    return batches


@pytest.mark.parametrize("scripts", _batches(), ids=lambda batch: ", ".join(batch.values()))
def test_what_once_broke(ground: Ground, scripts: dict[str, str]) -> None:
    known = DATED | JUDGED | SNAPSHOTS
    wrong = play(ground, side_by_side({world: known[name] for world, name in scripts.items()}))
    assert not wrong, "\n".join(f"{scripts[world]}: {found}" for world, found in wrong.items())


def test_the_landing_against_its_model(ground: Ground) -> None:
    done = lives = 0
    began = time.monotonic()

    class Landing(RuleBasedStateMachine):
        @initialize()
        def begin(self) -> None:
            nonlocal lives
            lives += 1
            self.rounds: list[Round] = []
            ground.reset(WORLDS)

        @rule(steps=st.tuples(*[STEPS] * len(WORLDS)), left_out=st.tuples(*[LEFT_OUT] * len(WORLDS)))
        def land(self, steps: tuple[object, ...], left_out: tuple[tuple[str, ...], ...]) -> None:
            self._play(Round(dict(zip(WORLDS, steps, strict=True)), dict(zip(WORLDS, left_out, strict=True))))

        @rule(steps=st.tuples(*[STEPS] * len(WORLDS)), kill=KILLS, of=st.sampled_from(WORLDS))
        def kill(self, steps: tuple[object, ...], kill: object, of: str) -> None:
            self._play(Round(dict(zip(WORLDS, steps, strict=True)), {}, (of, kill)))

        def _play(self, made: Round) -> None:
            nonlocal done
            # In the first life that Hypothesis makes, every step is its simplest and so the same.
            if lives == 1 or done >= STEP_COUNT:
                return
            self.rounds.append(made)
            try:
                if made.play(ground):
                    done += len(WORLDS)
                    ground.check_against_whole([name for name in WORLDS if not made.left_out.get(name)])
            except MismatchError as found:
                from script import told

                pytest.fail(
                    told(ground, [one.only(found.world) for one in self.rounds], found), pytrace=False
                )
            print(f"{done} steps, {time.monotonic() - began:.0f} s", dict(ground.spent), flush=True)

    run_state_machine_as_test(
        seed(SEED)(Landing),
        settings=settings(
            # Killed rounds don't count, and some lives are empty: enough for both.
            max_examples=3 + 3 * STEP_COUNT // (len(WORLDS) * ROUNDS),
            stateful_step_count=ROUNDS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        ),
    )
    assert done >= STEP_COUNT
