"""Pictures of showers: from the side, depth to the right, on a logarithmic scale that all pictures
share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FAINT, BRIGHT = 0.01, 30.0  # of a projected cell in prepared units: what just shows, and white


def side(images: npt.NDArray[np.float32], power: float) -> npt.NDArray[np.float32]:
    """Images [n, x, y, z] of cells to this `power` -> pictures [n, y, z, 1] in [-1, 1]: cells
    summed over x."""
    cells = np.maximum(images, 0) ** np.float32(1 / power)
    shade = np.log1p(cells.sum(1) / FAINT) / np.log1p(BRIGHT / FAINT)
    pictures: npt.NDArray[np.float32] = np.clip(2 * shade - 1, -1, 1).astype(np.float32)[..., None]
    return pictures
