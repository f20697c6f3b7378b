"""Loading that takes long is reported, seldom enough for a database."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.gan import data
from ganboard.gan.config import parse
from ganboard.gan.data.progress import counted
from ganboard.gan.events import Event, PhaseProgress
from ganboard.gan.training import phase_reports
from ganboard.gan.training.phase_reports import PhaseReports


def test_each_thing_that_is_done_is_reported_at_once_and_then_every_second() -> None:
    heard: list[Event] = []
    report = PhaseReports(heard.append)
    for share in (0.0, 0.1, 0.2):
        report(share, "decoding", None)
    report(0.0, "verifying the cache", 5.0)
    assert heard == [
        PhaseProgress(0.0, "decoding", None),
        PhaseProgress(0.0, "verifying the cache", 5.0),
    ]


def test_what_counts_has_a_share_and_a_time_left() -> None:
    heard: list[tuple[float, str, float | None]] = []
    count = counted(lambda *said: heard.append(said), "sampling")
    count(0, 4)
    count(1, 4)
    count(4, 4)
    assert [(share, doing) for share, doing, _ in heard] == [
        (0.0, "sampling"),
        (0.25, "sampling"),
        (1.0, "sampling"),
    ]
    assert heard[0][2] is None
    assert heard[1][2] is not None
    assert heard[1][2] > 0
    assert heard[2][2] == 0


@pytest.mark.parametrize(
    ("settings", "doing"),
    [
        ({"model": "convgan", "dataset": "images", "images_path": "set"}, "decoding"),
        ({"model": "gan3d", "limit": 8, "batch_size": 4}, "sampling showers"),
    ],
)
def test_loading_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], doing: str
) -> None:
    monkeypatch.setattr(phase_reports, "EVERY", 0.0)
    (tmp_path / "set").mkdir()
    for number in range(70):
        level = np.full((28, 28, 3), number, np.uint8)
        Image.fromarray(level).save(tmp_path / "set" / f"{number}.png")
    heard: list[Event] = []
    data.load(parse(settings), tmp_path, PhaseReports(heard.append))
    reports = [event for event in heard if isinstance(event, PhaseProgress)]
    assert {event.doing for event in reports} == {doing}
    assert reports[-1].share == 1.0
    assert [event.share for event in reports] == sorted(event.share for event in reports)
