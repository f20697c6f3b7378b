"""Processes and devices on a run's tab Devices: what they used, and why something is not
readable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ganboard.db.curves import usage
from ganboard.db.models import Run, UsageSample
from ganboard.worker.context import Context
from tests.attempt import own
from tests.ui.pages import open_page, words

MakeRun = Callable[..., Run]
START = datetime(2026, 1, 2, tzinfo=UTC)


def test_processes_and_devices_are_shown(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running")
    assert "The first sample follows" in words(open_page("run", run=run.id, view="Devices"))
    for second, percent in enumerate((100.0, 200.0)):
        at = START + timedelta(seconds=second)
        rows = [
            UsageSample(**own(run), at=at, name="Trainer", pid=4, cpu_percent=percent,
                        rss_bytes=2.0**30),
            UsageSample(**own(run), at=at, name="Processors", watts=60.0 + second),
            UsageSample(**own(run), at=at, name="GPUs", note="this machine has no NVIDIA GPU"),
        ]  # fmt: skip
        usage.add(context.engine, rows)
    at = open_page("run", run=run.id, view="Devices")
    trainer = at.dataframe[0].value.iloc[0].to_dict()
    assert trainer == {
        "Process": "Trainer", "PID": "4", "CPU, mean": "150 %", "CPU, latest": "200 %",
        "Memory": "1 GiB", "Largest memory": "1 GiB",
    }  # fmt: skip
    devices = at.dataframe[1].value.set_index("Device")
    assert devices.loc["Processors", "Power, mean"] == "60 W"
    assert devices.loc["GPUs", "Note"] == (
        "Not readable on this machine, because this machine has no NVIDIA GPU."
    )
    assert "no counter divides it by process" in words(at)
