"""Rehearsals on pages: a run's tab Devices, Launch, and Compare."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from ganboard.db import calibrations
from ganboard.db.models import Calibration, Run
from ganboard.gan.config import parse
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from tests.ui import rehearsed
from tests.ui.launch.form import set_number
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]


def test_a_run_shows_every_device_and_where_the_time_of_one_goes(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("rehearsed", epochs=1)
    config = parse(run.config)
    rehearsed.store(context.engine, config)
    rehearsed.refuse(context.engine, config, "v5e-1", "update of D: RESOURCE_EXHAUSTED: too much")
    at = open_page("run", run=run.id, view="Devices")
    table = next(frame.value for frame in at.dataframe if "Device" in frame.value)
    assert dict(zip(table["Device"], table["Fits"], strict=True)) == {
        "v5e-1": "does not compile",
        "v5e-4": "yes",
    }
    assert "are estimates" in words(at)
    assert "RESOURCE_EXHAUSTED: too much" in words(at)
    at = checked(at.segmented_control(key="device").set_value("v5e-4").run())
    (parts,) = figures(at)
    forward, backward = parts["data"]
    assert "generator/up_1" in forward["y"]
    milliseconds = sum(numbers(forward["x"])) + sum(numbers(backward["x"]))
    # both calls of the program, at 1.5 GHz
    assert milliseconds == pytest.approx(2 * 27_461 / 1.5e6)
    assert "1,500 MHz" in words(at)
    assert "not calibrated on a device" in words(at)
    assert "of the bytes that it writes pad tiles of 8 x 128" in words(at)
    exchanged = next(frame.value for frame in at.dataframe if "Collective" in frame.value)
    assert exchanged["Collective"].tolist() == ["all-reduce"]


def test_a_measured_device_calibrates_what_pages_show(context: Context, make_run: MakeRun) -> None:
    run = make_run("measured", epochs=1)
    config = parse(run.config)
    rehearsed.store(context.engine, config)
    calibrations.store(
        context.engine,
        [
            Calibration(
                machine="colab: 1 TPU cores on box",
                target="v5e-1",
                key="0" * 32,
                family="v5e",
                model=config.model,
                precision=config.precision,
                device="1 TPU cores",
                measured_seconds=0.004,
                estimated_seconds=0.001,
                measured_at=datetime(2026, 11, 23, tzinfo=UTC),
            )
        ],
    )
    at = open_page("run", run=run.id, view="Devices")
    assert "calibrated on 1 TPU cores, 2026-11-23 (x 4.00)" in words(at)
    assert "not calibrated" not in words(at)


def test_a_run_without_a_rehearsal_says_how_to_get_one(make_run: MakeRun) -> None:
    run = make_run("plain", epochs=1)
    at = open_page("run", run=run.id, view="Devices")
    command = f"ganboard rehearse {run.id} --on v3-8,v5e-1,h100"
    assert command in [code.value for code in at.code]


def test_launch_says_whether_it_would_fit_with_the_settings_of_the_form(context: Context) -> None:
    config = load("starter")
    rehearsed.store(context.engine, config)
    at = open_page("launch")
    assert "v5e-4: fits, 29.6 MiB of arguments + 207 MiB of temporaries" in words(at)
    assert "largest batch 4,096 (4,224 does not fit)" in words(at)
    assert "estimated" in words(at)
    at = set_number(at, "batch_size", config.batch_size * 2)
    assert "v5e-4" not in words(at)
    assert "ganboard rehearse starter --on v5e-1,h100" in words(at)


def test_launch_names_the_devices_beyond_the_first_four(context: Context) -> None:
    config = load("starter")
    for target in ("v2-8", "v3-8", "v5e-4", "v5e-8", "v6e-4"):
        rehearsed.store(context.engine, config, target)
    assert "Rehearsed as well: v6e-4. A run's tab Devices shows all." in words(open_page("launch"))


def test_compare_has_a_row_for_each_run_and_device(context: Context, make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=2, batch_size=32), make_run("b", epochs=2, batch_size=64)]
    for run in runs:
        rehearsed.store(context.engine, parse(run.config))
    at = open_page("compare", runs=",".join(run.id for run in runs), part="Timings")
    table = next(frame.value for frame in at.dataframe if "Device" in frame.value)
    assert list(zip(table["Run"], table["Device"], table["Batch"], strict=True)) == [
        ("a", "v5e-4", "32"),
        ("b", "v5e-4", "64"),
    ]
