"""One training in a process of its own, for `ganboard selftest`: `python -m gan.proof CONFIG_JSON RUN_DIR [VARIANT]`.

Logical devices and a failed collective last as long as the process, so every training that is to be compared gets a fresh one. What it
leaves in RUN_DIR is its last checkpoint.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

from gan import checkpoints, losses
from gan.config import parse
from gan.events import Event, Verdict
from gan.loop import train

VARIANTS = ("two passes", "interrupted")


def main(config_json: str, run_dir: str, variant: str = "") -> None:
    """Train to the end: with two backward passes through D where one would do, or stopped once in the middle and resumed."""
    config, directory = parse(json.loads(config_json)), Path(run_dir)
    if variant == "two passes":
        losses.generator_share = lambda config, fake: None
    asked = itertools.count(1)

    def ignore(event: Event) -> None:
        pass

    def control() -> Verdict:
        return "stop" if variant == "interrupted" and next(asked) == 2 else "go"

    for attempt in (1, 2):
        outcome = train(config, run_dir=directory, data_dir=directory, attempt=attempt, sink=ignore, control=control)
        if outcome == "finished":
            assert attempt == (2 if variant == "interrupted" else 1)
            return


def state(run_dir: Path) -> checkpoints.Arrays:
    """All arrays of the newest checkpoint of a training."""
    return checkpoints.newest_arrays(run_dir / "checkpoints")


if __name__ == "__main__":
    main(*sys.argv[1:])
