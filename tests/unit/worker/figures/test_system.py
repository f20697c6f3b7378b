"""Use of the machine over time."""

from __future__ import annotations

import pandas as pd

from ganboard.worker.figures import system


def frame(**columns: object) -> pd.DataFrame:
    at = pd.to_datetime(["2026-01-01T10:00:00Z", "2026-01-01T10:00:05Z"])
    values = {
        "at": at,
        "cpu_percent": [10.0, 20.0],
        "memory_percent": [30.0, 30.0],
        "rss_bytes": [2.0**30, 2.0**31],
    }
    return pd.DataFrame(
        values | {"gpu_percent": [None, None], "gpu_memory_bytes": [None, None]} | columns
    )


def test_without_a_gpu_there_is_no_line_for_it() -> None:
    assert [line.uid for line in system.load(frame()).data if line.mode == "lines"] == [
        "cpu_percent",
        "memory_percent",
    ]
    memory = system.memory(frame())
    assert [line.uid for line in memory.data] == ["rss_bytes"]
    assert memory.data[0].y.tolist() == [1, 2]


def test_with_a_gpu() -> None:
    data = frame(gpu_percent=[90.0, None], gpu_memory_bytes=[2.0**32, 2.0**32])
    assert [line.uid for line in system.load(data).data if line.mode == "lines"] == [
        "cpu_percent",
        "memory_percent",
        "gpu_percent",
    ]
    assert system.memory(data).data[1].y.tolist() == [4, 4]


def test_events_stand_on_the_clock() -> None:
    at = pd.to_datetime(["2026-01-01T10:00:02.500"])
    events = pd.DataFrame({"time": at, "level": ["warning"], "text": ["Slow."]})
    for plot in (system.load(frame(), events), system.memory(frame(), events)):
        assert plot.data[-1].uid == "events-warning"
        assert plot.data[-1].x[0] == "2026-01-01T10:00:02.500"
        assert plot.layout.xaxis.title.text == "Time (UTC)"
