"""Frame pairs of vortex streets: written into a folder, read back by index through memory maps.

    FOLDER/manifest.json   recording, flows, measured Strouhal numbers, digests
    FOLDER/000.npy         frames of sequence 0: float16 [frames, ny, nx, 3]

float16, since its rounding (2^-11, 0.05 %) is far below the solver's own error (Ma^2, 3 %), and it
halves what is stored and read.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from ganboard.gan import files
from ganboard.gan.data.dataset import DatasetError, reading
from ganboard.gan.models.pix2pix.config import CHANNELS
from ganboard.gan.models.pix2pix.flow import manifest as manifests
from ganboard.gan.models.pix2pix.flow import vortex_street
from ganboard.gan.models.pix2pix.flow.lattice import Field, Flow
from ganboard.gan.models.pix2pix.flow.manifest import (
    DTYPE,
    FORMAT,
    REMEDY,
    Manifest,
    Stored,
    file_name,
)
from ganboard.gan.models.pix2pix.flow.obstacle import Mask
from ganboard.gan.models.pix2pix.flow.recording import Recording

Progress = Callable[[int, int], None]  # done, total
Split = Literal["train", "held-out"]

MAX_VALUE = 4.0  # of any stored channel; streets stay within 2
_HEADER = 128  # bytes of an npy file before its numbers
_WATCH = 10  # steps between samples of the signal, at most


def write(
    folder: Path, recording: Recording, progress: Progress = lambda done, total: None
) -> Manifest:
    """Compute `recording` into a new `folder`, which appears only when it is whole; `progress`
    counts solver steps.

    Raises DatasetError before any work when the recording cannot be computed, the folder exists or
    the disk lacks the room.
    """
    recording.check()
    with reading(repr(str(folder)), "name a folder that can be made"):
        folder = folder.resolve()
        if os.path.lexists(folder):
            raise DatasetError(
                f"{folder} already exists. Name another folder, or delete that one first."
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        _require_room(folder.parent, recording)
    made = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        with files.whole_folder(folder, made):
            stored = []
            for number in range(len(recording.cases)):
                with files.flushed(made / file_name(number)) as file:
                    stored.append(_simulate(recording, number, file, progress))
            manifest = _manifest(recording, stored)
            with files.flushed(made / manifests.NAME) as file:
                file.write(manifest.encode())
    except OSError as error:
        remedy = (
            "free some space, or ask for fewer frames"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "check the disk"
        )
        raise DatasetError(
            f"{folder} was not written ({error.strerror or error}): {remedy}."
        ) from error
    return manifest


class Frames:
    """Stored frames, opened without reading them; every frame is checked when it is handed out.
    Raises DatasetError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = manifests.read(folder)
        self._maps = [self._map(number) for number in range(len(self.manifest.sequences))]
        self._masks: dict[int, Mask] = {}

    @property
    def splits(self) -> list[Split]:
        """Those that have sequences, the training's first."""
        return sorted({stored.split for stored in self.manifest.sequences}, reverse=True)

    def frame(self, sequence: int, number: int) -> Field:
        """u_x/U - 1, u_y/U and vorticity: float32 [ny, nx, 3]. Raises DatasetError when values are
        damaged."""
        found = np.asarray(self._maps[sequence][number], np.float32)
        if not (np.abs(found) <= MAX_VALUE).all():  # also false for NaN
            path = self.folder / file_name(sequence)
            raise DatasetError(
                f"{path}: frame {number} holds values that are not finite or exceed the limit of"
                f" {MAX_VALUE:g}: {REMEDY}."
            )
        return found

    def mask(self, sequence: int) -> Mask:
        """True in the solid: bool [ny, nx]."""
        if sequence not in self._masks:
            self._masks[sequence] = self.manifest.sequences[sequence].obstacle.mask(
                self.manifest.grid
            )
        return self._masks[sequence]

    def until(self, sequence: int, number: int, history: int = 1) -> Field:
        """The last `history` frames up to this one, in their order: float32 [history, ny, nx,
        3]."""
        return np.stack([self.frame(sequence, number - k) for k in reversed(range(history))])

    def conditioned(self, sequence: int, number: int, history: int = 1) -> Field:
        """What a network with this history is given of a frame: see `condition`."""
        return condition(self.until(sequence, number, history), self.mask(sequence))

    def pairs(self, split: Split, lag: int = 1, history: int = 1) -> Pairs:
        """Frames t, each with those before it, and t + `lag` of every sequence of a split; raises
        DatasetError when there is none."""
        limit = self.manifest.frames - history
        if not 1 <= lag <= limit:
            raise DatasetError(
                f"lag={lag} is not from 1 to {limit} for sequences of {self.manifest.frames} frames"
                f" and a history of {history}: choose one between, or store more."
            )
        chosen = [
            number for number, stored in enumerate(self.manifest.sequences) if stored.split == split
        ]
        if not chosen:
            raise DatasetError(
                f"{self.folder} has no {split} sequence. Create it with at least one."
            )
        return Pairs(self, chosen, lag, history)

    def verify(self, progress: Progress = lambda done, total: None) -> None:
        """Read everything and compare digests and values; `progress` counts sequences. Raises
        DatasetError."""
        for number, stored in enumerate(self.manifest.sequences):
            path = self.folder / file_name(number)
            with reading(path, REMEDY):
                if files.measure(path) != (stored.bytes, stored.sha256):
                    raise ValueError("its digest does not match: it was changed")
            for frame in range(self.manifest.frames):
                self.frame(number, frame)
            progress(number + 1, len(self.manifest.sequences))

    def _map(self, number: int) -> npt.NDArray[np.float16]:
        path, shape = self.folder / file_name(number), (self.manifest.frames, *self.manifest.frame)
        expected = self.manifest.sequences[number].bytes
        with reading(path, REMEDY), files.open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != expected or expected != _HEADER + math.prod(shape) * 2:
                raise ValueError(
                    f"it has {size:,} bytes, {shape} frames of {DTYPE} have"
                    f" {_HEADER + math.prod(shape) * 2:,}"
                )
            if file.read(_HEADER) != _header(shape):
                raise ValueError(f"its header does not declare {shape} frames of {DTYPE}")
            return np.memmap(file, DTYPE, mode="r", offset=_HEADER, shape=shape)


