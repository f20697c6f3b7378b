"""The live chart in a real browser: new points arrive, and what a person did to the plot stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import commands, reports
from ganboard.worker.context import Context
from ganboard.worker.figures import palette
from tests.e2e.until import until
from tests.factories import HOSTILE_NAMES
from tests.polling import wait_until

STEPS = 400
PLOT = ".live-plotly.js-plotly-plot"


def remember(page: Page) -> None:
    page.evaluate(
        f"() => {{ window.kept = [...document.querySelectorAll('{PLOT}, {PLOT} .main-svg')]; }}"
    )


def same_nodes(page: Page) -> bool:
    now = f"[...document.querySelectorAll('{PLOT}, {PLOT} .main-svg')]"
    return bool(
        page.evaluate(
            f"() => {{ const n = {now}; return n.length === window.kept.length && n.every((e, i) =>"
            " e === window.kept[i]); }"
        )
    )


def points(page: Page) -> int:
    return int(page.evaluate(f"() => document.querySelector('{PLOT}')._fullData[0].x.length"))


def x_range(page: Page) -> list[float]:
    return list(page.evaluate(f"() => document.querySelector('{PLOT}')._fullLayout.xaxis.range"))


class Trainer:
    """Appends losses to epoch 2 of a run, as its trainer would."""

    def __init__(self, context: Context, run: Run) -> None:
        self.context, self.run, self.done = context, run, 0

    def train(self, count: int) -> None:
        losses = np.linspace(0.7, 1.3, count, dtype=np.float32)
        own: dict[str, Any] = {"run_id": self.run.id, "attempt": self.run.attempt}
        reports.append_steps(
            self.context.engine,
            **own,
            epoch=2,
            first=self.done,
            g_losses=losses,
            d_losses=losses[::-1].copy(),
        )
        self.done += count


@pytest.mark.thorough
def test_zoom_legend_and_dom_survive_updates(
    page: Page,
    server: str,
    context: Context,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("live", status="running", epochs=1, steps_per_epoch=STEPS)
    trainer = Trainer(context, run)
    trainer.train(10)
    page.goto(f"{server}/run?run={run.id}")
    expect(page.locator(PLOT)).to_have_count(2)
    wait_until(lambda: points(page) == STEPS + 10, seconds=20, what="the first points")

    drag = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    assert drag is not None
    y = drag["y"] + drag["height"] / 2
    page.mouse.move(drag["x"] + drag["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(drag["x"] + drag["width"] * 0.5, y + 2, steps=5)
    page.mouse.up()
    wait_until(lambda: x_range(page)[1] < 300, seconds=10, what="the zoom")
    zoomed = x_range(page)
    page.locator(f"{PLOT} .legendtoggle").nth(1).click()
    hidden = f"""() => {{
        const drawn = document.querySelector('{PLOT}')._fullData;
        const own = drawn.filter(one => one.legendgroup === 'd'); // the curve and its name
        return own.length === 2 && own.every(one => one.visible === 'legendonly');
    }}"""
    until(page, hidden)
    remember(page)

    for _ in range(20):
        before = points(page)
        trainer.train(5)
        wait_until(lambda before=before: points(page) == before + 5, seconds=60, what="new points")
        assert x_range(page) == zoomed
        assert page.evaluate(hidden)
        assert same_nodes(page)
    shot("live_zoomed")

    commands.finish(context.engine, run_id=run.id, attempt=run.attempt, status="stopped")
    # the whole page was generated anew
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=15_000)
    assert same_nodes(page)
    assert x_range(page) == zoomed
    assert complaints == []


def test_theme_changes_in_place(
    page: Page,
    server: str,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("themes", epochs=4)
    page.emulate_media(color_scheme="light")
    page.goto(f"{server}/run?run={run.id}")
    colour = f"() => document.querySelector('{PLOT}')?._fullLayout?.font.color"
    until(page, f"{colour} === '#1b2430'")
    generator = f"() => document.querySelector('{PLOT}')._fullData[0].line.color"
    assert page.evaluate(generator) == palette.GENERATOR
    remember(page)
    page.emulate_media(color_scheme="dark")
    until(page, f"{colour} === '#e4e9ef'")
    assert page.evaluate(generator) == palette.DARK[palette.GENERATOR]
    assert same_nodes(page)
    assert complaints == []
    shot("theme_dark")


def test_chart_follows_the_width_of_the_window(
    page: Page, server: str, make_run: Callable[..., Run], complaints: list[str]
) -> None:
    run = make_run("widths", epochs=4)
    page.goto(f"{server}/run?run={run.id}")
    expect(page.locator(PLOT)).to_have_count(2)
    remember(page)
    for width in (700, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        fits = (
            f"() => {{ const e = document.querySelector('{PLOT}'); return"
            " Math.abs(e._fullLayout.width - e.offsetWidth) <= 1 && "
        )
        until(page, fits + f"e.offsetWidth > {width * 0.6} && e.offsetWidth < {width}; }}")
    assert same_nodes(page)
    assert complaints == []


def test_names_are_never_markup(
    page: Page, server: str, make_run: Callable[..., Run], complaints: list[str]
) -> None:
    runs = [make_run(name, epochs=2, seed=seed) for seed, name in enumerate(HOSTILE_NAMES[:3])]
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    page.goto(f"{server}/compare?runs={','.join(run.id for run in runs)}")
    expect(page.locator(f"{PLOT} .legendtext", has_text="<script>alert(1)</script>")).to_have_count(
        2
    )
    assert page.locator(".live-plotly img, .live-plotly script, .live-plotly a").count() == 0
    page.goto(f"{server}/run?run={runs[0].id}")
    expect(page.get_by_role("heading", name="<script>alert(1)</script>")).to_be_visible()
    assert complaints == []


TABS = {
    "Images": (0, "Generated from the same latent vectors"),
    "Quality": (8, "not Inception scores"),
    "Timings": (3, "Wall-clock time"),
    "Rates": (1, "Dashed"),
    "Histograms": (2, "Each column shows the distribution"),
    "Descent path": (2, "The path of the weights during training"),
    "Log": (0, "The log is empty"),
    "Config": (0, "Hardware"),
    "Losses": (2, "Mean binary cross-entropy"),
}


@pytest.mark.thorough
def test_every_tab_in_both_themes(
    page: Page,
    server: str,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("all tabs", epochs=12, status="running", quality_every=2)
    page.goto(f"{server}/run?run={run.id}")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for view, (charts, sentence) in TABS.items():
            page.get_by_role("tab", name=view, exact=True).click()
            expect(page.get_by_text(sentence)).to_be_visible()
            expect(page.locator(PLOT)).to_have_count(charts)
            shot(f"run_{view}_{scheme}")
        expect(page.get_by_test_id("stException")).to_have_count(0)
    assert complaints == []
