"""What data a verdict on a published claim must rest on, and what a study's runs lack of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ganboard.db.models import Run
from ganboard.worker.studies.results.study_data import TOO_LITTLE, UNTESTED, StudyResult

SEEDS = 3  # fewer show no spread, so a difference may be chance


@dataclass(frozen=True)
class Needs:
    """The range over which a claim is made: values of one setting that must have been run, in words
    too, and the epochs of each run where the claim is on their course; and on which model."""

    setting: str = ""
    values: tuple[Any, ...] = ()
    text: str = ""
    epochs: int = 0
    model: str = "dcgan"


PUBLISHED_BATCHES = Needs("batch_size", (64, 512), "batch sizes 64 to 512")
NEEDS = {  # by figure; one that is not listed gets its verdict whatever its runs, or claims nothing
    "fig5": PUBLISHED_BATCHES,
    "fig6": PUBLISHED_BATCHES,
    "fig7": PUBLISHED_BATCHES,
    "fig9": Needs("batch_size", (512,), "batch size 512", epochs=30),
    "fig10": PUBLISHED_BATCHES,
    "fig11": PUBLISHED_BATCHES,
    "fig12": Needs("xla", (False, True), "XLA off and on"),
    "fig13": Needs("batch_size", (32,), "batch size 32"),
    "training-table": Needs("batch_size", (8, 64), "batch sizes 8 to 64", model="pix2pix"),
    "quality": PUBLISHED_BATCHES,
    "overfitting": Needs(model="pix2pix"),
    "approaches": Needs("loop", ("custom", "fit"), "loops custom and fit", model="gan3d"),
}


def concluded(made: StudyResult, models: Collection[str]) -> StudyResult:
    """`made`, with the verdict "too little data" where its runs are too few for its own.

    `models` are those that the study trains; a claim on another one stays untested.
    """
    needs = NEEDS.get(made.key)
    if needs is None or needs.model not in models or (made.verdict == UNTESTED and made.rests_on):
        return made
    lacking = missing(needs, made.rests_on)
    if not lacking:
        return made
    finding = f"{made.finding} Too little data for a verdict: {lacking}."
    return replace(made, verdict=TOO_LITTLE, finding=finding, missing=lacking)


def missing(needs: Needs, groups: Sequence[Sequence[Run]]) -> str:
    """What a verdict needs beyond `groups`, as "needs 3 seeds, has 1"; empty when nothing.

    The runs of a group have equal settings but for the seed.
    """
    found = []
    seeds = min((len({run.config["seed"] for run in group}) for group in groups), default=0)
    if seeds < SEEDS:
        found.append(f"needs {SEEDS} seeds, has {seeds}")
    runs = [run for group in groups for run in group]
    values: set[Any] = {run.config.get(needs.setting) for run in runs}
    if not set(needs.values) <= values:
        has = ", ".join(_word(value) for value in sorted(values))
        found.append(f"needs {needs.text}, has {has or 'none'}")
    epochs = min((run.epoch for run in runs), default=0)
    if epochs < needs.epochs:
        found.append(f"needs {needs.epochs} epochs, has {epochs}")
    return "; ".join(found)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
