"""Display of a benchmark: progress on stderr while it runs, then a table on stdout and a plot."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table

from ganboard.gan.config import ConfigError
from ganboard.worker.bench.candidates import has_peers, model_of_peers
from ganboard.worker.bench.runner import Doing, Watcher
from ganboard.worker.figures import mode_bar
from ganboard.worker.formatting import clean, duration, rate
from ganboard.worker.terminal.console import make_console

FORMATS = (".html", ".png", ".svg")
EXPLANATION = """\
images/s: median of the rounds. GFLOP/s: the products of the plain step, counted as direct
convolutions. x: median of the ratios within each round, to the tutorial's loop in float32, to
PyTorch's best form, and to the convolutions and products alone in the same precision (computed
directly: other ways may be faster)."""
OURS = """\
images/s: median of the rounds. GFLOP/s: the products of the plain step, counted as direct
convolutions. x bare: median of the ratios within each round, to our trainer alone in the same
precision; x tutorial: to a plain loop with Keras's own layers in float32. memory: highest of all
its processes, TensorFlow and data included."""


class Lines(Watcher):
    """A line on stderr for each turn; on a terminal also the current state and the time left."""

    def __init__(self, turn: str = "round") -> None:
        self._turn = turn
        self._console = Console(
            stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True
        )
        self._status = Status("", console=self._console)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._status.stop()

    def doing(self, now: Doing) -> None:
        left = f", about {duration(now.seconds_left)} left" if now.seconds_left is not None else ""
        self._status.update(f"{self._turn} {now.round}: {now.text}{left}")

    def done(self, text: str, seconds_left: float) -> None:
        self._console.print(
            clean(text) + (f" (about {duration(seconds_left)} left)" if seconds_left else "")
        )


def show(found: Mapping[str, Any]) -> None:
    """The document on stdout."""
    console, hardware = make_console(), found["hardware"]
    console.print(
        f"{found['data']} Batch {found['batch']}, {_rounds(found)} in {duration(found['seconds'])}."
    )
    console.print(
        ", ".join(
            [
                f"{hardware['cpu']}, {hardware['cores']} cores",
                *(gpu["name"] for gpu in hardware["gpus"]),
            ]
        )
    )
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("candidate")
    table.add_column("precision")
    whole = found["model"] == model_of_peers()
    tutorial = ["tutorial"] if has_peers(found["model"]) else []
    yardsticks = [*tutorial, "PyTorch", "floor"] if whole else ["bare", *tutorial]
    for heading in (
        "images/s",
        "min - max",
        "s/step",
        "GFLOP/s",
        *(f"x {name}" for name in yardsticks),
        "memory",
    ):
        table.add_column(heading, justify="right")
    for one in found["candidates"]:
        if one["images_per_second"]:
            table.add_row(
                one["title"],
                one["precision"].removeprefix("mixed_"),
                *_figures(one, found["batch"], yardsticks),
            )
    console.print(table)
    console.print(EXPLANATION if whole else OURS)
    for one in found["candidates"]:
        if seconds := one["start_seconds"]:
            console.print(
                f"{one['title']}: {seconds['median']:.1f} s ({seconds['min']:.1f} -"
                f" {seconds['max']:.1f})"
            )
        if one["problem"]:
            console.print(
                clean(
                    f"{one['title']}, {one['precision'].removeprefix('mixed_')}: {one['problem']}"
                )
            )
    for goal in found["goals"]:
        outcome = (
            "not measured"
            if goal["met"] is None
            else f"{goal['reached']:.2f} {'reached' if goal['met'] else 'missed'}"
        )
        console.print(f"goal: {goal['goal']}: {outcome}")


def _figures(one: Mapping[str, Any], batch: int, yardsticks: Sequence[str]) -> list[str]:
    speed, memory = one["images_per_second"], one["memory_bytes"]
    ratios = [
        f"{ratio:.2f}" if (ratio := one["ratios"][name.lower()]) else "-" for name in yardsticks
    ]
    taken = f"{batch / speed['median']:.3g}", f"{one['gflops']:,.0f}"
    spread = f"{rate(speed['min'])} - {rate(speed['max'])}"
    return [
        rate(speed["median"]),
        spread,
        *taken,
        *ratios,
        f"{memory / 2**30:.1f} GiB" if memory else "-",
    ]


def _rounds(found: Mapping[str, Any]) -> str:
    return f"{found['rounds']} round{'s' * (found['rounds'] > 1)}"


def check_plot(path: Path) -> None:
    """Refuse a file that cannot be written before the time is spent. Raises ConfigError."""
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"--plot {path}: the file name must end in {', '.join(FORMATS)}.")
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise ConfigError(
            f"--plot {path} cannot be written ({error.strerror}). Choose another path."
        ) from None


def plot(found: Mapping[str, Any], path: Path) -> str:
    """Write bars with least and most as error bars; returns a sentence on what was written: a page
    where no image can be made."""
    import plotly.graph_objects as go

    measured = [one for one in found["candidates"] if one["images_per_second"]]
    figure = go.Figure()
    for precision in dict.fromkeys(one["precision"] for one in measured):
        bars = [one for one in measured if one["precision"] == precision]
        speeds = [one["images_per_second"] for one in bars]
        figure.add_bar(
            name=precision.removeprefix("mixed_"),
            orientation="h",
            y=[one["title"] for one in bars],
            x=[speed["median"] for speed in speeds],
            error_x={
                "array": [speed["max"] - speed["median"] for speed in speeds],
                "arrayminus": [speed["median"] - speed["min"] for speed in speeds],
            },
        )
    figure.update_layout(
        title=(f"Training speed at batch {found['batch']}: median and range of {_rounds(found)}"),
        xaxis_title=f"images/s on {found['hardware']['cpu']}",
        yaxis={"autorange": "reversed", "automargin": True},
        template="plotly_white",
        height=200 + 60 * len({one["title"] for one in measured}),
    )
    wanted = path.suffix.lower()
    if wanted == ".html":
        # all within one file, for a machine without a network
        figure.write_html(path, include_plotlyjs=True, config=mode_bar.CONFIG)
        return f"The plot is in {path}."
    try:
        if importlib.util.find_spec("kaleido") is None:
            raise RuntimeError("it needs pip install kaleido")
        figure.write_image(path, width=1100)
    # kaleido is there and its browser is not, for example
    except (RuntimeError, ValueError) as error:
        path.unlink(missing_ok=True)
        page = path.with_suffix(".html")
        figure.write_html(page, include_plotlyjs=True, config=mode_bar.CONFIG)
        reason = " ".join(str(error).split())[:200].rstrip(".")
        return f"The {wanted} file could not be created ({reason}). The plot is in {page}."
    return f"The plot is in {path}."
