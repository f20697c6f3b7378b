"""What the models declare about their metrics."""

from __future__ import annotations

import math

from ganboard.gan.quality.declared import METRICS, OF_MODEL, charts, headline, ordered
from ganboard.gan.settings.metric import Metric


def test_no_two_models_declare_the_same_name() -> None:
    assert len(METRICS) == sum(map(len, OF_MODEL.values()))


def test_headlines_are_better_the_lower_they_are_and_have_a_text() -> None:
    for model in OF_MODEL:
        metric = headline(model)
        assert metric.better == "lower"
        assert metric.summary


def test_every_metric_is_in_one_chart_and_the_headline_in_the_first() -> None:
    for model, metrics in OF_MODEL.items():
        drawn = [name for chart in charts(model) for name in chart]
        assert sorted(drawn) == sorted(metrics)
        assert drawn[0] == headline(model).name
    assert ("precision", "recall") in charts("dcgan")


def test_a_summary_takes_any_number() -> None:
    for metric in METRICS.values():
        assert metric.summary.format(math.nan).count("nan") == bool(metric.summary)


def test_a_meaning_says_what_is_better() -> None:
    plain = Metric("m", "M", "Share of edges")
    assert plain.meaning == "Share of edges"
    metric = Metric("m", "M", "Share of edges", note="1: all", better="higher")
    assert metric.meaning == "Share of edges (higher is better; 1: all)"


def test_measures_are_ordered_as_declared_and_unknown_ones_are_last() -> None:
    measures = {"zeal": 1.0, "kid": 2.0, "beauty": 3.0, "fid": 4.0}
    assert list(ordered(measures)) == ["fid", "kid", "beauty", "zeal"]
