"""What a run reports, under TensorBoard's tags. All points lie at training steps, so that every
chart has one axis: those of an epoch at its last step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.db import models
from ganboard.db.models import Epoch
from ganboard.gan import events
from ganboard.gan.events import REAL_IMAGES, EpochDone
from ganboard.gan.quality.declared import by_qualified_name
from ganboard.gan.settings.features import Source
from ganboard.worker.tensorboard.event_file import EventFile

BINS = 50  # of the histogram of an epoch's losses
LOSSES = ("g_loss", "d_loss")
EPOCH, SAMPLES, REAL = "epoch", "images/fixed_latents", "images/real"
Floats = npt.NDArray[Any]


class Board:
    """Writes into an event file. Times are seconds since 1970."""

    def __init__(self, file: EventFile, steps_per_epoch: int = 1) -> None:
        self._file, self.steps_per_epoch = file, steps_per_epoch
        self._losses: dict[str, list[Floats]] = {name: [] for name in LOSSES}
        self._resumed_after = 0  # a step

    def settings(self, name: str, config: Mapping[str, Any], at: float) -> None:
        self._file.settings({"name": name, **config}, at)
        rows = "\n".join(f"| {key} | {_cell(value)} |" for key, value in sorted(config.items()))
        self._file.text("configuration", f"| setting | value |\n|---|---|\n{rows}", 0, at)

    def resume(self, step: int, at: float) -> None:
        """Training goes on after `step`: what was written of later ones is void."""
        self._resumed_after = step
        self._file.resume(step + 1, at)

    def steps(
        self, epoch: int, first: int, columns: Mapping[str, Floats], times: Floats | float
    ) -> int:
        """Values [n] by name of consecutive steps of an epoch, from `first` on, which counts from 0
        within it; returns the last step."""
        if first == 0:
            self._losses = {name: [] for name in LOSSES}
        for name in LOSSES:
            self._losses[name].append(np.asarray(columns[name]))
        step = self._end(epoch - 1) + first
        moments = np.broadcast_to(times, len(columns[LOSSES[0]])).tolist()
        rows = zip_longest(
            *(np.asarray(column).tolist() for column in columns.values()), fillvalue=float("nan")
        )
        for at, row in zip(moments, rows, strict=True):
            step += 1
            # those before are reported once more, for the histogram of their epoch
            if step > self._resumed_after:
                self._file.scalars(dict(zip(columns, row, strict=True)), step, at)
        return step

    def epoch(self, epoch: EpochDone | Epoch, at: float) -> None:
        """The end of an epoch, with histograms of the losses that `steps` was given since the last
        one."""
        own = {name: getattr(epoch, name) for name in (*LOSSES, "seconds", "compile_seconds")}
        rate = {"images_per_second": epoch.images / epoch.seconds} if epoch.seconds else {}
        named = {
            f"epoch/{name}": value for name, value in {**own, **rate, **epoch.measures}.items()
        }
        step = self._end(epoch.epoch)
        self._file.scalars({EPOCH: epoch.epoch, **named}, step, at)
        for name, parts in self._losses.items():
            losses = np.concatenate([*parts, np.zeros(0, np.float32)])
            finite = losses[np.isfinite(losses)]
            if len(finite):
                counts, edges = np.histogram(finite.astype(np.float64), BINS)
                self._file.histogram(f"losses/{name}", edges, counts, step, at)

    def quality(
        self, evaluated: events.Quality | models.Quality, source: Source, at: float
    ) -> None:
        named = by_qualified_name(evaluated.measures, source)
        self._file.scalars(
            {f"quality/{name}": value for name, value in named.items()},
            self._end(evaluated.epoch),
            at,
        )

    def grid(self, epoch: int, png: bytes, at: float) -> None:
        if epoch == REAL_IMAGES:
            self._file.image(REAL, png, 0, at)
        else:
            self._file.image(SAMPLES, png, self._end(epoch), at)

    def note(self, level: str, text: str, step: int, at: float) -> None:
        self._file.text(f"events/{level}", text, step, at)

    def _end(self, epoch: int) -> int:
        return epoch * self.steps_per_epoch


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
