"""The loop in this process, on the tiny preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.events import (
    FACTS,
    MEASURES,
    REAL_IMAGES,
    SERIES,
    EpochDone,
    Event,
    Facts,
    Grid,
    Note,
    Phase,
    Quality,
    Saved,
    Started,
    Steps,
)
from ganboard.gan.presets import load
from ganboard.gan.quality.declared import OF_MODEL
from tests.recorder import After, Recorder, go, run

TINY = load("tiny")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    recorder, outcome = run(TINY, tmp_path_factory.mktemp("undisturbed"))
    assert outcome == "finished"
    return recorder


def test_a_run_reports_everything_in_order(undisturbed: Recorder) -> None:
    kinds = [
        type(event).__name__ for event in undisturbed.events if not isinstance(event, Steps | Facts)
    ]
    epoch = ["EpochDone", "Grid", "Phase", "Saved"]
    assert kinds == [
        "Phase",
        "Phase",
        "Phase",
        "OnDisk",
        "Started",
        "Grid",
        "Grid",
        "Phase",
        "Phase",
        *epoch,
        "Phase",
        *epoch,
        "Phase",
    ]
    phases = [event.name for event in undisturbed.of(Phase)]
    assert phases == [
        "importing",
        "loading",
        "building",
        "compiling",
        "training",
        "saving",
        "training",
        "saving",
        "saving",
    ]
    started = undisturbed.of(Started)[0]
    assert (started.examples, started.steps_per_epoch, started.start_step) == (128, 4, 0)
    assert (started.g_parameters, started.d_parameters) == (2_330_944, 212_865)
    assert [grid.epoch for grid in undisturbed.of(Grid)] == [REAL_IMAGES, 0, 1, 2]
    assert [(saved.step, saved.epoch) for saved in undisturbed.of(Saved)] == [(4, 1), (8, 2)]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [{}, {"xla": True}, {"loop": "fit"}], ids=str)
def test_it_is_compiling_before_it_trains(tmp_path: Path, how: dict[str, Any]) -> None:
    config = load("tiny", {"epochs": 2, **how})
    # the second goes on where the first was stopped
    for attempt, control in ((1, After(1)), (2, go)):
        recorder, _ = run(config, tmp_path, attempt=attempt, control=control)
        happened = [
            event.name if isinstance(event, Phase) else "Steps"
            for event in recorder.events
            if isinstance(event, Phase | Steps)
        ]
        began = happened.index("compiling")
        assert happened[:began] == ["importing", "loading", "building"] + ["Steps"] * (attempt - 1)
        assert happened[began + 1 : began + 3] == ["training", "Steps"]


def test_an_epoch_sums_up_its_steps(undisturbed: Recorder) -> None:
    for done in undisturbed.of(EpochDone):
        g, d = undisturbed.steps()[done.epoch].astype(np.float64)
        assert (done.g_loss, done.d_loss) == (g.mean(), d.mean())
        assert len(g) == 4
        assert done.images == 128
        assert done.seconds > 0
    assert undisturbed.of(EpochDone)[0].compile_seconds > 0.1
    assert undisturbed.of(EpochDone)[1].compile_seconds == 0


def test_the_same_configuration_gives_the_same_bits(undisturbed: Recorder, tmp_path: Path) -> None:
    again, _ = run(TINY, tmp_path)
    assert again.epochs() == undisturbed.epochs()
    assert [grid.png for grid in again.of(Grid)] == [grid.png for grid in undisturbed.of(Grid)]
    other, _ = run(load("tiny", {"seed": 1, "epochs": 1}), tmp_path / "other")
    assert other.epochs()[0] != undisturbed.epochs()[0]


@pytest.mark.parametrize(("calls", "verdict"), [(1, "stop"), (2, "suspend"), (3, "stop")])
def test_a_run_that_was_stopped_anywhere_goes_on_as_if_it_never_was(
    undisturbed: Recorder, tmp_path: Path, calls: int, verdict: Any
) -> None:
    first, outcome = run(TINY, tmp_path, control=After(calls, verdict))
    assert outcome == {"stop": "stopped", "suspend": "suspended"}[verdict]
    stopped_at = first.of(Saved)[-1].step
    second, outcome = run(TINY, tmp_path, attempt=2)
    assert outcome == "finished"
    assert (
        second.of(Started)[0].start_step
        == stopped_at
        == sum(len(block.g_losses) for block in first.of(Steps))
    )
    assert second.epochs() == undisturbed.epochs()[stopped_at // 4 :]
    assert second.of(Grid)[-1].png == undisturbed.of(Grid)[-1].png
    both = Recorder()
    both.events = first.events + second.events
    for epoch, losses in undisturbed.steps().items():
        np.testing.assert_array_equal(both.steps()[epoch], losses)
    if stopped_at % 4:  # the steps before the checkpoint are reported again
        again = second.of(Steps)[0]
        assert (again.epoch, again.first, len(again.g_losses)) == (
            stopped_at // 4 + 1,
            0,
            stopped_at % 4,
        )
        assert second.of(EpochDone)[0].seconds > 0


class Killed(Exception):
    pass


class UntilSaved(Recorder):
    """Raises when it should hear of the first checkpoint, which is on disk then, as a lost database
    or a kill would."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Saved):
            raise Killed
        super().__call__(event)


