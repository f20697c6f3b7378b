"""Turns, waiting and memory, with candidates whose speed is made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ganboard.db.settings import Settings
from ganboard.gan.bench.protocol import Task
from ganboard.gan.config import parse
from ganboard.worker.bench import runner
from ganboard.worker.bench.candidates import BenchmarkError, Candidate, choose
from ganboard.worker.bench.runner import Doing, Options, Watcher

SECONDS = {"bare": 0.25, "tutorial": 0.5, "floor": 0.125, "local-sgd": 0.3}  # of one step


class Fake:
    """Stands for `worker.bench.candidates.Running`."""

    calls: list[str]

    def __init__(self, candidate: Candidate, task: Task, python: str, scratch: Path) -> None:
        self.name, self.batch, self.settings = candidate.name, task.batch, task.settings
        self.calls.append(f"start {self.name}")

    def first_step(self) -> float:
        if self.name == "jax":
            raise BenchmarkError("not installed: pip install jax")
        return 4.5

    def warm_up(self) -> str:
        return f"version of {self.name}"

    def take(self, steps: int) -> tuple[float, int]:
        self.calls.append(f"{self.name} {steps}")
        return steps * SECONDS[self.name], 10**9

    def end(self) -> None:
        self.calls.append(f"end {self.name}")


class Log(Watcher):
    def __init__(self) -> None:
        self.left: list[float] = []
        self.now: list[Doing] = []
        self.text: list[str] = []

    def doing(self, now: Doing) -> None:
        self.now.append(now)

    def done(self, text: str, seconds_left: float) -> None:
        self.text.append(text)
        self.left.append(seconds_left)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(Fake, "calls", said, raising=False)
    monkeypatch.setattr(runner, "Running", Fake)
    monkeypatch.setattr(runner, "_memory_left", lambda: 1 << 60)
    return said


def raced(
    only: list[str], folder: Path, *, rounds: int = 2, steps: int | None = None
) -> tuple[list[Any], Log]:
    options, log = (
        Options(batch=64, precisions=["float32"], rounds=rounds, only=only, steps=steps),
        Log(),
    )
    base = parse({"dataset": "digits", "batch_size": 64})
    with runner.run_benchmark(Settings(), options, base, 1797, folder) as benchmark:
        return benchmark.run(choose(only, ["float32"], options.model), log), log


def test_every_other_round_goes_backwards_and_processes_stay(
    calls: list[str], tmp_path: Path
) -> None:
    (bare, tutorial, floor), _ = raced(["bare", "tutorial", "floor"], tmp_path, steps=7)
    turns = [call for call in calls if call.endswith(" 7")]
    assert turns == ["bare 7", "tutorial 7", "floor 7", "floor 7", "tutorial 7", "bare 7"]
    assert [call for call in calls if "start" in call] == [
        "start bare",
        "start tutorial",
        "start floor",
    ]
    assert sorted(calls[-3:]) == ["end bare", "end floor", "end tutorial"]
    assert bare.rates == {1: 256.0, 2: 256.0}
    assert tutorial.rates == {1: 128.0, 2: 128.0}
    assert (floor.version, floor.memory_bytes, floor.steps) == ("version of floor", 10**9, 7)


def test_turns_take_about_five_seconds(calls: list[str], tmp_path: Path) -> None:
    (bare, floor), _ = raced(["bare", "floor"], tmp_path, rounds=1)
    assert (bare.steps, floor.steps) == (20, 40)


def test_turns_of_local_sgd_end_with_an_average(calls: list[str], tmp_path: Path) -> None:
    (local,), _ = raced(["local-sgd"], tmp_path, rounds=1)
    assert (local.steps, local.candidate.processes) == (32, 2)
    assert "local-sgd 32" in calls


def test_one_that_is_missing_leaves_the_others_alone(calls: list[str], tmp_path: Path) -> None:
    (bare, jax), log = raced(["bare", "jax"], tmp_path, rounds=3)
    assert jax.problem == "not installed: pip install jax"
    assert len(bare.rates) == 3
    assert calls.count("start jax") == 1
    assert log.text[1] == "round 1/3: jax float32: not installed: pip install jax"


def test_the_start_is_measured_anew_in_every_round(calls: list[str], tmp_path: Path) -> None:
    (start,), _ = raced(["start"], tmp_path, rounds=3)
    assert start.seconds == {1: 4.5, 2: 4.5, 3: 4.5}
    assert calls == ["start start", "end start"] * 3


def test_progress_says_round_and_what_is_left(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 10))  # every turn asks twice: ten seconds each
    # its own alone: a thread that another test has left would take turns
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    _, log = raced(["bare", "tutorial"], tmp_path)
    assert log.now[0] == Doing(1, "starting bare float32", None)
    assert log.now[-1] == Doing(2, "measuring bare float32", 10.0)
    assert log.left == [30.0, 20.0, 10.0, 0.0]


def test_short_memory_ends_whose_turn_is_furthest(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awake: set[str] = set()

    def left() -> int:  # room for two at a time
        awake.clear()
        for call in calls:
            word, name = call.split()
            {"start": awake.add, "end": awake.discard}.get(word, lambda name: None)(name)
        return (1 << 60) * (len(awake) < 2)

    monkeypatch.setattr(runner, "_memory_left", left)
    results, _ = raced(["bare", "tutorial", "floor"], tmp_path, steps=7)
    assert all(len(result.rates) == 2 for result in results)
    # before floor starts, bare's next turn is the last; in the second round tutorial is still
    # there, and bare starts anew
    assert [call for call in calls if call.split()[0] in ("start", "end")][:5] == [
        "start bare", "start tutorial", "end bare", "start floor", "end floor",
    ]  # fmt: skip
    assert calls.count("start tutorial") == 1


class FakePlatform:
    configs: list[Any]

    def __init__(self, home: Path, data_dir: Path) -> None: ...

    def train(self, config: Any) -> tuple[float, int]:
        self.configs.append(config)
        images = (config.epochs - 1) * 28 * config.batch_size
        return images / 240, images

    def end(self) -> None:
        self.configs.append("end")


def test_the_platform_is_measured_beside_the_trainer_over_as_many_steps(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs: list[Any] = []
    monkeypatch.setattr(FakePlatform, "configs", configs, raising=False)
    monkeypatch.setattr(runner, "Platform", FakePlatform)
    (platform,), _ = raced(["platform"], tmp_path)
    # 28 steps of 0.25 s in an epoch of digits: about twenty seconds are three epochs, and two such
    # spans are timed
    config = configs[0]
    assert (config.epochs, config.grid_every, config.checkpoint_every, config.precision) == (
        7,
        3,
        3,
        "float32",
    )
    assert calls.count(f"bare {6 * 28}") == 2
    assert platform.rates == pytest.approx({1: 240.0, 2: 240.0})
    assert platform.partner == pytest.approx({1: 256.0, 2: 256.0})
    assert configs[-1] == "end"
