from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.checkpoint import reader
from ganboard.gan.checkpoint import saver as module
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.checkpoint.saver import Saver
from ganboard.gan.events import Control, ControlSignal, Note, Phase, Saved
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.progress import Progress
from tests.recorder import After, Recorder


def saver(
    directory: Path,
    value: float = 1.0,
    saved_step: int = 0,
    control: Control = lambda: "go",
    **changes: int,
) -> tuple[Saver, Recorder]:
    recorder = Recorder()
    arrays = {"generator/kernel": np.float32([value])}
    config = Config(**changes)  # type: ignore[arg-type]
    return (
        Saver(config, directory, "digest", 1, lambda: arrays, recorder, saved_step, control),
        recorder,
    )


def test_a_checkpoint_is_due_every_so_many_epochs_and_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = saver(tmp_path, checkpoint_every=3)
    assert [made.due(epoch) for epoch in (None, 1, 2, 3, 4, 6)] == [
        False,
        False,
        False,
        True,
        False,
        True,
    ]
    monkeypatch.setattr(module, "SAVE_SECONDS", 0.0)
    assert made.due(None)


def test_the_sink_hears_of_saving_before_anything_is_written(tmp_path: Path) -> None:
    made, recorder = saver(tmp_path)
    seen: list[list[Path]] = []
    made.sink = lambda event: (recorder(event), seen.append(list(tmp_path.iterdir())))[0]
    made.save(Progress(step=3), leaving=False)
    assert [type(event) for event in recorder.events] == [Phase, Saved, Phase]
    assert seen[0] == []
    assert seen[1] == [tmp_path / "ckpt-3-1"]


def test_no_step_is_saved_twice(tmp_path: Path) -> None:
    made, recorder = saver(tmp_path, saved_step=3)
    made.save(Progress(step=3), leaving=True)
    assert recorder.events == []
    made.save(Progress(step=4), leaving=False)
    made.save(Progress(step=4), leaving=True)
    assert len(recorder.of(Saved)) == 1


def test_weights_that_are_not_finite_are_said_once(tmp_path: Path) -> None:
    made, recorder = saver(tmp_path, value=float("nan"))
    for step in (1, 2, 3):
        made.save(Progress(step=step), leaving=step == 3)
    assert [note.level for note in recorder.of(Note)] == ["error"]
    assert not recorder.of(Saved)


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A directory that cannot be made, because a file lies in its place."""
    path = tmp_path / "file"
    path.write_text("")
    return path


def test_training_goes_on_when_the_disk_refuses(blocked: Path) -> None:
    made, recorder = saver(blocked)
    assert not made.save(Progress(step=1), leaving=False)
    assert recorder.of(Note)[0].text.endswith("Training continues.")
    assert recorder.of(Phase)[-1].name == "training"


def test_the_last_state_waits_for_room(blocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.01)
    asked: list[int] = []

    def control() -> ControlSignal:
        asked.append(1)
        if len(asked) == 4:
            blocked.unlink()  # the disk takes it now
        return "go"

    made, recorder = saver(blocked, control=control)
    assert made.save(Progress(step=1), leaving=True)
    assert [type(event) for event in recorder.events] == [Phase, Note, Saved, Phase]
    assert "step 1 was not saved" in recorder.of(Note)[0].text
    assert "Waiting up to 10 minutes" in recorder.of(Note)[0].text
    assert made.saved_step == 1


def test_whoever_wants_to_leave_need_not_wait_for_room(
    blocked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.01)
    made, recorder = saver(blocked, control=lambda: "suspend")
    assert not made.save(Progress(step=1), leaving=True)
    made, recorder = saver(blocked, control=After(4))
    assert not made.save(Progress(step=1), leaving=True)
    assert recorder.of(Note)[-1].text == module.LEFT


def test_a_run_fails_when_no_room_comes(blocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(module, "ROOM_SECONDS", 0.05)
    made, _ = saver(blocked)
    with pytest.raises(CheckpointError, match="step 1 was not saved"):
        made.save(Progress(step=1), leaving=True)


def test_old_checkpoints_go_only_when_newer_ones_are_listed(tmp_path: Path) -> None:
    made, _ = saver(tmp_path, keep_checkpoints=1)
    for step in (1, 2, 3):
        made.save(Progress(step=step), leaving=False)
    # the database has heard of 3, but may not have committed it
    assert [step for step, _, _ in reader.complete(tmp_path)] == [3, 2]
    made.save(Progress(step=4), leaving=True)
    assert [step for step, _, _ in reader.complete(tmp_path)] == [4]
