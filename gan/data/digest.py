"""Which data a configuration learns from, as one digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ganboard.gan import files
from ganboard.gan.config import RunConfig
from ganboard.gan.data import mnist, revision
from ganboard.gan.data.catalog import source
from ganboard.gan.data.dataset import reading
from ganboard.gan.data.images import resolve

_ANY = (".zip", ".npz", ".gz", ".h5", ".hdf5")
# by code, whose versions lineages name
_MADE = {"digits": "scikit-learn's digits", "showers": "sampled showers of seed 0"}


def digest(config: RunConfig, data_dir: Path) -> str | None:
    """SHA-256 over names and contents of the files of `config.dataset`; None while they are not
    there. Raises DatasetError."""
    if made := _MADE.get(config.dataset):
        revised = revision.current({"dataset": config.dataset})
        named = made if revised == 1 else f"{made}, revision {revised}"
        return hashlib.sha256(named.encode()).hexdigest()
    if config.datasets[config.dataset]:
        path = resolve(data_dir, config.images_path, _ANY, "folder or file")
    else:
        found = (
            data_dir / source(config).FOLDER
            if config.dataset == "vortex_street"
            else mnist.find(config.dataset, data_dir)
        )
        if found is None or not found.exists():
            return None
        path = found
    with reading(path, "check the disk"):
        paths = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        seen = {one.relative_to(path.parent).as_posix(): files.measure(one)[1] for one in paths}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()
