"""What a run's document and its page in the terminal say beyond losses: measures, facts,
quality."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.context import Context
from tests.cli import document, ganboard
from tests.factories import FACTS

MakeRun = Callable[..., Run]


def test_the_document_carries_measures_facts_and_quality(
    make_run: MakeRun, context: Context
) -> None:
    run = make_run(epochs=3, quality_every=2)
    shown = document("show", run.id)
    assert shown["facts"] == FACTS
    assert [epoch["measures"] for epoch in shown["epochs"]] == [
        epoch.measures for epoch in queries.epochs(context.engine, run.id)
    ]
    assert shown["epochs"][0]["measures"]["compute_seconds"] > 0
    stored = queries.qualities(context.engine, run.id)
    # every second epoch, and the last
    assert [quality["epoch"] for quality in shown["quality"]] == [2, 3]
    for quality, row in zip(shown["quality"], stored, strict=True):
        assert {name: quality[name] for name in row.measures} == row.measures
        assert quality.keys() & set(METRICS) == row.measures.keys()
        assert quality["histogram"] == row.histogram.tolist()
        assert (quality["seconds"], quality["training_seconds"]) == (
            row.seconds,
            row.training_seconds,
        )


def test_a_run_without_them_says_so_with_empty_ones(make_run: MakeRun) -> None:
    shown = document("show", make_run(epochs=1, measured=False).id)
    assert (shown["facts"], shown["quality"], shown["epochs"][0]["measures"]) == ({}, [], {})


def test_the_terminal_shows_where_the_time_went_and_how_good_the_images_are(
    make_run: MakeRun,
) -> None:
    text = ganboard("show", make_run(epochs=2, quality_every=1).id).stdout
    assert (
        "computing 90%, waiting for images 2%, host 8%; beside that 5.0 s compiling, 2.0 s"
        " preparing evaluation, 800 ms evaluating quality" in text
    )
    assert "FID 22.00" in text
    assert "1.16 GiB  Memory measured in the first steps" in text
    assert "IteratorGetNext, RandomUniform" in text
    text = ganboard("show", make_run(epochs=2, measured=False).id).stdout
    assert "computing" not in text
    assert "FID" not in text
