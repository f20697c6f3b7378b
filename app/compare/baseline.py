"""The run that others are measured against, as long as nobody chooses one."""

from __future__ import annotations

from collections.abc import Sequence

from ganboard.db.models import Run
from ganboard.gan import presets
from ganboard.worker.studies.comparison_groups import but_for_seed


def usual(runs: Sequence[Run]) -> Run:
    """The oldest run with the settings of its preset (but for the seed, and for what is only
    recorded), else the oldest: the runs of a sweep are numbered in the order of the values, so that
    is the first of each."""
    ordered = sorted(runs, key=lambda run: run.number)
    return next((run for run in ordered if _is_preset(run)), ordered[0])


def _is_preset(run: Run) -> bool:
    name = presets.current(run.preset)
    if run.external or name not in presets.NAMES:
        return False
    preset = presets.load(name).model_dump(mode="json")
    # an older run lacks settings that were added since
    own, its = but_for_seed([preset | run.config, preset])
    return own == its
