"""Profiler traces of real trainings."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from ganboard.gan import profiling
from ganboard.gan.config import RunConfig
from ganboard.gan.events import Note
from ganboard.gan.presets import load
from tests.recorder import After, Recorder, run


def small(**changes: object) -> RunConfig:
    return load("tiny", {"snapshots": 0, "grid_size": 2, **changes})


def notes(recorder: Recorder) -> list[str]:
    return [note.text for note in recorder.of(Note) if "rofile" in note.text]


def planes(path: Path) -> Any:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    return xplane_pb2.XSpace.FromString(path.read_bytes()).planes


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return run(small(), tmp_path_factory.mktemp("plain"))[0]


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_the_steps_are_recorded_and_the_losses_are_the_same(
    loop: str, tmp_path: Path, plain: Recorder
) -> None:
    recorder, outcome = run(small(profile_steps="4:6", loop=loop), tmp_path)
    assert outcome == "finished"
    assert recorder.epochs() == plain.epochs()  # equal for both loops
    (text,) = notes(recorder)
    assert text.startswith("Profiler trace of steps 5 to ")
    timeline, xplane = profiling.found(tmp_path)
    assert xplane.name.endswith(".xplane.pb")
    names = {one.name for plane in planes(xplane) for one in plane.event_metadata.values()}
    assert "train" in names  # a step, as TensorBoard counts them
    assert any("Conv2DBackpropFilter" in name for name in names)
    events = json.loads(gzip.decompress(timeline.read_bytes()))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)
    steps = [int(event["args"]["step_num"]) for event in spans if event["name"].startswith("train")]
    assert min(steps) == 4
    # caches of the conversion are gone
    assert {path.name for path in xplane.parent.iterdir()} == {xplane.name, timeline.name}


def test_a_resumed_run_does_not_repeat_its_trace(tmp_path: Path, plain: Recorder) -> None:
    config = small(profile_steps="0:2", checkpoint_every=9)
    first, outcome = run(config, tmp_path, control=After(2))
    assert outcome == "stopped"
    assert len(notes(first)) == 1
    recorded = profiling.found(tmp_path)
    second, outcome = run(config, tmp_path, attempt=2)
    assert outcome == "finished"
    assert notes(second) == []
    assert profiling.found(tmp_path) == recorded
    assert second.epochs()[-1] == plain.epochs()[-1]


def test_what_was_recorded_until_a_stop_is_kept(tmp_path: Path) -> None:
    recorder, outcome = run(small(profile_steps="0:8"), tmp_path, control=After(1))
    assert outcome == "stopped"
    assert notes(recorder)[0].startswith("Profiler trace of steps 1 to 1 recorded.")
    assert len(profiling.found(tmp_path)) == 2


def test_a_run_that_goes_on_after_the_steps_says_so(tmp_path: Path) -> None:
    _, outcome = run(small(), tmp_path, control=After(2))
    assert outcome == "stopped"
    resumed, _ = run(small(profile_steps="0:1"), tmp_path, attempt=2)
    assert notes(resumed)[0].startswith("profile_steps=0:1 records nothing: the run goes on after")
    assert profiling.found(tmp_path) == []


def test_a_profiler_that_fails_is_an_event(tmp_path: Path, plain: Recorder) -> None:
    tf.profiler.experimental.start(str(tmp_path / "other"))  # there can be only one
    try:
        recorder, outcome = run(small(profile_steps="1:2"), tmp_path / "run")
    finally:
        tf.profiler.experimental.stop(save=False)
    assert outcome == "finished"
    assert recorder.epochs() == plain.epochs()
    (text,) = notes(recorder)
    assert text.startswith("The profiler trace of profile_steps=1:2 is incomplete or missing: ")
    assert text.endswith("Training continues without it.")


def test_a_disk_that_refuses_the_trace_is_an_event(tmp_path: Path, plain: Recorder) -> None:
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    recorder, outcome = run(small(profile_steps="1:2"), tmp_path)
    assert outcome == "finished"
    assert recorder.epochs() == plain.epochs()
    assert "incomplete or missing" in notes(recorder)[0]
