"""A trained generator as a file, by mouse on a real `ganboard up`: chosen on the tab Model of its
run, written, downloaded, and opened by Keras."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from ganboard.db import requests
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan.generation.restore import load, untrained
from ganboard.worker.context import Context
from tests.cli import ganboard
from tests.polling import wait_until
from tests.up import Up


@pytest.fixture
def server(up: Up) -> str:
    return up.url


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_generator_is_downloaded_and_opened(
    page: Page,
    up: Up,
    context: Context,
    complaints: list[str],
    shot: Callable[[str], None],
    tmp_path: Path,
) -> None:
    import keras

    ganboard("run", "--preset", "tiny", "--name", "exported")
    [run] = queries.list_runs(context.engine)

    def status() -> str:
        return queries.find_run(context.engine, run.id).status

    wait_until(lambda: status() == "finished", seconds=240, what="the end of the run")
    page.goto(f"{up.url}/run?run={run.id}&view=Model")
    expect(page.get_by_role("heading", name="Networks for other programs")).to_be_visible()
    page.evaluate("window.never_reloaded = true")
    shot("network_offered")
    page.get_by_role("button", name="Write the file").click()
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    shot("network_waiting")
    link = page.get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=180_000)
    expect(cancel).to_have_count(0)
    assert page.evaluate("window.never_reloaded") is True
    shot("network_written")

    [answered] = requests.of_runs(context.engine, requests.NETWORK_FILE, [run.id])
    with page.expect_download() as started:
        link.click()
    assert (
        started.value.suggested_filename == f"{run.id}-generator-epoch-{run.config['epochs']}.keras"
    )
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == answered.facts["digest"]
    expect(page.get_by_text(answered.facts["digest"])).to_be_visible()
    page.get_by_role("button", name="How to load it").click()
    expect(page.get_by_text("keras.models.load_model")).to_be_visible()
    shot("network_usage")

    settings = configs.parse(run.config)
    generator = untrained(settings)
    directory = context.settings.run_dir(run.id) / "checkpoints"
    load(generator, settings, directory, answered.facts["step"])
    latents = np.random.default_rng(1).normal(size=(4, settings.latent_dim)).astype(np.float32)
    expected = np.asarray(generator(latents, training=False))
    made = np.asarray(keras.models.load_model(path)(latents))
    assert np.abs(made - expected).max() < 1e-5 * np.abs(expected).max()

    page.keyboard.press("Escape")
    page.locator(f".st-key-delete_{answered.id}").get_by_role("button").click()
    expect(page.get_by_role("link", name="Download")).to_have_count(0)
    assert complaints == []
