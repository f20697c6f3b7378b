"""Progress fed by a trainer's own events: the lines of `ganboard train`."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ganboard.gan import presets
from ganboard.gan.events import (
    EpochDone,
    Event,
    Note,
    Phase,
    PhaseProgress,
    Quality,
    Started,
    Steps,
)
from ganboard.worker.formatting import quality_summary
from ganboard.worker.terminal.run_progress import EventFeed
from ganboard.worker.terminal.run_view import Lines, Live, View

LOSSES = np.array([0.5, 0.25], np.float32)


def epoch_done(epoch: int, seconds: float = 2.0) -> EpochDone:
    return EpochDone(epoch, 0.5, 0.25, seconds, 0.0, 128, (0.0, 0.0), (0.0, 0.0))


def started(start_step: int = 0) -> Started:
    return Started(
        {}, examples=128, steps_per_epoch=4, start_step=start_step, g_parameters=1, d_parameters=1
    )


def feed(view: View, *events: Event) -> None:
    sink = EventFeed(presets.load("tiny", {"epochs": 3}), view)
    with view:
        for event in events:
            sink(event)


def test_lines_show_each_phase_once_and_each_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    epochs = [
        [Phase("training"), Steps(n, 0, LOSSES, LOSSES), epoch_done(n), Phase("saving")]
        for n in (1, 2, 3)
    ]
    feed(
        Lines(),
        Phase("importing"),
        Phase("loading"),
        started(),
        Phase("compiling"),
        *(event for epoch in epochs for event in epoch),
    )
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"compiled in (< 1|[\d.]+) ms", lines.pop(3))
    assert lines == [
        "importing ...",
        "loading ...",
        "compiling ...",
        "epoch 1/3: G 0.5000, D 0.2500, 2.00 s, 64 images/s, 4.0 s left",
        "epoch 2/3: G 0.5000, D 0.2500, 2.00 s, 64 images/s, 2.0 s left",
        "epoch 3/3: G 0.5000, D 0.2500, 2.00 s, 64 images/s, 0 s left",
    ]


def test_lines_say_how_far_a_phase_is_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    decoded = [PhaseProgress(share, "decoding", 60.0) for share in (0.1, 0.2, 0.3)]
    feed(Lines(), Phase("loading"), *decoded, Phase("compiling"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["loading ...", "decoding 10 %, 1 min left", "compiling ..."]


def test_one_slow_epoch_does_not_change_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    sink = EventFeed(presets.load("tiny", {"epochs": 10}), Lines())
    for event in (started(), epoch_done(1), epoch_done(2), epoch_done(3, seconds=60.0)):
        sink(event)
    assert capsys.readouterr().out.splitlines()[-1].endswith("60.00 s, 2.1 images/s, 14 s left")


def test_warnings_are_said_and_remarks_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    feed(
        Lines(), Note("info", "all is well"), Note("warning", "two replicas\nshare one \x1b[31mCPU")
    )
    out = capsys.readouterr().out
    assert "all is well" not in out
    assert "two replicas share one \N{REPLACEMENT CHARACTER}[31mCPU" in out


EVALUATED = Quality(2, 0.44, 60.0, {"fid": 12.345, "recall": 0.625, "diversity": 0.9}, (0.5, 0.5))


def test_an_evaluation_is_one_line_and_its_start_is_not_announced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed(
        Lines(), Phase("training"), epoch_done(2), Phase("evaluating"), EVALUATED, Phase("training")
    )
    assert capsys.readouterr().out.splitlines()[1:] == [
        "quality after epoch 2: FID 12.35, recall 0.62, evaluated in 0.4 s"
    ]
    feed(Live(), started(), epoch_done(2), Phase("evaluating"), EVALUATED)
    assert "FID 12.35, recall 0.62" in capsys.readouterr().out
    feed(View(), EVALUATED)
    assert capsys.readouterr() == ("", "")


def test_an_evaluation_that_could_not_be_computed_is_shown_as_it_is() -> None:
    assert quality_summary({"fid": float("nan"), "kid": float("inf")}) == "FID nan, KID inf"
    assert quality_summary({}) == ""


def test_live_counts_steps_over_all_epochs_from_where_it_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed(Live(), started(start_step=4), Steps(2, 0, LOSSES, LOSSES), epoch_done(2, seconds=90.0))
    out = capsys.readouterr().out
    assert "time left" in out
    assert "2/3" in out
    assert "1 min 30 s" in out  # one epoch is left, and it takes as long as the last


def test_quiet_speaks_on_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    feed(View(), Phase("importing"), started(), epoch_done(1), Note("warning", "careful"))
    assert capsys.readouterr() == ("", "careful\n")
