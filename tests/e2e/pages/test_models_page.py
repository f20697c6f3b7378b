"""The page Models in a real browser, while versions are registered, quantized, named and removed by
`ganboard models`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db import versions
from ganboard.worker.context import Context
from tests.cli import document, ganboard
from tests.polling import wait_until
from tests.registered import DCGAN, config, finished


@pytest.mark.slow
@pytest.mark.thorough
def test_versions_come_get_a_name_and_go(
    page: Page, server: str, context: Context, complaints: list[str], shot: Callable[[str], None]
) -> None:
    page.goto(f"{server}/models")
    expect(page.get_by_text("No model is registered yet")).to_be_visible(timeout=90_000)
    run, _ = finished(context, config(DCGAN))
    full = document("models", "add", run.id, "--name", "digits")
    document("models", "quantize", "digits:1", "--to", "int8", "--force")

    page.reload()
    expect(page.get_by_alt_text("digits:2 in int8")).to_be_visible()
    expect(page.get_by_alt_text("digits:1 in float32")).to_be_visible()
    page.get_by_role("button", name="Alias").click()
    page.get_by_role("textbox", name="Alias").fill("production")
    page.get_by_role("button", name="Set alias").click()
    newest = document("models", "show", "digits:2")["id"]
    wait_until(
        lambda: versions.aliases(context.engine).get(newest) == ["production"],
        seconds=30,
        what="the alias in the database",
    )
    shot("models_quantized")

    page.goto(f"{server}/models?model={full['id']}")
    expect(page.get_by_alt_text("digits:1 in float32")).to_be_visible()
    expect(page.get_by_alt_text("digits:2 in int8")).to_have_count(0)
    shot("models_full")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("heading", name="a run")).to_be_visible()

    ganboard("models", "remove", "digits:1")
    page.goto(f"{server}/models?model={full['id']}")
    expect(page.get_by_text("There is no version with this id")).to_be_visible()
    page.goto(f"{server}/models")
    expect(page.get_by_alt_text("digits:2 in int8")).to_be_visible()
    expect(page.get_by_alt_text("digits:1 in float32")).to_have_count(0)
    assert complaints == []
