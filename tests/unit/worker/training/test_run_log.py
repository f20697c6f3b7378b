"""What a trainer's events leave in the log of a run."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from ganboard.gan.events import EpochDone, Note, Phase, Quality, Saved, Started, Steps
from ganboard.gan.presets import load
from ganboard.worker.training.run_log import RunLog

LOSSES = np.array([0.5, 0.25], np.float32)


def test_each_epoch_and_event_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    sink = RunLog(load("tiny", {"epochs": 2}))
    begin = [Phase("importing"), Phase("loading"), Started({}, 128, 4, 0, 1, 1), Phase("compiling")]
    first = [
        Phase("training"),
        Steps(1, 0, LOSSES, LOSSES),
        EpochDone(1, 0.5, 0.25, 2.0, 31.0, 128, (0.0, 0.0), (0.0, 0.0)),
        Phase("judging"),
        Quality(1, 0.4, 2.0, {"fid": 12.345}, ()),
        Phase("training"),
        Phase("saving"),
        Saved(4, 1, "d", 2_000_000),
        Phase("training"),
        Note("warning", "two lines\nof trouble"),
    ]
    with caplog.at_level(logging.INFO):
        for event in (*begin, *first):
            sink(event)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "importing"),
        ("INFO", "loading"),
        ("INFO", "128 examples, 4 steps per epoch, from the beginning"),
        ("INFO", "compiling"),
        ("INFO", "training"),
        ("INFO", "epoch 1/2: G 0.5000, D 0.2500, 2.0 s and 31 s compiling, 64 images/s"),
        ("INFO", "quality after epoch 1: FID 12.35, evaluated in 400 ms"),
        ("INFO", "checkpoint of step 4 (epoch 1), 2.0 MB"),
        ("WARNING", "two lines of trouble"),
    ]
