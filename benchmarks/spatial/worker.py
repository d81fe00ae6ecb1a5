"""One engine in a process of its own. Reads a case a line and tells, a JSON object a line, what came of it."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from benchmarks.spatial import answers, engines, watch
from benchmarks.spatial.cases import CASES
from benchmarks.spatial.data import Data
from benchmarks.spatial.engines import spark
from benchmarks.spatial.engines.base import Engine, UnavailableError

# An engine that takes longer than this is timed once: its median would say no more.
_SLOW_S = 60
# A virtual machine compiles what it runs often: nobody is timed before so many runs, or so many seconds of them.
_WARM_RUNS, _WARM_S = 12, 40


def main() -> int:
    # Libraries print too: this channel is ours alone.
    with os.fdopen(os.dup(1), "w") as channel:
        os.dup2(2, 1)
        for line in sys.stdin:
            _answer(json.loads(line), channel)
    return 0


def _answer(spec: dict[str, Any], channel: TextIO) -> None:
    if spec["session"]:
        spark.keep_session(Path(spec["session"]))
    data = Data(Path(spec["data"]), spec["points"])
    engine = engines.create(spec["engine"], CASES[spec["case"]], data, Path(spec["scratch"]))
    try:
        engine.prepare()
        _measure(engine, spec["repeats"], Path(spec["answer"]), channel)
    except UnavailableError as reason:
        _tell(channel, event="unavailable", why=str(reason))
    finally:
        engine.exits.close()
    _tell(channel, event="end")


def _measure(engine: Engine, repeats: int, target: Path, channel: TextIO) -> None:
    _tell(channel, event="ready", steps=engine.steps)
    engine.reset()
    began = time.monotonic()
    answer = engine.run()
    warm_s = time.monotonic() - began
    _tell(channel, event="warm", wall_s=warm_s)
    for _ in range(_WARM_RUNS - 1 if repeats > 1 else 0):
        if time.monotonic() - began < _WARM_S:
            engine.reset()
            answer = engine.run()
            _tell(channel, event="warmer")
    for _ in range(repeats if warm_s < _SLOW_S else min(repeats, 1)):
        engine.reset()
        cpu, machine, began = watch.cpu_seconds(os.getpid()), watch.machine_cpu_seconds(), time.monotonic()
        answer = engine.run()
        wall_s = time.monotonic() - began
        cpu_s = watch.cpu_seconds(os.getpid()) - cpu
        others_s = watch.machine_cpu_seconds() - machine - cpu_s
        _tell(channel, event="run", wall_s=wall_s, cpu_s=cpu_s, others_s=others_s)
    answers.save(target, answer() if callable(answer) else answer)
    _tell(channel, event="done", extras=engine.extras)


def _tell(channel: TextIO, **words: Any) -> None:
    print(json.dumps(words), file=channel, flush=True)


if __name__ == "__main__":
    sys.exit(main())
