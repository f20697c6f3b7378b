"""A sink that remembers, and a control that stops after so many questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ganboard.gan.config import RunConfig
from ganboard.gan.events import ControlSignal, EpochDone, Event, Grid, Losses, Note, Outcome, Steps
from ganboard.gan.training.loop import train

T = TypeVar("T")


class Recorder:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def epochs(self) -> list[tuple[Any, ...]]:
        """All of every finished epoch that must not depend on when it was computed."""
        return [
            (e.epoch, e.g_loss.hex(), e.d_loss.hex(), e.images, e.g_path, e.d_path)
            for e in self.of(EpochDone)
        ]

    def steps(self) -> dict[int, Losses]:
        """Losses [2, n] (G, D) by epoch; a sink may put a block where it was sent before, and so
        does this."""
        found: dict[int, dict[int, tuple[np.float32, np.float32]]] = {}
        for block in self.of(Steps):
            for i, pair in enumerate(zip(block.g_losses, block.d_losses, strict=True)):
                found.setdefault(block.epoch, {})[block.first + i] = pair
        for epoch in found.values():
            assert sorted(epoch) == list(range(len(epoch))), "a step is missing"
        return {
            epoch: np.array([pairs[i] for i in range(len(pairs))]).T
            for epoch, pairs in found.items()
        }

    def series(self) -> dict[int, dict[str, Losses]]:
        """Further values [n] by epoch and name, as `steps` gives the losses."""
        found: dict[int, dict[str, dict[int, np.float32]]] = {}
        for block in self.of(Steps):
            for name, values in block.series.items():
                found.setdefault(block.epoch, {}).setdefault(name, {}).update(
                    enumerate(values, block.first)
                )
        return {
            epoch: {name: np.array([at[i] for i in sorted(at)]) for name, at in of.items()}
            for epoch, of in found.items()
        }


class After:
    """Says `verdict` from the `calls`-th question on."""

    def __init__(self, calls: int, verdict: ControlSignal = "stop") -> None:
        self.calls, self.verdict = calls, verdict

    def __call__(self) -> ControlSignal:
        self.calls -= 1
        return self.verdict if self.calls <= 0 else "go"


def go() -> ControlSignal:
    return "go"


def run(
    config: RunConfig,
    directory: Path,
    *,
    attempt: int = 1,
    control: Any = go,
    sink: Recorder | None = None,
) -> tuple[Recorder, Outcome]:
    """Train in this process and record; data sets that need files are looked for in `directory`."""
    recorder = sink or Recorder()
    outcome = train(
        config,
        run_dir=directory,
        data_dir=directory,
        attempt=attempt,
        sink=recorder,
        control=control,
    )
    return recorder, outcome


def assert_resumes(config: RunConfig, directory: Path) -> Recorder:
    """Train in `directory`/whole, and in `directory`/parts, stopped after a step and resumed, to
    identical bits; returns the first."""
    whole, outcome = run(config, directory / "whole")
    assert outcome == "finished"
    assert not [note.text for note in whole.of(Note) if note.level == "error"]
    _, outcome = run(config, directory / "parts", control=After(1, "stop"))
    assert outcome == "stopped"
    second, outcome = run(config, directory / "parts", attempt=2)
    assert outcome == "finished"
    assert second.epochs() == whole.epochs()
    assert second.of(Grid)[-1].png == whole.of(Grid)[-1].png
    return whole
