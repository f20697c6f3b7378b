"""What the models declare about their metrics."""

from __future__ import annotations

import math

from ganboard.gan.quality.declared import (
    METRICS,
    OF_MODEL,
    QUALIFIED,
    by_qualified_name,
    charts,
    headline,
    ordered,
)
from ganboard.gan.settings.features import Source
from ganboard.gan.settings.metric import Metric


def test_a_name_is_one_metric_whatever_the_model() -> None:
    assert len(METRICS) == len({metric for of in OF_MODEL.values() for metric in of.values()})


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


def test_numbers_of_features_are_called_after_them() -> None:
    fid, loss = METRICS["fid"], METRICS["class_distance"]
    encoder = Source("encoder")
    assert (fid.called(encoder), fid.in_sentences(encoder)) == ("FID (encoder)", "encoder-FID")
    assert (loss.called(encoder), loss.in_sentences(encoder)) == ("Class distance",) * 2
    found = by_qualified_name({"fid": 1.0, "class_distance": 2.0, "beauty": 3.0}, encoder)
    assert found == {"fid_encoder": 1.0, "class_distance": 2.0, "beauty": 3.0}
    assert by_qualified_name({"fid": 1.0}, Source("classifier")) == {"fid": 1.0}
    assert QUALIFIED["fid_encoder"].label == "FID (encoder)"
    assert QUALIFIED["fid_encoder"].summary.format(12.345) == "FID (encoder) 12.35"
    assert QUALIFIED["fid"].label == "FID (classifier)"
    assert list(ordered({"kid_encoder": 1.0, "zeal": 1.0, "fid_encoder": 1.0})) == [
        "fid_encoder", "kid_encoder", "zeal",
    ]  # fmt: skip
