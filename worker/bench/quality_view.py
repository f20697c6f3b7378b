"""The table of `ganboard bench quality`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

from ganboard.worker.formatting import clean, duration
from ganboard.worker.terminal.console import make_console

EXPLANATION = """\
training: median over the seeds of the seconds of training until the first evaluation, one after
each epoch, that found the distance. 95 %: confidence interval of the mean (Student's t), from three
seeds on. from start: from submission to that result, with start, compiling and evaluations. kJ: of
the processors (RAPL), until the run had ended."""


def show(found: Mapping[str, Any]) -> None:
    """The document on stdout."""
    console, hardware = make_console(), found["hardware"]
    console.print(
        f"Seconds to FID {found['fid']:g} on {found['dataset']}, {found['images']:,} images"
        f" compared in a classifier's features; took {duration(found['seconds'])}."
    )
    devices = [f"{hardware['cpu']}, {hardware['cores']} cores"]
    devices += [gpu["name"] for gpu in hardware["gpus"]]
    console.print(", ".join(devices))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("recipe")
    headings = ("reached", "training", "min - max", "95 %", "from start", "epochs", "FID", "kJ")
    for heading in headings:
        table.add_column(heading, justify="right")
    for recipe in found["recipes"]:
        table.add_row(clean(recipe["recipe"]), *_figures(recipe))
    console.print(table)
    console.print(EXPLANATION)
    for recipe in found["recipes"]:
        for attempt in recipe["attempts"]:
            if attempt["problem"]:
                console.print(
                    clean(f"{recipe['recipe']}, seed {attempt['seed']}: {attempt['problem']}")
                )


def _figures(recipe: Mapping[str, Any]) -> list[str]:
    attempts, training = recipe["attempts"], recipe["training_seconds"]
    reached = f"{recipe['reached']} of {len(attempts)}"
    epochs = _range([attempt["epoch"] for attempt in attempts if attempt["epoch"]], "{:d}")
    distances = _range([attempt["fid"] for attempt in attempts if attempt["fid"]], "{:.2f}")
    joules = f"{recipe['joules']['median'] / 1000:.1f}" if recipe["joules"] else "-"
    if not training:
        return [reached, "-", "-", "-", "-", epochs, distances, joules]
    low_high = training["interval"]
    return [
        reached,
        f"{training['median']:.0f} s",
        f"{training['min']:.0f} - {training['max']:.0f}",
        f"{max(low_high[0], 0):.0f} - {low_high[1]:.0f}" if low_high else "-",
        f"{recipe['wall_seconds']['median']:.0f} s",
        epochs,
        distances,
        joules,
    ]


def _range(values: list[Any], form: str) -> str:
    if not values:
        return "-"
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} - {high}"
