"""How `ganboard predict` shows and writes what it found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.table import Column, Table

from ganboard.gan import files
from ganboard.gan.models.pix2pix import rendering
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.worker.errors import WorkerError
from ganboard.worker.interchange.document import encode
from ganboard.worker.terminal.console import make_console

COLUMNS = 6  # of the picture, and rows of the table of errors
PARTS = ("split", "transfer", "execute", "merge")


def sheet(
    frames: Frames, flows: Sequence[dict[str, Any]], made: Sequence[npt.NDArray[np.float32]]
) -> bytes:
    """PNG of the real and the predicted frames of `flows` (as `rollout.evaluate` has them) at a few
    steps from 0 to the last."""
    at = _shown(len(made[0]) - 1)
    strips = []
    for flow, continued in zip(flows, made, strict=True):
        number = flow["sequence"]
        real = np.stack([frames.frame(number, flow["first"] + t) for t in at])
        strips.append(rendering.Strip(_title(flow), real, continued[at], frames.mask(number)))
    return rendering.sheet(strips, [f"step {t}" for t in at])


def make_folder(folder: Path) -> None:
    """Raises WorkerError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkerError(
            f"{folder} cannot be created ({error.strerror}). Choose another folder with --out."
        ) from None


def write(folder: Path, found: dict[str, Any], png: bytes) -> None:
    """prediction.json and prediction.png, whole or not at all. Raises WorkerError."""
    for name, content in {"prediction.json": encode(found), "prediction.png": png}.items():
        try:
            with files.whole_file(folder / name) as file:
                file.write(content)
        except OSError as error:
            raise WorkerError(
                f"{folder / name} could not be written ({error.strerror}). Check the disk."
            ) from None


def show(found: dict[str, Any], out: Path | None) -> None:
    """Errors by step, what is kept of each street, one step ahead, and where the time goes."""
    console = make_console()
    for table in (_errors(found), _streets(found), _parts(found["times"])):
        console.print(table)
    gap = found["l1_one_step"]
    errors = [
        (
            f"{name} {value:.4f} ({value - gap['training']:+.4f})"
            if name != "training"
            else f"{name} {value:.4f}"
        )
        for name, value in gap.items()
    ]
    console.print("L1 one step ahead: " + ", ".join(errors))
    console.print(
        f"Checkpoint of step {found['step']:,}. "
        + (
            f"Wrote prediction.png and prediction.json to {out}."
            if out
            else "Use --out FOLDER to write the picture and all metrics."
        )
    )


def show_times(found: dict[str, Any]) -> None:
    table = _table(
        "", "replicas", "batch or group", "first, s", "then, s", "ms per pair or tile", "gain"
    )
    rows = found["rows"]
    alone = {(row["what"], row["size"]): row["each"] for row in rows if row["replicas"] == 1}
    for row in rows:
        base = alone.get((row["what"], row["size"]))
        gain = f"{base / row['each']:.2f}" if base and row["replicas"] > 1 else ""
        seconds = f"{row['first']:.2f}", f"{row['seconds']:.3f}", f"{row['each'] * 1e3:.1f}"
        table.add_row(row["what"], str(row["replicas"]), str(row["size"]), *seconds, gain)
    console = make_console()
    console.print(table)
    if not found["gpus"]:
        console.print(
            f"Replicas are logical devices that share {found['cores']} CPU cores: the results show"
            " overhead, not the gain of several devices."
        )


def _errors(found: dict[str, Any]) -> Table:
    columns = "l1", "held_l1", "rms", "held_rms", "mean_rms", "divergence", "real_divergence"
    table = _table(
        "flow", "step", "L1", "held frame", "RMS", "held frame", "mean flow", "divergence", "real"
    )
    for flow in found["flows"]:
        for step in sorted({1, *_shown(found["steps"])[1:]}):
            name = _title(flow) if step == 1 else ""
            table.add_row(name, str(step), *(f"{flow[column][step - 1]:.4f}" for column in columns))
        table.add_section()
    return table


def _streets(found: dict[str, Any]) -> Table:
    table = _table(
        "flow",
        "better than the mean flow",
        "St",
        "real",
        "recorded",
        "amplitude, U",
        "real",
        "ahead, periods",
        "wake off by, U",
    )
    for flow in found["flows"]:
        kept = "to the end" if flow["horizon"] == found["steps"] else f"{flow['horizon']} steps"
        numbers = (
            "-" if flow[name] is None else f"{flow[name]:.3f}"
            for name in ("strouhal", "real_strouhal", "recorded_strouhal")
        )
        ahead = "-" if flow["lead"] is None else f"{flow['lead']:+.2f}"
        amplitudes = (f"{flow[name]:.3f}" for name in ("amplitude", "real_amplitude"))
        table.add_row(
            _title(flow), kept, *numbers, *amplitudes, ahead, f"{flow['wake_mean_rms']:.3f}"
        )
    return table


def _parts(times: dict[str, Any]) -> Table:
    table = _table("ms a frame", *PARTS, "executing")
    for name, words in {"first": "the first", "steady": "later, median"}.items():
        seconds = times[name]
        table.add_row(
            words,
            *(f"{seconds[part] * 1e3:.1f}" for part in PARTS),
            f"{seconds['execute'] / sum(seconds.values()):.0%}",
        )
    return table


def _title(flow: dict[str, Any]) -> str:
    return f"{flow['obstacle']}, Re {flow['reynolds']:g}, {flow['kind']}"


def _table(first: str, *headings: str) -> Table:
    return Table(
        first,
        *(Column(heading, justify="right") for heading in headings),
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )


def _shown(last: int) -> list[int]:
    return sorted({round(step) for step in np.linspace(0, last, COLUMNS).tolist()})
