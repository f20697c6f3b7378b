"""A street continued from one frame, each answer being the next question, and how far it stays with
the real one. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import hilbert

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.pix2pix.flow import vortex_street
from ganboard.gan.models.pix2pix.flow.frames import Frames, condition
from ganboard.gan.models.pix2pix.flow.lattice import Field
from ganboard.gan.models.pix2pix.flow.manifest import Manifest
from ganboard.gan.models.pix2pix.flow.obstacle import Mask
from ganboard.gan.models.pix2pix.flow.vortex_street import Signal

# what `frames.condition` gives [ny, nx, inputs] -> the next frame [ny, nx, 3]
Predict = Callable[[Field], Field]

PAIRS = 32  # of either split, by which the gap is measured


class Errors(NamedTuple):
    """How far frames 1 to n lie from the real ones, each float64 [n]: means over cells and
    channels."""

    l1: Signal
    rms: Signal
    held_l1: Signal  # of persistence: the given frame, held
    held_rms: Signal
    mean_rms: Signal  # of the mean of all recorded frames, which asks for no prediction


def kind(manifest: Manifest, number: int) -> str:
    """training, or what was kept from it: held-out Reynolds number, held-out shape."""
    own, trained = (
        manifest.sequences[number],
        [stored for stored in manifest.sequences if stored.split == "train"],
    )
    if own.split == "train":
        return "training"
    known = own.obstacle.name in {stored.obstacle.name for stored in trained}
    return "held-out Reynolds number" if known else "held-out shape"


def choose(manifest: Manifest) -> list[int]:
    """The first sequence of each `kind`."""
    first: dict[str, int] = {}
    for number in range(len(manifest.sequences)):
        first.setdefault(kind(manifest, number), number)
    return list(first.values())


def roll(
    predict: Predict,
    given: Field,
    solid: Mask,
    steps: int,
    on_progress: Callable[[], None] = lambda: None,
) -> Field:
    """The last of the given frames [history, ny, nx, 3] and its continuation: [steps + 1, ny, nx,
    3]. In the solid, known as it is, nothing moves.

    Raises DatasetError at the step that is not finite.
    """
    history = len(given)
    made = np.empty((history + steps, *given.shape[1:]), np.float32)
    made[:history] = given
    for step in range(1, steps + 1):
        at = history - 1 + step
        made[at] = predict(condition(made[at - history : at], solid))
        made[at, solid] = -1, 0, 0
        if not np.isfinite(made[at]).all():
            raise DatasetError(
                f"The prediction became infinite or NaN in step {step}: ask for {step - 1} steps,"
                " or train the run again."
            )
        on_progress()
    return made[history - 1 :]


def errors(made: Field, real: Field, mean: Field) -> Errors:
    """Of frames [n + 1, ny, nx, 3], the first of which is the given one; `mean` [ny, nx, 3] is the
    flow's over time."""
    made, real = made.astype(np.float64), real.astype(np.float64)
    apart, held = made[1:] - real[1:], real[:1] - real[1:]
    return Errors(_l1(apart), _rms(apart), _l1(held), _rms(held), _rms(mean - real[1:]))


def horizon(found: Errors) -> int:
    """Steps before the first whose RMS error reaches that of the mean over time, as weather
    forecasts are evaluated by the climate."""
    lost = found.rms >= found.mean_rms
    return int(lost.argmax()) if lost.any() else len(lost)


def lead(made: Signal, real: Signal) -> float:
    """Periods by which the first of two oscillations [T] is ahead of the second at the end: a line
    through the difference of the phases of their analytic signals, without a tenth at either end,
    where these say little."""
    analytic = [hilbert(signal - signal.mean()) for signal in (made, real)]
    turns = np.unwrap(np.angle(analytic[0] * analytic[1].conj())) / (2 * np.pi)
    at, edge = np.arange(len(turns)), len(turns) // 10
    slope, start = np.polyfit(at[edge : len(at) - edge], turns[edge : len(at) - edge], 1)
    return float(start + slope * at[-1])


def evaluate(made: Field, frames: Frames, number: int, first: int = 0) -> dict[str, Any]:
    """What can be said of a continuation [n + 1, ny, nx, 3] of frame `first` of sequence `number`,
    as JSON takes it; velocities in units of U."""
    manifest, stored, solid = (
        frames.manifest,
        frames.manifest.sequences[number],
        frames.mask(number),
    )
    D, U = stored.diameter, manifest.speed
    recorded = np.stack([frames.frame(number, t) for t in range(manifest.frames)])
    real = recorded[first : first + len(made)]
    found = errors(made, real, recorded.mean(axis=0, dtype=np.float64))
    column, row = vortex_street.probe(stored.obstacle, manifest.grid)
    signals = [flow[:, row, column, 1].astype(np.float64) for flow in (made, real)]
    numbers = [vortex_street.strouhal(signal, manifest.every, D, U, share=1) for signal in signals]
    wakes = [
        vortex_street.wake(np.stack([flow[:, :, column, 0] + 1, flow[:, :, column, 1]], axis=1), 1)
        for flow in (made, real)
    ]
    half = len(made) // 2
    amplitudes = [float(np.sqrt(2) * signal[half:].std()) for signal in signals]
    return {
        "sequence": number,
        "first": first,
        "kind": kind(manifest, number),
        "obstacle": stored.obstacle.name,
        "reynolds": stored.reynolds,
        **{name: values.tolist() for name, values in found._asdict().items()},
        "horizon": horizon(found),
        "strouhal": numbers[0],
        "real_strouhal": numbers[1],
        "recorded_strouhal": stored.strouhal,
        "amplitude": amplitudes[0],
        "real_amplitude": amplitudes[1],
        "lead": None if None in numbers else lead(*signals),
        "divergence": _divergences(made[1:], solid, D, U),
        "real_divergence": _divergences(real[1:], solid, D, U),
        "wake_mean_rms": float(np.sqrt(np.mean((wakes[0].mean - wakes[1].mean) ** 2))),
        "wake_fluctuation_rms": float(np.sqrt(np.mean((wakes[0].rms - wakes[1].rms) ** 2))),
    }


def _divergences(frames: Field, solid: Mask, D: float, U: float) -> list[float]:
    return [
        vortex_street.divergence(vortex_street.velocity_of(frame, U), solid, D, U)
        for frame in frames
    ]


def gap(
    predict: Predict,
    frames: Frames,
    history: int = 1,
    on_progress: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """L1 distance one step ahead by `kind`, the mean over `PAIRS` pairs of either split, evenly
    over its flows."""
    found: dict[str, list[float]] = {}
    for split in frames.splits:
        pairs = frames.pairs(split, history=history)
        for index in np.linspace(0, len(pairs) - 1, min(PAIRS, len(pairs))).round().astype(int):
            sequence, t = pairs.where(index)
            (_, made), real = (
                roll(predict, frames.until(sequence, t, history), frames.mask(sequence), 1),
                frames.frame(sequence, t + 1),
            )
            found.setdefault(kind(frames.manifest, sequence), []).append(
                float(np.abs(made - real).mean())
            )
            on_progress()
    return {name: float(np.mean(values)) for name, values in found.items()}


def _l1(apart: Signal) -> Signal:
    return np.asarray(np.abs(apart).mean(axis=(1, 2, 3)))


def _rms(apart: Signal) -> Signal:
    return np.asarray(np.sqrt((apart**2).mean(axis=(1, 2, 3))))
