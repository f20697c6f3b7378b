"""Pictures that one host has decoded, and that another one fetches when both train a run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image

from ganboard.db import heartbeats
from ganboard.db.placement import artifacts, draining
from ganboard.gan.data.pictures import cache
from ganboard.gan.presets import load
from ganboard.worker.submission.submit import submit
from tests.cluster import marks
from tests.cluster.fleet import fleet
from tests.cluster.services import Machine
from tests.crash.conftest import SMALL
from tests.polling import wait_until
from tests.unit.gan.data.pictures.files import encoded, put

pytestmark = marks.hosts(marks.NO_POSTGRES, seconds=900)
PICTURES = {"model": "convgan", "width": 8, "dataset": "images", "images_path": "set", "limit": 128}


def put_alike(home: Path, files: dict[str, bytes]) -> None:
    """Equal files have equal times, as after a copy."""
    folder = home / "data" / "set"
    put(folder, files)
    for name in files:
        os.utime(folder / name, (1e9, 1e9))


def caches(machine: Machine) -> list[Path]:
    folder = machine.home / "data" / cache.FOLDER
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def test_a_host_trains_with_pictures_that_another_one_decoded(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    files = {
        f"{number:03}.png": encoded(Image.fromarray(draw.integers(0, 256, (28, 28), np.uint8)))
        for number in range(200)
    }
    with fleet(tmp_path, 2) as made:
        context = made.context
        has, lacks = made.machines
        for home in (context.settings.home, has.home):
            put_alike(home, files)
        # alike from outside, but no decoder reads them
        put_alike(lacks.home, {name: bytes(len(data)) for name, data in files.items()})
        names = {
            state.worker.host: state.worker.machine or ""
            for state in heartbeats.workers(context.engine)
        }
        draining.drain(context.engine, names[lacks.host.name])
        alone = submit(context, load("tiny", {**SMALL, **PICTURES}), name="alone")
        made.ended(alone)
        wait_until(
            lambda: artifacts.caches(context.engine), seconds=60, what="the cache in the store"
        )
        assert caches(has)
        assert not caches(lacks)
        draining.undrain(context.engine, names[lacks.host.name])
        both = made.ended(made.submit("both", **PICTURES, epochs=2))
        assert both.attempt == 1
        assert [path.name for path in caches(lacks)] == [path.name for path in caches(has)]
