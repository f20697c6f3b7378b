from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gan import saver as module
from gan.checkpoints import CheckpointError
from gan.config import RunConfig
from gan.events import Note, Phase, Saved
from gan.progress import Progress
from gan.saver import Saver
from tests.recorder import Recorder


def saver(directory: Path, value: float = 1.0, saved_step: int = 0, **changes: int) -> tuple[Saver, Recorder]:
    recorder = Recorder()
    arrays = {"generator/kernel": np.float32([value])}
    return Saver(RunConfig(**changes), directory, "digest", 1, lambda: arrays, recorder, saved_step), recorder  # type: ignore[arg-type]


def test_a_checkpoint_is_due_every_so_many_epochs_and_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = saver(tmp_path, checkpoint_every=3)
    assert [made.due(epoch) for epoch in (None, 1, 2, 3, 4, 6)] == [False, False, False, True, False, True]
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


def test_a_refusing_disk_ends_only_an_attempt_that_is_leaving(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    made, recorder = saver(blocked)
    made.save(Progress(step=1), leaving=False)
    assert "Training goes on" in recorder.of(Note)[0].text
    with pytest.raises(CheckpointError, match="step 1 was not saved"):
        made.save(Progress(step=1), leaving=True)