def test_a_sink_that_fails_ends_the_attempt_and_the_next_one_makes_it_good(
    undisturbed: Recorder, tmp_path: Path
) -> None:
    sink = UntilSaved()
    with pytest.raises(Killed):
        run(TINY, tmp_path, sink=sink)
    second, _ = run(TINY, tmp_path, attempt=2)
    assert second.of(Started)[0].start_step == 4
    assert sink.epochs() + second.epochs() == undisturbed.epochs()


@pytest.mark.thorough
def test_a_finished_run_is_finished_and_can_be_prolonged(
    undisturbed: Recorder, tmp_path: Path
) -> None:
    run(load("tiny", {"epochs": 1}), tmp_path)
    again, outcome = run(load("tiny", {"epochs": 1}), tmp_path, attempt=2)
    assert outcome == "finished"
    assert not again.of(Steps)
    assert not again.of(Saved)
    longer, _ = run(TINY, tmp_path, attempt=3)
    assert longer.epochs() == undisturbed.epochs()[1:]


def test_a_damaged_checkpoint_costs_time_but_no_bit(undisturbed: Recorder, tmp_path: Path) -> None:
    run(TINY, tmp_path)
    state = tmp_path / "checkpoints" / "ckpt-8-1" / "state.npz"
    state.write_bytes(state.read_bytes()[:-1])
    second, _ = run(TINY, tmp_path, attempt=2)
    assert "step 8" in second.of(Note)[0].text
    assert second.of(Started)[0].start_step == 4
    assert second.epochs() == undisturbed.epochs()[1:]


@pytest.mark.thorough
def test_a_budget_of_time_stops_with_a_checkpoint_and_resume_goes_on(
    undisturbed: Recorder, tmp_path: Path
) -> None:
    first, outcome = run(load("tiny", {"max_minutes": 1e-6}), tmp_path)
    assert outcome == "stopped"
    assert [note.text for note in first.of(Note) if "max_minutes" in note.text] == [
        "Stopped after max_minutes=1e-06 of training. Resume to continue."
    ]
    [saved] = first.of(Saved)
    assert 0 < saved.step < 8
    second, outcome = run(load("tiny"), tmp_path, attempt=2)
    assert outcome == "finished"
    assert second.epochs() == undisturbed.epochs()


@pytest.mark.thorough
def test_grids_and_checkpoints_come_as_often_as_asked(tmp_path: Path) -> None:
    config = load(
        "tiny", {"epochs": 4, "grid_every": 3, "checkpoint_every": 3, "keep_checkpoints": 1}
    )
    recorder, _ = run(config, tmp_path)
    assert [grid.epoch for grid in recorder.of(Grid)] == [REAL_IMAGES, 0, 3, 4]
    assert [saved.step for saved in recorder.of(Saved)] == [12, 16]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["ckpt-16-1"]


