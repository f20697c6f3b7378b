"""The figures of a study, each with its numbers, how they were obtained, what the paper claims, and
whether that held here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ganboard.gan.config import model_of
from ganboard.worker.studies.results import (
    descent,
    learning,
    networks,
    parts,
    replicas,
    showers,
    street,
    timing,
)
from ganboard.worker.studies.results.claims import concluded
from ganboard.worker.studies.results.study_data import UNTESTED, StudyData, StudyResult

MAKERS: dict[str, Callable[[StudyData], StudyResult]] = {
    "table1": networks.table1,
    "fig5": timing.fig5,
    "fig6": timing.fig6,
    "fig7": learning.fig7,
    "fig8": learning.fig8,
    "fig9": learning.fig9,
    "fig10": learning.fig10,
    "fig11": descent.fig11,
    "fig12": timing.fig12,
    "fig13": timing.fig13,
    "training-table": street.training_table,
    "quality": learning.quality,
    "overfitting": street.overfitting,
    "physics": showers.physics,
    "scaling": replicas.scaled,
    "approaches": replicas.approaches,
    "forecast": replicas.forecast,
    "bottleneck": parts.bottleneck,
}
# what is only there for one model; and what the published study claims of its DCGAN alone
OF_MODEL = {
    "table1": "dcgan",
    "fig11": "dcgan",
    "training-table": "pix2pix",
    "overfitting": "pix2pix",
    "physics": "gan3d",
}
OF_STUDY = frozenset({"fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig12", "fig13", "quality"})


def make(data: StudyData, names: list[str]) -> list[StudyResult]:
    """The exhibits of these names, in their order in the paper; what this version does not know, or
    no run's model has, is left out."""
    fitting = [
        name
        for name in MAKERS
        if name in names and OF_MODEL.get(name, next(iter(data.models))) in data.models
    ]
    return [_claimed(data, name, MAKERS[name](data)) for name in fitting]


def _claimed(data: StudyData, name: str, made: StudyResult) -> StudyResult:
    """With the verdict that its data allow; without one where the claim is on a DCGAN and other
    networks were trained."""
    models = {model_of(run.config) for group in made.rests_on for run in group} or data.models
    if name not in OF_STUDY or "dcgan" in models:
        return concluded(made, models)
    return replace(
        made,
        claim=f"{made.claim} (Claimed of a DCGAN: of these networks nothing is.)",
        verdict=UNTESTED,
    )
