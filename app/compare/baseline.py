"""The run that others are measured against, as long as nobody chooses one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ganboard.db.models import Run
from ganboard.gan import presets
from ganboard.gan.config import diff
from ganboard.gan.settings.metadata import affecting


def usual(runs: Sequence[Run]) -> Run:
    """The run with the fewest changes from its preset, and the oldest of several: the runs of a
    sweep are numbered in the order of the values, so that is the first of each."""
    return min(runs, key=lambda run: (_changes(run), run.number))


def _changes(run: Run) -> float:
    """Number of settings that differ from its preset's, but for the seed and what is only recorded;
    infinite without a preset."""
    name = presets.current(run.preset)
    if run.external or name not in presets.NAMES:
        return math.inf
    preset = presets.load(name).model_dump(mode="json")
    # an older run lacks settings that were added since
    changed = diff(preset, preset | run.config)
    return len(changed.keys() - {"seed", *affecting("records")})
