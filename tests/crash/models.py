"""The smallest trainings of the models beside DCGAN, which any data directory can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ganboard.gan.models.pix2pix.flow import small

_SMALL = {"limit": 16, "batch_size": 4, "grid_size": 1, "snapshots": 0}
SETTINGS: dict[str, dict[str, Any]] = {
    "gan3d": (
        _SMALL
        | {"model": "gan3d", "dataset": "showers", "network": "compact", "width": 4}
        | {"accumulate": 2, "ema": 0.99}
    ),
    "pix2pix": (
        _SMALL
        | {"model": "pix2pix", "dataset": "flow", "images_path": small.FOLDER, "limit": 8}
        | {"geometry": "64x64", "network": "compact", "width": 8}
    ),
}


def settings(model: str, data_dir: Path) -> dict[str, Any]:
    """Of a training of `model`, none for one that is not here; its data lie in `data_dir` from now
    on."""
    if model == "pix2pix":
        small.write(data_dir)
    return SETTINGS.get(model, {})
