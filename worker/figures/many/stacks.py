"""Which curves lie on each other, so that all but the last would be invisible."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ganboard.worker.figures.template import Axis, along, finite

CLOSE = 0.005  # of the height of all curves: what is nearer is one line on the screen


def coinciding(frames: Mapping[str, pd.DataFrame], column: str, x: Axis) -> dict[str, list[str]]:
    """By the key of a curve those of the later ones that lie on it as far as both go; curves that
    no other lies on are left out. Frames have `x` and the `column` of the curves."""
    curves = {key: finite(frame[column]) for key, frame in frames.items()}
    known = np.concatenate([np.zeros(0), *(curve[np.isfinite(curve)] for curve in curves.values())])
    near = CLOSE * float(np.ptp(known)) if known.size else 0.0
    found: dict[str, list[str]] = {}
    for key, curve in curves.items():
        for first, covered in found.items():
            count = min(len(curve), len(curves[first]))
            at, its = along(frames[key], x)[:count], along(frames[first], x)[:count]
            if (
                count
                and np.array_equal(at, its)
                and np.allclose(curve[:count], curves[first][:count], 0, near, equal_nan=True)
            ):
                covered.append(key)
                break
        else:
            found[key] = []
    return {first: covered for first, covered in found.items() if covered}
