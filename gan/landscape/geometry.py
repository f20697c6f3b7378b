"""The loss around a path of descent: directions, coordinates, and the loss on a grid of a plane.
Free of TensorFlow.

After Li et al., Visualizing the Loss Landscape of Neural Nets (2018): principal directions of the
path (their section 7.2) or random ones whose filters are as long as those of the weights (their
section 4).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Weights = list[npt.NDArray[np.float32]]  # the trained tensors of one net
Points = npt.NDArray[np.float64]  # [n, 2]
Kind = Literal["principal", "random"]

# of a path; run counts from 0, radius is the distance from the run's last point
COLUMNS = ("run", "epoch", "x", "y", "loss", "radius")
MARGIN = 0.25  # of the path's extent, on each side of the grid


class LandscapeError(ValueError):
    """A surface that cannot be; the message is one sentence."""


class SurfaceRequest(BaseModel):
    """What is asked: the plane, the points of its grid per side, the images and noises at which
    every loss is taken, and their seed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    plane: Kind = "principal"
    size: Annotated[int, Field(ge=5, le=61)] = 21
    images: Annotated[int, Field(ge=16, le=4096)] = 256
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


def parse(options: Mapping[str, Any]) -> SurfaceRequest:
    """Raises LandscapeError in one sentence."""
    try:
        return SurfaceRequest.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        name, given = ".".join(map(str, first["loc"])), str(first["input"])[:80]
        raise LandscapeError(
            f"{name[:80]}={given} is invalid: {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None


@dataclass(frozen=True)
class Plane:
    """The points origin + x u + y v of the space of weights."""

    origin: Weights
    u: Weights
    v: Weights
    share: float  # of the path's variance that the plane holds, 0 to 1

    def at(self, x: float, y: float) -> Weights:
        return [
            o + np.float32(x) * u + np.float32(y) * v
            for o, u, v in zip(self.origin, self.u, self.v, strict=True)
        ]

    def coordinates(self, points: Sequence[Weights]) -> Points:
        """Of the points of the plane that are nearest to `points` (least squares, as u and v may
        not be at right angles)."""
        axes = np.array([[_inner(a, b) for b in (self.u, self.v)] for a in (self.u, self.v)])
        moves = (_minus(point, self.origin) for point in points)
        return np.array(
            [
                np.linalg.solve(axes, [_inner(move, axis) for axis in (self.u, self.v)])
                for move in moves
            ]
        )


def principal(path: Sequence[Weights], origin: Weights) -> Plane:
    """The two principal directions of `path`, of unit length, through `origin`; u points to where
    the path began.

    Computed from the n x n products of the points, so nothing of the size of weights squared is
    built. Raises LandscapeError when the path spans no plane.
    """
    products = np.zeros((len(path), len(path)))
    for tensors in zip(*path, strict=True):
        flat = np.stack([tensor.ravel() for tensor in tensors]).astype(np.float64)
        flat -= flat.mean(0)
        products += flat @ flat.T
    values, vectors = np.linalg.eigh(products)  # ascending
    if len(path) < 3 or values[-2] <= 1e-12 * values[-1]:
        raise LandscapeError(
            f"A path of {len(path)} points does not span a plane. Train longer, or use random"
            " directions."
        )
    directions = []
    for value, vector in zip(values[:-3:-1], vectors.T[:-3:-1], strict=True):
        centred = vector - vector.mean()  # so that the mean of the points need not be subtracted
        direction = [
            np.tensordot(centred, np.stack(tensors), 1) / np.sqrt(value)
            for tensors in zip(*path, strict=True)
        ]
        sign = 1.0 if _inner(direction, _minus(path[0], origin)) >= 0 else -1.0
        directions.append([(sign * part).astype(np.float32) for part in direction])
    return Plane(origin, directions[0], directions[1], float(values[-2:].sum() / values.sum()))


def random(
    path: Sequence[Weights], origin: Weights, filters: Sequence[int | None], seed: int
) -> Plane:
    """Two Gaussian directions through `origin`, each filter scaled to the length of the filter of
    `origin` (Li et al. 2018, section 4).

    `filters` names the axis of each tensor along which its filters lie, None for those that do not
    move (biases, batch norm).
    """
    generator = np.random.default_rng(seed)
    u, v = (
        [
            _filter_normalised(generator, tensor, axis)
            for tensor, axis in zip(origin, filters, strict=True)
        ]
        for _ in range(2)
    )
    plane = Plane(origin, u, v, 0.0)
    points = plane.coordinates(path)
    centre = [np.mean(np.stack(tensors), axis=0) for tensors in zip(*path, strict=True)]
    whole = float(sum(_square(_minus(point, centre)) for point in path))
    held = points - points.mean(0)
    axes = np.array([[_inner(a, b) for b in (u, v)] for a in (u, v)])
    return Plane(
        origin, u, v, float(np.einsum("ni,ij,nj->", held, axes, held) / whole) if whole else 0.0
    )


def _filter_normalised(
    generator: np.random.Generator, tensor: npt.NDArray[np.float32], axis: int | None
) -> npt.NDArray[np.float32]:
    gaussian = generator.standard_normal(tensor.shape)
    if axis is None:
        return np.zeros_like(tensor)
    rest = tuple(i for i in range(tensor.ndim) if i != axis % tensor.ndim)
    lengths = [
        np.sqrt(np.square(values.astype(np.float64)).sum(rest, keepdims=True))
        for values in (tensor, gaussian)
    ]
    scaled: npt.NDArray[np.float32] = (
        gaussian * lengths[0] / np.maximum(lengths[1], np.finfo(np.float64).tiny)
    ).astype(np.float32)
    return scaled


def axes(
    points: Points, kind: Kind, size: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """`size` values of x and of y: the path and a margin around it; in random directions at least
    from -1 to 1, as Li et al. have it."""
    found = []
    for values in points.T:
        low, high = (
            (min(values.min(), -1.0), max(values.max(), 1.0))
            if kind == "random"
            else (values.min(), values.max())
        )
        room = MARGIN * ((high - low) or 1.0)
        found.append(np.linspace(low - room, high + room, size))
    return found[0], found[1]


def surface(
    loss: Callable[[Weights], float],
    plane: Plane,
    xs: npt.NDArray[np.float64],
    ys: npt.NDArray[np.float64],
    on_progress: Callable[[int], None] = lambda _: None,
) -> npt.NDArray[np.float32]:
    """The loss at every point, [len(ys), len(xs)], NaN where it is not finite; `on_progress(n)`
    after each of the n points."""
    values = np.full((len(ys), len(xs)), np.nan, np.float32)
    for n, (row, column) in enumerate(np.ndindex(values.shape), 1):
        value = loss(plane.at(float(xs[column]), float(ys[row])))
        values[row, column] = value if np.isfinite(value) else np.nan
        on_progress(n)
    return values


def radii(path: Sequence[Weights]) -> npt.NDArray[np.float64]:
    """Distance of each point of a path from its last one, in the space of all weights: nothing is
    projected."""
    return np.array([np.sqrt(_square(_minus(point, path[-1]))) for point in path])


def _minus(a: Weights, b: Weights) -> Weights:
    return [x - y for x, y in zip(a, b, strict=True)]


def _inner(a: Weights, b: Weights) -> float:
    return float(
        sum(
            np.dot(x.ravel().astype(np.float64), y.ravel().astype(np.float64))
            for x, y in zip(a, b, strict=True)
        )
    )


def _square(a: Weights) -> float:
    return _inner(a, a)


def pack(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Arrays (as `gan.landscape.compute.compute` gives them) as the result of a request."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack(result: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of `pack`."""
    with np.load(io.BytesIO(result), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
