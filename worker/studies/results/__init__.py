"""The results of a study: figures, numbers, method, published claim, and verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ganboard.gan.config import model_of
from ganboard.gan.studies import predictions
from ganboard.worker.studies.results import (
    approaches,
    descent,
    devices,
    learning,
    learning_rates,
    networks,
    parts,
    replicas,
    showers,
    timing,
    vortex_street,
)
from ganboard.worker.studies.results.claims import concluded
from ganboard.worker.studies.results.study_data import UNTESTED, StudyData, StudyResult

MAKERS: dict[str, Callable[[StudyData], StudyResult]] = {
    "table1": networks.table1,
    "fig5": timing.fig5,
    "fig6": timing.fig6,
    "fig7": learning.fig7,
    "fig8": learning.fig8,
    "fig9": learning_rates.fig9,
    "fig10": learning.fig10,
    "fig11": descent.fig11,
    "fig12": timing.fig12,
    "fig13": devices.fig13,
    "training-table": vortex_street.training_table,
    "quality": learning.quality,
    "overfitting": vortex_street.overfitting,
    "physics": showers.physics,
    "scaling": replicas.scaled,
    "approaches": approaches.approaches,
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
    """The results with these names, in their order in the paper, without those that this version or
    the models of the runs do not support."""
    fitting = [
        name
        for name in MAKERS
        if name in names and OF_MODEL.get(name, next(iter(data.models))) in data.models
    ]
    return [
        replace(_claimed(data, name, MAKERS[name](data)), predicted=predictions.of(name))
        for name in fitting
    ]


def _claimed(data: StudyData, name: str, made: StudyResult) -> StudyResult:
    """With the verdict that its data allow; without one where the claim is on a DCGAN and other
    networks were trained."""
    models = {model_of(run.config) for group in made.rests_on for run in group} or data.models
    if name not in OF_STUDY or "dcgan" in models:
        return concluded(made, models)
    return replace(
        made,
        claim=f"{made.claim} (Claimed for a DCGAN; there is no claim for these networks.)",
        verdict=UNTESTED,
    )
