"""A stored loss surface as the analysis worker would have left it, from a bowl."""

from __future__ import annotations

from typing import Any

import numpy as np

from ganboard.db import requests
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import SurfaceRequest
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
    surface_id = requests.ask(
        context.engine, requests.SURFACE, run_ids, SurfaceRequest().model_dump()
    )
    claimed = requests.claim(context.engine, requests.ANALYSES, surface_id)
    assert claimed is not None
    facts: dict[str, Any] = {"shares": {"g": 0.91, "d": 0.82}, "seconds": 12.5, "images": 256}
    answer = {"result": geometry.pack(arrays(len(run_ids))), "facts": facts} | changes
    requests.answer(context.engine, claimed, **answer)
    return surface_id
