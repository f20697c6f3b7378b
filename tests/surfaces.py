"""A stored loss surface as a surveyor would have left it, from a bowl."""

from __future__ import annotations

from typing import Any

import numpy as np

from ganboard.db import surfaces
from ganboard.gan.landscape.geometry import Wish
from ganboard.worker.context import Context


def arrays(runs: int, *, radii: tuple[float, ...] = (3.0, 2.0, 1.0)) -> dict[str, Any]:
    """What `gan.landscape.compute.compute` gives for so many runs of 3 epochs; run k begins
    `radii[k]` from its end."""
    steps = np.linspace(-1, 1, 5)
    bowl = (steps[None, :] ** 2 + steps[:, None] ** 2).astype(np.float32)
    bowl[0, 0] = np.nan
    rows = [
        (run, epoch, 0.3 * (3 - epoch), 0.1 * run, 0.5, radii[run] * (3 - epoch) / 3)
        for run in range(runs)
        for epoch in range(4)
    ]
    return {
        f"{net}.{part}": values
        for net in "gd"
        for part, values in {
            "x": steps,
            "y": steps,
            "surface": bowl,
            "path": np.array(rows),
        }.items()
    }


def make_surface(context: Context, run_ids: list[str], **changes: Any) -> str:
    """Ask for it and answer it; `changes` go into the answer."""
    surface_id = surfaces.ask(context.engine, run_ids, Wish().model_dump())
    claimed = surfaces.claim(context.engine, surface_id)
    assert claimed is not None
    facts = {"shares": {"g": 0.91, "d": 0.82}, "seconds": 12.5, "images": 256}
    surfaces.answer(
        context.engine, claimed, **({"arrays": arrays(len(run_ids)), "facts": facts} | changes)
    )
    return surface_id
