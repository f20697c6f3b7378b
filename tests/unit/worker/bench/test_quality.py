"""Seconds to a quality, of stored runs in place of trained ones (tests/integration/test_bench.py
trains)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlmodel import Session, col, delete

from ganboard.db.models import Metric, Run
from ganboard.db.settings import Settings
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.worker.bench import quality, quality_view
from ganboard.worker.bench.candidates import BenchmarkError
from ganboard.worker.bench.quality import QualityOptions, interval, measure, read_recipe
from ganboard.worker.bench.runner import Watcher
from ganboard.worker.context import Context
from tests.factories import HARDWARE, make_run


class StoredRuns:
    """A platform on which runs are there at once: FID 40 / (epoch + seed) + 2, 2 s an epoch."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.enough: list[bool] = []
        self.trained: list[RunConfig] = []

    def finish(self, config: RunConfig, enough: Callable[[str], bool]) -> Run:
        self.trained.append(config)
        if config.batch_size == 128:
            raise BenchmarkError("failed: out of memory")
        run = make_run(self.context, epochs=4, status="stopped", quality_every=1, seed=config.seed)
        self.enough.append(enough(run.id))
        return run

    def end(self) -> None: ...


@pytest.fixture
def platform(context: Context, monkeypatch: pytest.MonkeyPatch) -> StoredRuns:
    stored = StoredRuns(context)
    monkeypatch.setattr(quality, "Platform", lambda *_: stored)
    monkeypatch.setattr(quality, "find_hardware", lambda: HARDWARE)
    return stored


def test_the_first_evaluation_that_reached_it_counts(
    platform: StoredRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    options = QualityOptions(("tiny",), "digits", fid=15.0, seeds=3)
    found = measure(Settings(), options, Watcher())
    (recipe,) = found["recipes"]
    # 40 / (epoch + seed) + 2 is at most 15 from epoch + seed = 4 on
    assert [attempt["training_seconds"] for attempt in recipe["attempts"]] == [8, 6, 4]
    assert [attempt["epoch"] for attempt in recipe["attempts"]] == [4, 3, 2]
    assert recipe["training_seconds"]["median"] == 6
    assert recipe["training_seconds"]["interval"] == pytest.approx((6 - 4.968, 6 + 4.968), abs=0.01)
    assert platform.enough == [True] * 3
    assert {config.quality_every for config in platform.trained} == {1}
    quality_view.show(found)
    assert "3 of 3" in capsys.readouterr().out


def test_what_is_not_reached_has_no_seconds(
    platform: StoredRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    options = QualityOptions(("tiny", "tiny+batch_size=128"), "digits", fid=11.0, seeds=2)
    found = measure(Settings(), options, Watcher())
    plain, failed = found["recipes"]
    # after 4 epochs seed 0 has 12, seed 1 has 10
    assert [attempt["training_seconds"] for attempt in plain["attempts"]] == [None, 8]
    assert plain["attempts"][0]["fid"] == 12
    assert plain["reached"] == 1
    assert platform.enough == [False, True]
    assert failed["reached"] == 0
    assert failed["training_seconds"] is None
    quality_view.show(found)
    assert "tiny+batch_size=128, seed 0: failed: out of memory" in capsys.readouterr().out


def test_evaluations_without_a_distance_reach_nothing(
    platform: StoredRuns, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def finish(config: RunConfig, enough: Callable[[str], bool]) -> Run:
        epochs = 4 if config.seed == 0 else 0  # seed 1 ends before its first evaluation
        run = make_run(
            platform.context, epochs=epochs, status="stopped", quality_every=1, seed=config.seed
        )
        with Session(platform.context.engine) as session:  # images that are not finite have none
            session.exec(
                delete(Metric).where(
                    col(Metric.run_id) == run.id, col(Metric.epoch) < 4, col(Metric.name) == "fid"
                )
            )
            session.commit()
        assert not enough(run.id)
        return run

    monkeypatch.setattr(platform, "finish", finish)
    found = measure(Settings(), QualityOptions(("tiny",), "digits", fid=5, seeds=2), Watcher())
    finite, none = found["recipes"][0]["attempts"]
    assert (finite["epoch"], finite["fid"], finite["training_seconds"]) == (4, 12, None)
    assert none["problem"] == "ended without an evaluation"
    quality_view.show(found)
    assert "ended without an evaluation" in capsys.readouterr().out


def test_recipes_alternate(platform: StoredRuns) -> None:
    options = QualityOptions(("tiny", "tiny+width=8+model=convgan"), "digits", seeds=2)
    measure(Settings(), options, Watcher())
    order = [(config.model, config.seed) for config in platform.trained]
    assert order == [("dcgan", 0), ("convgan", 0), ("dcgan", 1), ("convgan", 1)]


def test_a_schedule_keeps_its_end() -> None:
    options = QualityOptions(dataset="digits", minutes=3)
    own = read_recipe("tiny+schedule=cosine_restart+schedule_period=2", options).config
    assert (own.epochs, own.max_minutes) == (2, 3)
    assert read_recipe("tiny", options).config.epochs > 1000


def test_too_few_values_have_no_interval() -> None:
    assert interval([1.0, 2.0]) is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (QualityOptions(seeds=0), "seeds=0"),
        (QualityOptions(fid=0), "fid=0"),
        (QualityOptions(minutes=0), "minutes=0"),
        (QualityOptions(("biggan",)), "'biggan' does not exist"),
        (QualityOptions(("tiny+wide=8",)), "'wide' is not a setting"),
        (QualityOptions(("showers",)), "model=gan3d"),
        (QualityOptions(("tiny+batch_size=4096",), "digits"), "larger than"),
        (QualityOptions(dataset="cats"), "dataset=cats"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    options: QualityOptions, named: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "Platform", None)  # nothing can be started
    with pytest.raises(ConfigError, match=named):
        measure(Settings(), options, Watcher())
    assert not home.exists()
