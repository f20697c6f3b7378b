"""Drawing with a stored generator in a real browser, a real inference worker behind it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from ganboard.db import heartbeats
from ganboard.db.models import Run
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from tests.polling import wait_until
from tests.stored import store

WARMING = 90_000  # ms; TensorFlow on a loaded machine


@pytest.fixture
def run(context: Context, make_run: Callable[..., Run]) -> Run:
    found = make_run("drawable", table1_literal=True)
    store(parse(found.config), context.settings.run_dir(found.id) / "checkpoints")
    return found


@pytest.fixture
def worker(context: Context) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-m", "ganboard.worker.requests.inference_worker"],
        env=environment_for_child(),
        stdout=subprocess.DEVNULL,
    ) as process:
        wait_until(
            lambda: any(one.alive for one in heartbeats.inference_workers(context.engine)),
            seconds=30,
            what="the inference worker",
        )
        yield
        process.terminate()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_draw_pick_walk_compare_and_save(
    page: Page,
    server: str,
    run: Run,
    complaints: list[str],
    shot: Callable[[str], None],
    tmp_path: Path,
) -> None:
    page.goto(f"{server}/playground")
    picture = page.get_by_role("button", name=re.compile(r"^Image \d+ of seed"))
    expect(picture).to_have_count(16, timeout=WARMING)
    expect(page.get_by_text("16 images in")).to_be_visible()
    shot("playground_draw")

    # A new seed and an epoch stand in the address.
    page.get_by_role("button", name="New seed").click()
    expect(page).to_have_url(re.compile(r"seed=\d+"))
    seed = re.search(r"seed=(\d+)", page.url)
    assert seed is not None
    expect(
        page.get_by_role("button", name=f"Image 1 of seed {seed[1]}", exact=True)
    ).to_be_visible()

    # Pick two, one of them by keyboard, and walk between them.
    place = page.get_by_role("button", name=f"Image 6 of seed {seed[1]}", exact=True)
    other = page.get_by_role("button", name=f"Image 11 of seed {seed[1]}", exact=True)
    other.scroll_into_view_if_needed()
    before = place.bounding_box()
    place.click()
    expect(place).to_have_attribute("aria-pressed", "true")
    other.focus()
    page.keyboard.press("Enter")
    expect(other).to_have_attribute("aria-pressed", "true")
    expect(other).to_be_focused()
    assert place.bounding_box() == before  # nothing has moved
    page.get_by_role("button", name="Interpolate between the two").click()
    expect(page.get_by_role("img", name=re.compile(r"of the way"))).to_have_count(9)
    assert "picked=5%2C10" in page.url
    shot("playground_interpolate")
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").last.click()
    saved.value.save_as(tmp_path / "walk.png")
    with Image.open(io.BytesIO((tmp_path / "walk.png").read_bytes())) as image:
        assert image.size == (9 * 28 * 8, 28 * 8)
    assert saved.value.suggested_filename == f"{run.id}-step-12-interpolate-seed-{seed[1]}.png"

    # The nearest training images of both, also from the copied address.
    page.get_by_role("tab", name="Nearest").click()
    expect(page.get_by_role("img", name="as generated")).to_have_count(2)
    expect(page.get_by_role("img", name="Training image at a distance of")).to_have_count(12)
    expect(page.get_by_text("of 128 training images")).to_be_visible()
    shot("playground_nearest")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.get_by_role("img", name="Training image at a distance of")).to_have_count(12)
    page.get_by_role("tab", name="Around").click()
    expect(page.get_by_role("img", name=re.compile(r"^Row \d"))).to_have_count(48)
    assert complaints == []


def test_without_a_worker_the_page_says_so_and_stays_usable(
    page: Page, server: str, run: Run, complaints: list[str]
) -> None:
    page.goto(f"{server}/playground?run={run.id}")
    expect(page.get_by_text("No inference worker is running")).to_be_visible()
    page.get_by_role("button", name="New seed").click()
    expect(page).to_have_url(re.compile(r"seed=\d+"))
    assert complaints == []
