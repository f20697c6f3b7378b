"""The loop in this process, on the tiny preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gan import loop
from gan.config import ConfigError, RunConfig
from gan.events import EpochDone, Event, Grid, Note, Phase, Saved, Started, Steps
from gan.presets import load
from gan.step import Stepper
from tests.recorder import After, Recorder, run

TINY = load("tiny")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    recorder, outcome = run(TINY, tmp_path_factory.mktemp("undisturbed"))
    assert outcome == "finished"
    return recorder


def test_a_run_tells_everything_in_order(undisturbed: Recorder) -> None:
    kinds = [type(event).__name__ for event in undisturbed.events if not isinstance(event, Steps)]
    epoch = ["EpochDone", "Grid", "Phase", "Saved"]
    assert kinds == ["Phase", "Phase", "Started", "Grid", "Phase", "Phase", *epoch, "Phase", *epoch]
    phases = [event.name for event in undisturbed.of(Phase)]
    assert phases == ["importing", "loading", "compiling", "training", "saving", "training", "saving"]
    started = undisturbed.of(Started)[0]
    assert (started.examples, started.steps_per_epoch, started.start_step) == (128, 4, 0)
    assert (started.g_parameters, started.d_parameters) == (2_330_944, 212_865)
    assert [grid.epoch for grid in undisturbed.of(Grid)] == [0, 1, 2]
    assert [(saved.step, saved.epoch) for saved in undisturbed.of(Saved)] == [(4, 1), (8, 2)]


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
    assert second.of(Started)[0].start_step == stopped_at == sum(len(block.g_losses) for block in first.of(Steps))
    assert second.epochs() == undisturbed.epochs()[stopped_at // 4 :]
    assert second.of(Grid)[-1].png == undisturbed.of(Grid)[-1].png
    both = Recorder()
    both.events = first.events + second.events
    for epoch, losses in undisturbed.steps().items():
        np.testing.assert_array_equal(both.steps()[epoch], losses)
    if stopped_at % 4:  # the steps before the checkpoint are told again
        again = second.of(Steps)[0]
        assert (again.epoch, again.first, len(again.g_losses)) == (stopped_at // 4 + 1, 0, stopped_at % 4)
        assert second.of(EpochDone)[0].seconds > 0


class Killed(Exception):
    pass


class Until(Recorder):
    """Raises at the n-th event, as a lost database or a kill would."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def __call__(self, event: Event) -> None:
        if len(self.events) == self.count:
            raise Killed
        super().__call__(event)


def test_a_sink_that_fails_ends_the_attempt_and_the_next_one_makes_it_good(undisturbed: Recorder, tmp_path: Path) -> None:
    # Right after the first epoch's checkpoint is on disk, before the sink hears of it
    count = next(i for i, event in enumerate(undisturbed.events) if isinstance(event, Saved))
    sink = Until(count)
    with pytest.raises(Killed):
        run(TINY, tmp_path, sink=sink)
    second, _ = run(TINY, tmp_path, attempt=2)
    assert second.of(Started)[0].start_step == 4
    assert sink.epochs() + second.epochs() == undisturbed.epochs()


def test_a_finished_run_is_finished_and_can_be_prolonged(undisturbed: Recorder, tmp_path: Path) -> None:
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


def test_losses_that_are_not_finite_are_named_once_and_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Stepper.run

    def poisoned(self: Stepper, order: Any, first: int, global_step: int, count: int) -> Any:
        g, d = original(self, order, first, global_step, count)
        if global_step + count > 5:
            self.nets.generator.get_layer("dense").kernel.assign_add(np.full((100, 12544), np.nan, np.float32))
            d = d + np.float32("nan")
        return g, d

    monkeypatch.setattr(Stepper, "run", poisoned)
    recorder, outcome = run(load("tiny", {"epochs": 3}), tmp_path)
    assert outcome == "finished"
    notes = [note.text for note in recorder.of(Note) if note.level == "error"]
    assert len(notes) == 2
    assert "discriminator is not finite from epoch 2" in notes[0]
    assert "not saved" in notes[1]
    assert [saved.step for saved in recorder.of(Saved)] == [4]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["ckpt-4-1"]


@pytest.mark.parametrize(
    ("g", "d", "words"),
    [
        ([1, 2, 3], [1, 2, 3], None),
        ([1, np.nan, 3], [1, 2, np.inf], "loss of the generator is not finite from epoch 7, step 12"),
        ([1, 2, np.nan], [np.inf, 2, 3], "loss of the discriminator is not finite from epoch 7, step 11"),
    ],
)
def test_the_first_bad_loss_is_named(g: list[float], d: list[float], words: str | None) -> None:
    sentence = loop.not_finite(7, 10, np.float32(g), np.float32(d))
    assert sentence is None if words is None else words in (sentence or "")


def test_grids_and_checkpoints_come_as_often_as_asked(tmp_path: Path) -> None:
    config = load("tiny", {"epochs": 4, "grid_every": 3, "checkpoint_every": 3, "keep_checkpoints": 1})
    recorder, _ = run(config, tmp_path)
    assert [grid.epoch for grid in recorder.of(Grid)] == [0, 3, 4]
    assert [saved.step for saved in recorder.of(Saved)] == [12, 16]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["ckpt-16-1"]


@pytest.mark.parametrize(("changes", "word"), [({"precision": "mixed_float16"}, "needs a GPU"), ({"loop": "fit"}, "loop=fit")])
def test_what_cannot_run_here_is_said_before_any_work(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    import tensorflow as tf

    if "precision" in changes and tf.config.list_physical_devices("GPU"):
        pytest.skip("this machine has a GPU")
    sink = Recorder()
    with pytest.raises(ConfigError, match=word):
        run(load("tiny", changes), tmp_path, sink=sink)
    assert [type(event) for event in sink.events] == [Phase]


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "mixed_bfloat16", "d_steps": 2, "loss": "saturating"},
        {"optimizer": "sgd", "discriminator_batch_norm": True, "table1_literal": True, "latent_dim": 10},
    ],
)
def test_other_settings_resume_to_the_same_bits_too(tmp_path: Path, changes: dict[str, Any]) -> None:
    config: RunConfig = load("tiny", {"limit": 64, "batch_size": 16, "epochs": 1, **changes})
    whole, _ = run(config, tmp_path / "whole")
    run(config, tmp_path / "parts", control=After(2))
    rest, _ = run(config, tmp_path / "parts", attempt=2)
    assert whole.epochs() == rest.epochs()
    assert np.isfinite([whole.of(EpochDone)[0].g_loss, whole.of(EpochDone)[0].d_loss]).all()


def test_a_changed_data_set_is_not_resumed(undisturbed: Recorder, tmp_path: Path) -> None:
    run(load("tiny", {"epochs": 1, "limit": 64}), tmp_path)
    recorder, _ = run(load("tiny", {"epochs": 1}), tmp_path, attempt=2)
    assert "another configuration or data set" in recorder.of(Note)[0].text
    assert recorder.epochs() == undisturbed.epochs()[:1]
