"""The metrics of all models, together. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping

from ganboard.gan.settings import registry
from ganboard.gan.settings.metric import Metric

# by model and name, the headline of each model first
OF_MODEL: dict[str, dict[str, Metric]] = {
    name: {metric.name: metric for metric in model.spec.metrics}
    for name, model in registry.models().items()
}
METRICS = {name: metric for metrics in OF_MODEL.values() for name, metric in metrics.items()}


def headline(model: str) -> Metric:
    """The main metric of a model: a number that is better the lower it is."""
    return next(iter(OF_MODEL[model].values()))


def charts(model: str) -> list[tuple[str, ...]]:
    """The names of the metrics of each chart, the headline's first; those that are read together
    share one."""
    metrics = OF_MODEL[model]
    found: dict[str, tuple[str, ...]] = {}
    for name, metric in metrics.items():
        chart = metric.chart or name
        found[chart] = (*found.get(chart, ()), name)
    return list(found.values())


def ordered(measures: Mapping[str, float]) -> dict[str, float]:
    """The same values, as declared; those that no model declares are last, by name."""
    known = [name for name in METRICS if name in measures]
    return {name: measures[name] for name in (*known, *sorted(measures.keys() - METRICS.keys()))}
