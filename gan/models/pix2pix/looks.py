"""Pictures of flows: vorticity, blue where it turns one way and red where the other, white where it does not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_VORTICITY = 2  # the channel


def vorticity(frames: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Frames [n, y, x, 3 or more] -> pictures [n, y, x, 3] in [-1, 1]."""
    turn = np.clip(frames[..., _VORTICITY], -1, 1)
    shades = [1 + np.minimum(turn, 0), 1 - np.abs(turn), 1 - np.maximum(turn, 0)]
    return (2 * np.stack(shades, -1) - 1).astype(np.float32)
