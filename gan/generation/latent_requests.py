"""What can be asked of a trained generator: points of its latent space, and ways between them. Free
of TensorFlow.

A point is (seed, row): row `row` of the standard normal latents that `seed` gives, the same ones a
run's image grid is made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Latents = npt.NDArray[np.float32]  # [n, latent_dim]
# (seed, first row, rows) -> standard normal latents [rows, latent_dim]
Normal = Callable[[int, int, int], Latents]

MAX_SEED = 2**31 - 1
MAX_IMAGES = 64
MAX_STEPS = 16
MAX_ROWS = 8
NEIGHBOURS = 6  # training images that are shown beside a generated one
SIDE = 7  # of the square of small steps around a point
_PARALLEL = 1e-6  # sine of an angle below which a great circle has no direction

Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Row = Annotated[int, Field(ge=0, lt=MAX_IMAGES)]


class InvalidRequest(ValueError):
    """Something that cannot be drawn; the message is one sentence."""


class LatentRequest(BaseModel, ABC):
    """What every request says. `psi` scales the latents towards their mean 0: fewer odd images,
    less variety (the truncation of Karras et al. 2019, in z because this generator has no w).
    `energy` (GeV) and `angle` (degrees) are those of a 3DGAN's particles, 100 and 90 if none are
    given; `label` is the class of a conditional model's images, one after the other if none is."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    kind: ClassVar[str]

    seed: Seed
    psi: float = Field(1.0, ge=0, le=1.5)
    energy: float | None = Field(None, ge=2, le=500)
    angle: float | None = Field(None, ge=60, le=120)
    label: int | None = Field(None, ge=0)

    @property
    @abstractmethod
    def columns(self) -> int:
        """Images in a row of the sheet."""

    @abstractmethod
    def points(self, normal: Normal) -> Latents:
        """The latents [n, latent_dim] of the images, row by row of the sheet."""


class Draw(LatentRequest):
    """The first `images` images of a seed."""

    kind = "draw"
    images: int = Field(ge=1, le=MAX_IMAGES)

    @property
    def columns(self) -> int:
        """The divisor that makes the sheet square, or else a little wider than high."""
        return min(
            n for n in range(1, self.images + 1) if self.images % n == 0 and n * n >= self.images
        )

    def points(self, normal: Normal) -> Latents:
        return self.psi * normal(self.seed, 0, self.images)


class Interpolate(LatentRequest):
    """From (seed, first) to (other, second) in `steps` images, ends included; further rows join the
    rows after those."""

    kind = "interpolate"
    other: Seed
    first: Row = 0
    second: Row = 0
    steps: int = Field(ge=2, le=MAX_STEPS)
    rows: int = Field(1, ge=1, le=MAX_ROWS)

    @property
    def columns(self) -> int:
        return self.steps

    def points(self, normal: Normal) -> Latents:
        between = slerp(
            normal(self.seed, self.first, self.rows),
            normal(self.other, self.second, self.rows),
            self.steps,
        )
        return self.psi * between.reshape(self.rows * self.steps, -1)


class Nearest(LatentRequest):
    """Rows `picks` of a seed, each beside the training images that are nearest to it."""

    kind = "nearest"
    picks: list[Row] = Field(min_length=1, max_length=MAX_ROWS)

    @property
    def columns(self) -> int:
        return 1 + NEIGHBOURS

    def points(self, normal: Normal) -> Latents:
        return self.psi * normal(self.seed, 0, MAX_IMAGES)[self.picks]


class Around(LatentRequest):
    """A square of small steps around one point: `degrees` from the middle to the middle of an edge,
    along two random directions."""

    kind = "around"
    row: Row
    degrees: float = Field(ge=0, le=90)

    @property
    def columns(self) -> int:
        return SIDE

    def points(self, normal: Normal) -> Latents:
        # rows that are on no sheet
        middle, directions = normal(self.seed, self.row, 1)[0], normal(self.seed, MAX_IMAGES, 2)
        if len(middle) < 3:
            raise InvalidRequest(
                f"latent_dim={len(middle)} is too small for two directions around a point. At"
                " least 3 is needed."
            )
        return self.psi * plane(middle, directions[0], directions[1], self.degrees)


KINDS: dict[str, type[LatentRequest]] = {
    request.kind: request for request in (Draw, Interpolate, Nearest, Around)
}


def parse(kind: str, options: Mapping[str, Any]) -> LatentRequest:
    """The request as stored. Raises InvalidRequest in one sentence."""
    if kind not in KINDS:
        raise InvalidRequest(f"{kind[:80]!r} is not supported. Choose from {', '.join(KINDS)}.")
    try:
        return KINDS[kind].model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        name, given = ".".join(map(str, first["loc"])), str(first["input"])[:80]
        raise InvalidRequest(
            f"{name[:80]}={given} is invalid: {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None


def slerp(a: Latents, b: Latents, steps: int) -> Latents:
    """Points [n, steps, d] on the great circles from a to b [n, d], both included (Shoemake 1985;
    for latents White 2016).

    A straight line would pass through short latents, which the generator has hardly seen. Parallel
    latents are joined by one all the same.
    """
    start, end = a.astype(np.float64)[:, None], b.astype(np.float64)[:, None]
    lengths = np.linalg.norm(start, axis=-1, keepdims=True) * np.linalg.norm(
        end, axis=-1, keepdims=True
    )
    cosine = (start * end).sum(-1, keepdims=True) / np.maximum(lengths, np.finfo(np.float64).tiny)
    angle, t = np.arccos(np.clip(cosine, -1, 1)), np.linspace(0, 1, steps)[None, :, None]
    sine = np.sin(angle)
    parallel = sine < _PARALLEL
    weights = [
        np.where(parallel, part, np.sin(part * angle) / np.where(parallel, 1, sine))
        for part in (1 - t, t)
    ]
    between: Latents = (weights[0] * start + weights[1] * end).astype(np.float32)
    return between


def plane(middle: Latents, u: Latents, v: Latents, degrees: float) -> Latents:
    """SIDE * SIDE points [n, d] around `middle` [d], all as long as it: its rotations towards u
    (rightwards) and v (downwards)."""
    given = np.stack([middle, u, v], 1).astype(np.float64)
    basis, _ = np.linalg.qr(given)
    basis *= np.sign((basis * given).sum(0))  # QR may have turned them around
    offsets = (np.arange(SIDE) - SIDE // 2) / (SIDE // 2)
    down, right = (grid.reshape(-1, 1) for grid in np.meshgrid(offsets, offsets, indexing="ij"))
    distance = np.hypot(right, down)
    angle = np.radians(degrees) * distance
    sideways = (right * basis[:, 1] + down * basis[:, 2]) / np.where(distance == 0, 1, distance)
    points: Latents = (
        np.linalg.norm(given[:, 0]) * (np.cos(angle) * basis[:, 0] + np.sin(angle) * sideways)
    ).astype(np.float32)
    return points
