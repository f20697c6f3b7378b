"""One training in its own process, for `ganboard selftest`: `python -m
ganboard.gan.verification.equivalence CONFIG_JSON RUN_DIR DATA_DIR [VARIANT [ATTEMPT]]`.

Logical devices and a failed collective last as long as the process, so every training that is to be
compared gets a fresh one. What it leaves in RUN_DIR is its last checkpoint.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ganboard.gan.checkpoint import reader, store
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.devices import runtime
from ganboard.gan.events import ControlSignal, Event, Facts, Saved
from ganboard.gan.progress import Progress
from ganboard.gan.settings import references
from ganboard.gan.training.loop import train


def main(
    config_json: str, run_dir: str, data_dir: str, variant: str = "", attempt: str = "1"
) -> None:
    """Train to the end: with two backward passes through D, or two calls of it, where one would do,
    in the way that a model declares as `package.module:function`, or stopped once in the middle and
    resumed.
    `untrained` keeps the networks that the training begins with. `killed` ends the process by
    SIGKILL some steps after its first checkpoint, so that a second one, whose `attempt` is 2,
    resumes from there. `memory` writes the facts of the training as the last line of stdout."""
    config, directory = parse(json.loads(config_json)), Path(run_dir)
    if variant == "untrained":
        return _untrained(config, directory)
    if variant == "two passes":
        from ganboard.gan.modeling import losses

        losses.generator_share = lambda config, real, fake: None
    if variant == "two calls":
        from ganboard.gan.modeling import simultaneous

        simultaneous.joined = lambda config, parts, d_statistics: False
    if ":" in variant:
        references.resolve(variant)()
    asked = itertools.count(1)
    saved = False
    facts: dict[str, Any] = {}

    def watch(event: Event) -> None:
        nonlocal saved
        saved = saved or isinstance(event, Saved)
        if isinstance(event, Facts):
            facts.update(event.values)

    def control() -> ControlSignal:
        if variant == "killed" and saved:
            os.kill(os.getpid(), signal.SIGKILL)
        return "stop" if variant == "interrupted" and next(asked) == 2 else "go"

    first = int(attempt)
    for number in (first, first + 1):
        outcome = train(
            config,
            run_dir=directory,
            data_dir=Path(data_dir),
            attempt=number,
            sink=watch,
            control=control,
        )
        if outcome == "finished":
            assert number == first + (variant == "interrupted")
            if variant == "memory":
                sys.stdout.write(f"\n{json.dumps(facts, default=str)}\n")
            return None
    return None


def _untrained(config: RunConfig, directory: Path) -> None:
    runtime.prepare(config)
    from ganboard.gan.training import step

    store.save(
        directory / "checkpoints", step.networks(config).arrays(), Progress(), digest="", attempt=1
    )


def state(run_dir: Path) -> reader.Arrays:
    """All arrays of the newest checkpoint of a training."""
    return reader.newest_arrays(run_dir / "checkpoints")


if __name__ == "__main__":
    main(*sys.argv[1:])
