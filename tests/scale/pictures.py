"""Image grids for a seeded database: real digits that come out of noise, drawn once and shared by
many runs."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from ganboard.gan.data import digits

FAMILIES = 16  # different grids for the same moment
MOMENTS = 24  # steps from noise to digits


class Pictures:
    """PNGs of `side` x `side` digits; `grid` gives the same bytes for the same arguments."""

    side = 8

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._images = digits.load(600).images[..., 0].astype(np.float32)
        self._drawn: dict[tuple[int, int], bytes] = {}

    def grid(self, number: int, passed: float) -> bytes:
        """The grid of a run at a share of its training, 0 to 1."""
        key = (number % FAMILIES, round(passed * (MOMENTS - 1)))
        if key not in self._drawn:
            self._drawn[key] = self._draw(*key)
        return self._drawn[key]

    def _draw(self, family: int, moment: int) -> bytes:
        random = np.random.default_rng((self._seed, family))
        chosen = self._images[random.integers(0, len(self._images), self.side**2)]
        noise = random.uniform(0, 255, chosen.shape)
        share = moment / (MOMENTS - 1)
        # whole numbers of 16 compress to about what a trained generator's grid takes
        pixels = ((share * chosen + (1 - share) * noise) // 16 * 16).astype(np.uint8)
        rows = pixels.reshape(self.side, self.side, *pixels.shape[1:]).transpose(0, 2, 1, 3)
        buffer = io.BytesIO()
        Image.fromarray(rows.reshape(self.side * pixels.shape[1], -1), "L").save(
            buffer, "PNG", compress_level=6
        )
        return buffer.getvalue()