def condition(frames: Field, solid: Mask) -> Field:
    """Frames [history, ny, nx, 3] in their order and the obstacle as a network is given them:
    float32 [ny, nx, 3 history + 1], the newest first and the obstacle last."""
    return np.concatenate([*frames[::-1], solid[..., np.newaxis]], axis=-1, dtype=np.float32)


class Pairs:
    """Frame t with those before it and its obstacle, and frame t + lag, by index."""

    def __init__(self, frames: Frames, sequences: Sequence[int], lag: int, history: int) -> None:
        self._frames, self._sequences, self._lag = frames, sequences, lag
        self._history = history
        self._each = frames.manifest.frames - lag - (history - 1)

    def __len__(self) -> int:
        return self._each * len(self._sequences)

    def where(self, index: int) -> tuple[int, int]:
        """Sequence and t of pair `index`."""
        if not 0 <= index < len(self):
            raise IndexError(
                f"There is no pair {index}, the limit is {len(self) - 1}: count from 0."
            )
        return self._sequences[index // self._each], index % self._each + self._history - 1

    def __getitem__(self, index: int) -> tuple[Field, Field]:
        """Float32 [ny, nx, 3 history + 1] and [ny, nx, 3]. Raises IndexError, DatasetError."""
        sequence, t = self.where(index)
        before = self._frames.conditioned(sequence, t, self._history)
        return before, self._frames.frame(sequence, t + self._lag)

    def batch(self, indices: Sequence[int]) -> tuple[Field, Field]:
        """Several, float32 [B, ny, nx, 3 history + 1] and [B, ny, nx, 3]. Raises the same."""
        inputs, targets = zip(*(self[index] for index in indices), strict=True)
        return np.stack(inputs), np.stack(targets)


def _simulate(recording: Recording, number: int, file: BinaryIO, progress: Progress) -> Stored:
    case = recording.cases[number]
    flow = Flow(case.obstacle, case.reynolds, recording.grid, recording.speed, bump=case.bump)
    D, U = case.obstacle.diameter, recording.speed
    header = _header((recording.frames, recording.grid[1], recording.grid[0], CHANNELS))
    file.write(header)
    digest, signal = hashlib.sha256(header), []
    dt = math.gcd(_WATCH, recording.discard, recording.every)
    while flow.steps < recording.steps:
        signal.append(vortex_street.watch(flow, dt, dt)[0])
        progress(number * recording.steps + flow.steps, len(recording.cases) * recording.steps)
        past = flow.steps - recording.discard
        if past >= 0 and past % recording.every == 0:
            frame = vortex_street.channels(flow.velocity(), flow.solid, D, U)[..., :CHANNELS]
            if not (np.abs(frame) <= MAX_VALUE).all():
                raise DatasetError(
                    f"The flow at Reynolds number {case.reynolds:g} exceeds {MAX_VALUE:g} times the"
                    f" inlet speed at step {flow.steps:,}: use a smaller Reynolds number or a"
                    " finer grid."
                )
            data = frame.astype(DTYPE).tobytes()
            file.write(data)
            digest.update(data)
    return Stored(
        **asdict(case.obstacle),
        reynolds=case.reynolds,
        bump=case.bump,
        tau=flow.tau,
        strouhal=vortex_street.strouhal(np.array(signal), dt, D, U),
        split="held-out" if case.held_out else "train",
        bytes=file.tell(),
        sha256=digest.hexdigest(),
    )


def _manifest(recording: Recording, stored: Sequence[Stored]) -> Manifest:
    facts: dict[str, Any] = {
        name: getattr(recording, name)
        for name in ("grid", "speed", "frames", "discard", "every", "seed")
    }
    names = "u_x/U - 1, u_y/U, vorticity D/U / 3 within -1 and 1"
    return Manifest(format=FORMAT, channels=names, dtype=DTYPE, sequences=tuple(stored), **facts)


def _header(shape: tuple[int, ...]) -> bytes:
    """The only header that a file of ours can have."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": DTYPE, "fortran_order": False, "shape": shape}
    )
    assert file.tell() == _HEADER
    return file.getvalue()


def _require_room(folder: Path, recording: Recording) -> None:
    needed = len(recording.cases) * (
        recording.frames * math.prod(recording.grid) * CHANNELS * 2 + _HEADER
    )
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DatasetError(
            f"The frames need {needed / 1e6:,.0f} MB and {folder} has {free / 1e6:,.0f} MB free:"
            " free some space, or ask for fewer frames."
        )
