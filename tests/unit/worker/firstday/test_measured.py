from __future__ import annotations

from pathlib import Path

from ganboard.db import calibrations, rehearsals
from ganboard.gan import presets
from ganboard.gan.config import parse
from ganboard.gan.rehearsal import report
from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday import measured
from ganboard.worker.firstday.day import Day
from ganboard.worker.process.json_child import TimeLimit
from tests.unit.worker.firstday.days import CPU, T4, V5E, Steps, make_day


def rehearse(context: Context, day: Day, seconds: float) -> None:
    key = report.key(parse(day.settings()))
    assert day.target is not None
    found = {
        "target": day.target.name,
        "form": "step",
        "compiles": True,
        "step_seconds": seconds,
        "memory": {"total": 250 << 20},
    }
    rehearsals.store(context.engine, key, day.target.name, found)


def test_steps_are_those_of_the_paper_s_rehearsal(context: Context, tmp_path: Path) -> None:
    day = make_day(context, tmp_path, T4)
    assert report.key(parse(day.settings())) == report.key(presets.load("paper"))
    assert parse(make_day(context, tmp_path, V5E).settings()).batch_size == 512


def test_other_models_can_be_rehearsed_as_the_documentation_says(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    day = make_day(context, tmp_path, T4)
    measured.step_time(day)
    documented = (
        {"model": "pix2pix", "dataset": "flow", "images_path": "flow", "geometry": "64x64"},
        {"model": "gan3d", "dataset": "showers"},
    )
    keys = {report.key(presets.load("paper", {**one, "batch_size": 4})) for one in documented}
    assert keys <= {one.key for one in day.calibrations}


def test_memory_is_held_against_the_rehearsal(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    day = make_day(context, tmp_path, T4)
    rehearse(context, day, 0.001)
    found = measured.memory(day)
    assert found.status == "warn"
    assert "float32" in found.text
    assert found.rows[0] == ("float32", "500 MiB", "250 MiB", "2.00", "rehearsal")
    assert found.rows[1][-1] == "ganboard, before the start"


def test_a_device_that_does_not_say_its_memory(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["float32"] = {"memory_bytes": None}
    found = measured.memory(make_day(context, tmp_path, V5E))
    assert found.rows[0][1] == "not said by this device"


def test_a_factor_is_stored_per_family_model_and_precision(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    day = make_day(context, tmp_path, T4)
    rehearse(context, day, 0.001)
    found = measured.step_time(day)
    assert found.status == "ok", found.text
    assert found.rows[0] == ("dcgan", "float32", "64", "2 ms", "32,000", "1 ms", "2.00")
    assert {row[0] for row in found.rows} == {"dcgan", "pix2pix", "gan3d"}
    factor = calibrations.factor(context.engine, "t4", "dcgan", "float32")
    assert factor is not None
    assert (factor.value, factor.machine, factor.device) == (2.0, day.machine, "Tesla T4")
    assert len(calibrations.listed(context.engine)) == len(day.calibrations) == len(found.rows)


def test_a_cpu_is_measured_without_a_factor(context: Context, tmp_path: Path, steps: Steps) -> None:
    found = measured.step_time(make_day(context, tmp_path, CPU, quick=True))
    assert [row[-1] for row in found.rows] == ["-", "-"]
    assert {one.target for one, _ in calibrations.listed(context.engine)} == {"cpu"}


def test_what_fails_or_is_too_late_leaves_the_rest(
    context: Context, tmp_path: Path, steps: Steps
) -> None:
    steps.answers["mixed_bfloat16"] = ServiceFailed("out of memory")
    steps.answers["mixed_float16"] = TimeLimit("too late")
    found = measured.step_time(make_day(context, tmp_path, T4, quick=True))
    assert found.status == "fail"
    assert found.text == "dcgan in mixed_bfloat16: out of memory."
    assert (len(found.rows), found.not_done) == (1, ["dcgan in mixed_float16"])
