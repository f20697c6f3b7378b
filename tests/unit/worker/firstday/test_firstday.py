"""The order of a day, its time, and what is kept, with parts that are made up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ganboard.gan.config import ConfigError
from ganboard.worker.context import Context
from ganboard.worker.errors import AlreadyRunning, ServiceFailed
from ganboard.worker.firstday import firstday
from ganboard.worker.firstday.day import Day, Options, Part, Result, Watcher
from ganboard.worker.process.json_child import TimeLimit
from tests.unit.worker.firstday.days import CPU


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firstday, "_hardware", lambda: dict(CPU))


def part(name: str, run: Callable[[Day], Result] | BaseException, **changes: Any) -> Part:
    def raising(day: Day) -> Result:
        assert isinstance(run, BaseException)
        raise run

    does = raising if isinstance(run, BaseException) else run
    return Part(name, name.title(), does, **{"needs": 0, "share": 0.5, **changes})


def well(day: Day) -> Result:
    day.doing("something")
    return Result("ok", "All is well.", rows=[("1",)], columns=("number",))


def day(context: Context, *parts: Part, watcher: Watcher | None = None, **options: Any) -> Any:
    asked = Options(**{"minutes": 5, **options})
    return firstday.run(context, asked, watcher or Watcher(), parts)


def states(found: Any) -> list[str]:
    return [part["status"] for part in found["parts"]]


def test_what_was_found_is_kept_when_a_later_part_fails(context: Context) -> None:
    found = day(
        context,
        part("a", well),
        part("b", ServiceFailed("no such device")),
        part("c", ValueError("a defect\nof a driver")),
        part("d", TimeLimit("it did not end within 9 s")),
        part("e", well),
    )
    assert states(found) == ["ok", "fail", "fail", "not done", "ok"]
    texts = [one["text"] for one in found["parts"]]
    assert texts[1:4] == [
        "no such device",
        "ValueError: a defect of a driver",
        "Ended for lack of time: it did not end within 9 s.",
    ]
    assert not found["ok"]
    kept = json.loads((context.settings.state / firstday.KEPT).read_bytes())
    assert kept["parts"] == json.loads(json.dumps(found["parts"]))


def test_what_does_not_fit_is_listed_as_not_done(context: Context) -> None:
    found = day(context, part("a", well), part("b", well, needs=1e4))
    assert states(found) == ["ok", "not done"]
    assert "needs at least 10000 s: allow more with --minutes" in found["parts"][1]["text"]
    assert found["ok"]


def test_quick_leaves_parts_out_and_says_so(context: Context) -> None:
    found = day(context, part("a", well), part("b", well, quick=False), quick=True)
    assert states(found) == ["ok", "not done"]
    assert found["parts"][1]["text"] == "Left out by --quick."


def test_ctrl_c_ends_the_day_and_leaves_its_results(context: Context) -> None:
    found = day(context, part("a", well), part("b", KeyboardInterrupt()), part("c", well))
    assert states(found) == ["ok", "not done", "not done"]


def test_a_part_gets_its_share_of_the_time(context: Context) -> None:
    left = []

    def look(day: Day) -> Result:
        left.append(day.left())
        return Result("ok", "Seen.")

    day(context, part("a", look, share=0.1), part("b", look, share=1.0), minutes=10)
    assert left[0] <= 60
    assert 500 < left[1] <= 600


def test_progress_comes_with_the_time_left(context: Context) -> None:
    class Log(Watcher):
        def __init__(self) -> None:
            self.said: list[tuple[str, str]] = []
            self.left: list[float] = []

        def doing(self, part: str, text: str, seconds_left: float) -> None:
            self.said.append((part, text))
            self.left.append(seconds_left)

        def done(self, result: Result) -> None:
            self.said.append((result.title, result.status))

    log = Log()
    day(context, part("a", well), watcher=log)
    assert log.said[1:] == [("A", "something"), ("A", "ok")]
    assert all(0 < left <= 300 for left in log.left)


@pytest.mark.parametrize("minutes", [0.5, 241, -1, float("nan")])
def test_minutes_out_of_range_are_refused(context: Context, minutes: float) -> None:
    with pytest.raises(ConfigError, match=r"it must be from 1 to 240\."):
        day(context, minutes=minutes)


def test_two_days_at_once_are_refused(context: Context) -> None:
    home = context.settings.prepare_home()
    with FileLock(home / "firstday.lock"):
        (home / "firstday.pid").write_text("4242\n")
        with pytest.raises(AlreadyRunning, match=r"Another first day .* \(process 4242\)"):
            day(context, part("a", well))


def test_a_full_disk_is_refused_before_anything_runs(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firstday, "SPARE_BYTES", 1 << 60)
    with pytest.raises(ServiceFailed, match="free some disk space"):
        day(context, part("a", well))


def test_the_parts_are_in_this_order() -> None:
    names = [part.name for part in firstday.PARTS]
    assert names == [
        *("placement", "precision", "replicas", "resume", "memory", "step time", "bench", "study")
    ]


def test_leftovers_of_a_day_are_removed(context: Context, tmp_path: Path) -> None:
    def write(day: Day) -> Result:
        (day.folder / "state.npz").write_bytes(b"x")
        return Result("ok", str(day.folder))

    found = day(context, part("a", write))
    assert not Path(found["parts"][0]["text"]).exists()
    assert not (context.settings.state / "firstday.pid").exists()


def test_tensorflow_stays_out_of_this_process() -> None:
    code = (
        "import sys\nfrom ganboard.worker.firstday import firstday, importing, report\n"
        "from ganboard.worker.doctor import accelerator\n"
        "print(sorted({'tensorflow', 'keras'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
