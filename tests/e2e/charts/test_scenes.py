"""Scenes in space: at every width of the window their titles are within the picture."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.surfaces import make_surface

SCENE = ".live-plotly [id=scene]"
RIM = 3  # pixels


def ink(picture: bytes) -> tuple[int, int]:
    """How many pixels of a picture, and how many of its rim, are not of its commonest colour."""
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"), dtype=np.int16)
    ground = np.bincount(pixels.ravel()).argmax()
    drawn = np.abs(pixels - ground) > 8
    return int(drawn.sum()), int(drawn.sum() - drawn[RIM:-RIM, RIM:-RIM].sum())


def drawn_within(scene: Locator) -> bool:
    everywhere, rim = ink(scene.screenshot())
    return everywhere > 500 and rim == 0


@pytest.mark.thorough
def test_nothing_is_cut_off(
    page: Page,
    server: str,
    context: Context,
    make_run: Callable[..., Run],
    shot: Callable[[str], None],
) -> None:
    run = make_run("deep", epochs=12)
    make_surface(context, [run.id])
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{server}/run?run={run.id}&view=Descent+path")
        scenes = page.locator(SCENE)
        expect(scenes).to_have_count(4)  # the path and the surface of both networks
        for number, scene in enumerate(scenes.all()):
            # not below the header, which stays in view
            scene.evaluate("scene => scene.scrollIntoView({ block: 'end' })")
            shot(f"scene_{width}_{number}")
            what = f"scene {number} at {width} pixels without ink on its rim"
            wait_until(lambda scene=scene: drawn_within(scene), seconds=30, every=0.5, what=what)
