"""Two coordinates of a net's path: a seeded random projection of its weights minus their initial
value. Free of TensorFlow.

Random projections keep distances up to a small relative error (Johnson and Lindenstrauss 1984),
here with axes of random signs (Achlioptas 2003). The axes follow from the seed and are drawn again
each time, so nothing is stored and a resumed path goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ganboard.gan.rng import philox

Weights = Sequence[npt.NDArray[np.float32]]


def path_point(seed: int, net: int, weights: Weights, initial: Weights) -> tuple[float, float]:
    """Coordinates of `weights` relative to `initial` (arrays of equal shapes) on two axes of net 0
    (G) or 1 (D), summed in float64.

    Scaled as in the lemma: the expected square of a distance in this plane is that of the distance
    between the weights.
    """
    moves = [
        (now.astype(np.float64) - then).ravel() for now, then in zip(weights, initial, strict=True)
    ]

    def coordinate(axis: int) -> float:
        # ndarray.sum adds pairwise and in a fixed order; a BLAS product would depend on the
        # machine's threads
        parts = (
            np.where(philox.signs(seed, net, i, axis, move.size), move, -move).sum()
            for i, move in enumerate(moves)
        )
        return float(sum(parts)) / math.sqrt(2)

    return coordinate(0), coordinate(1)