@pytest.mark.parametrize(
    ("changes", "word"),
    [({"precision": "mixed_float16"}, "needs a GPU"), ({"strategy": "tpu"}, "TPU")],
)
def test_what_cannot_run_here_is_said_before_any_work(
    tmp_path: Path, changes: dict[str, Any], word: str
) -> None:
    import tensorflow as tf

    if "precision" in changes and tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    sink = Recorder()
    with pytest.raises(ConfigError, match=word):
        run(load("tiny", changes), tmp_path, sink=sink)
    assert [type(event) for event in sink.events] == [Phase]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "mixed_bfloat16", "d_steps": 2, "loss": "saturating"},
        {"rng": "hash", "loss": "wgan_gp"},
        {
            "optimizer": "sgd",
            "discriminator_batch_norm": True,
            "table1_literal": True,
            "latent_dim": 10,
        },
    ],
)
def test_other_settings_resume_to_the_same_bits_too(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    config: RunConfig = load("tiny", {"limit": 64, "batch_size": 16, "epochs": 1, **changes})
    whole, _ = run(config, tmp_path / "whole")
    run(config, tmp_path / "parts", control=After(2))
    rest, _ = run(config, tmp_path / "parts", attempt=2)
    assert whole.epochs() == rest.epochs()
    assert np.isfinite([whole.of(EpochDone)[0].g_loss, whole.of(EpochDone)[0].d_loss]).all()


def test_fit_gives_the_bits_of_the_custom_loop_and_resumes_to_them(
    undisturbed: Recorder, tmp_path: Path
) -> None:
    first, outcome = run(load("tiny", {"loop": "fit"}), tmp_path, control=After(3))
    assert outcome == "stopped"
    rest, outcome = run(load("tiny", {"loop": "fit"}), tmp_path, attempt=2)
    assert outcome == "finished"
    assert first.epochs() + rest.epochs() == undisturbed.epochs()
    assert rest.of(Grid)[-1].png == undisturbed.of(Grid)[-1].png


def test_an_epoch_says_where_its_time_went(undisturbed: Recorder) -> None:
    first, second = undisturbed.of(EpochDone)
    parts = sum(second.measures[f"{name}_seconds"] for name in ("input", "compute", "reduce"))
    assert parts == pytest.approx(second.seconds, rel=1e-3)
    assert (
        0
        < second.measures["step_p50"]
        <= second.measures["step_p95"]
        <= second.measures["step_max"]
        <= second.seconds
    )
    assert second.measures["gflops"] > 0
    assert second.measures["peak_share"] > 0
    assert set(second.measures) <= set(MEASURES)
    facts = {name: value for event in undisturbed.of(Facts) for name, value in event.values.items()}
    assert set(facts) <= set(FACTS)
    assert facts["step_gflop"] == pytest.approx(32 * 0.452, rel=0.01)
    assert first.measures["peak_memory_bytes"] > 1e8


def test_every_step_has_its_rates(undisturbed: Recorder) -> None:
    for block in undisturbed.of(Steps):
        assert set(block.series) == set(SERIES)
        np.testing.assert_array_equal(block.series["g_rate"], np.float32(1e-4))
        assert (np.abs(block.series["d_effective"]) < 1).all()
        assert (block.series["g_effective"] > 0).all()


@pytest.mark.thorough
def test_quality_is_evaluated_as_often_as_asked_and_alike_after_a_resume(tmp_path: Path) -> None:
    config = load("tiny", {"epochs": 3, "quality_every": 2, "quality_images": 200, "ema": 0.9})
    whole, _ = run(config, tmp_path / "a")
    assert [quality.epoch for quality in whole.of(Quality)] == [2, 3]
    assert all(set(quality.measures) == set(OF_MODEL["dcgan"]) for quality in whole.of(Quality))
    (tmp_path / "b" / "cache").parent.mkdir()
    # the classifier need not be trained twice
    (tmp_path / "a" / "cache").rename(tmp_path / "b" / "cache")
    assert run(config, tmp_path / "b", control=After(3))[1] == "stopped"
    rest, _ = run(config, tmp_path / "b", attempt=2)
    assert rest.of(Quality)[-1].measures == whole.of(Quality)[-1].measures
    assert 0 < whole.of(Quality)[0].training_seconds < whole.of(Quality)[1].training_seconds
    # the classifier is trained before the first evaluation, and read from the cache after a resume
    assert whole.of(Quality)[0].preparation_seconds > rest.of(Quality)[0].preparation_seconds > 0
    assert whole.of(Quality)[1].preparation_seconds == 0


@pytest.mark.thorough
def test_a_changed_data_set_is_not_resumed(undisturbed: Recorder, tmp_path: Path) -> None:
    run(load("tiny", {"epochs": 1, "limit": 64}), tmp_path)
    recorder, _ = run(load("tiny", {"epochs": 1}), tmp_path, attempt=2)
    assert "another configuration or data set" in recorder.of(Note)[0].text
    assert recorder.epochs() == undisturbed.epochs()[:1]


def test_pictures_that_cannot_be_read_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(16):
        Image.new("L", (28, 28), 16 * number).save(folder / f"{number:02}.png")
    (folder / "05b.png").write_bytes(b"<html>")
    settings = {"dataset": "images", "images_path": "pictures", "limit": None, "epochs": 1}
    config = load("tiny", {**settings, "batch_size": 8, "skip_unreadable": True})
    found, outcome = run(config, tmp_path)
    assert outcome == "finished"
    facts = {name: value for event in found.of(Facts) for name, value in event.values.items()}
    assert facts["skipped_pictures"] == 1
    assert found.of(Started)[0].examples == 16
    texts = [note.text for note in found.of(Note)]
    (text,) = [text for text in texts if text.startswith("One picture was left out")]
    assert "05b.png' cannot be read" in text
