"""The table of a bundle's steps: losses and series of every step, checked against run.json."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.db.models import StepLosses, StepSeries
from ganboard.gan.events import SERIES
from ganboard.worker.interchange.bundle import BadBundle, Content
from ganboard.worker.interchange.fields import Number
from ganboard.worker.interchange.schema import EpochDocument, RunDocument

MAX_TABLE = 512 << 20


def step_rows(document: RunDocument, content: Content) -> Iterator[Any]:
    """The losses and series of every epoch; their float64 means must be the epochs' losses to the
    bit."""
    text = io.TextIOWrapper(
        io.BytesIO(content.read("steps.csv", MAX_TABLE)), encoding="utf-8", newline=""
    )
    refused = f"{content.path} is refused: steps.csv"
    try:
        reader = csv.reader(text)
        names = next(reader, [])
        places = {
            name: names.index(name)
            for name in ("epoch", "g_loss", "d_loss", *SERIES)
            if name in names
        }
        epochs: dict[int, list[list[float]]] = {}
        for line in reader:
            values = [
                float(line[place]) if line[place] else float("nan") for place in places.values()
            ]
            epochs.setdefault(int(values[0]), []).append(values[1:])
    except (ValueError, IndexError, csv.Error, UnicodeDecodeError) as error:
        raise BadBundle(
            f"{refused} cannot be read ({type(error).__name__}). Export it again."
        ) from None
    if {"epoch", "g_loss", "d_loss"} - set(places):
        raise BadBundle(f"{refused} does not have the columns epoch, g_loss and d_loss.")
    per_epoch = document.steps_per_epoch or 0
    attempts = {one.epoch: one.attempt for one in document.epochs}
    if sorted(epochs) != list(range(1, len(epochs) + 1)) or len(epochs) not in (
        document.epoch,
        document.epoch + 1,
    ):
        raise BadBundle(f"{refused} has {len(epochs)} epochs, run.json has {document.epoch}.")
    for epoch, lines in epochs.items():
        columns: dict[str, npt.NDArray[np.float32]] = {
            name: np.array(column, np.float32)
            for name, column in zip(list(places)[1:], zip(*lines, strict=True), strict=True)
        }
        if len(lines) > per_epoch or (epoch <= document.epoch and len(lines) != per_epoch):
            raise BadBundle(
                f"{refused} has {len(lines)} steps in epoch {epoch}, run.json {per_epoch} in each."
            )
        attempt = attempts.get(epoch, document.attempt)
        if epoch <= document.epoch:
            _same_means(document.epochs[epoch - 1], columns, refused)
        g_losses, d_losses = columns.pop("g_loss"), columns.pop("d_loss")
        yield StepLosses(
            run_id=document.id, epoch=epoch, attempt=attempt, g_losses=g_losses, d_losses=d_losses
        )
        for name, series in columns.items():
            if not np.isnan(series).all():
                yield StepSeries(
                    run_id=document.id, epoch=epoch, name=name, attempt=attempt, values=series
                )


def _same_means(
    document: EpochDocument, columns: dict[str, npt.NDArray[np.float32]], refused: str
) -> None:
    for net, loss in (("g", document.g_loss_hex), ("d", document.d_loss_hex)):
        mean = float(columns[f"{net}_loss"].mean(dtype=np.float64))
        if not same(mean, loss):
            raise BadBundle(
                f"{refused} gives {net.upper()} a mean loss of {mean!r} in epoch {document.epoch},"
                f" run.json {loss!r}."
            )


def same(a: Number, b: Number) -> bool:
    """Equal, or both not a number."""
    return a == b or (a != a and b != b)
