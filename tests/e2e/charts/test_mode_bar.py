"""The buttons over a chart: no click sends data anywhere, and the camera downloads a PNG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from ganboard.db import studies
from ganboard.db.models import Run, Study
from ganboard.db.runs import queries
from ganboard.worker.bench import view
from ganboard.worker.context import Context
from ganboard.worker.studies import report

MakeRun = Callable[..., Run]
PLOT = ".js-plotly-plot"
CAMERA = "Download plot as a PNG"
HARMLESS = {
    "Zoom",
    "Pan",
    "Zoom in",
    "Zoom out",
    "Reset axes",
    "Orbital rotation",
    "Turntable rotation",
    "Reset camera to default",
    "Reset camera to last save",
}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def opened(page: Page) -> list[str]:
    """Addresses outside this machine that the browser asked for, and windows that it opened."""
    found: list[str] = []
    own = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else found.append(asked.url))
    page.on("popup", lambda other: found.append(f"window: {other.url}"))
    return found


def press_all(page: Page, plot: Locator) -> None:
    """Press every button over the plot, one of which is the camera."""
    plot.scroll_into_view_if_needed()
    plot.hover(force=True)
    bar = plot.locator(".modebar-btn")
    expect(bar.first).to_be_attached()
    titles = [str(button.get_attribute("data-title")) for button in bar.all()]
    assert titles.count(CAMERA) == 1
    assert set(titles) - {CAMERA} <= HARMLESS
    for title in titles:
        button = plot.locator(f'.modebar-btn[data-title="{title}"]')
        if title == CAMERA:
            with page.expect_download() as download:
                button.click(force=True)
            assert_png(download.value)
        else:
            button.click(force=True)


def assert_png(saved: Download) -> None:
    assert saved.suggested_filename.endswith(".png")
    assert Path(saved.path()).read_bytes().startswith(PNG)


@pytest.mark.thorough
def test_live_charts(
    page: Page,
    server: str,
    make_run: MakeRun,
    opened: list[str],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    runs = [make_run(f"run {batch}", epochs=2, batch_size=batch) for batch in (16, 32)]
    run, both = runs[0].id, ",".join(one.id for one in runs)
    for address in (
        f"run?run={run}",
        f"run?run={run}&view=Descent+path",
        f"compare?runs={both}&part=Parallel&by_measure=Training+seconds",
    ):
        page.goto(f"{server}/{address}")
        plot = page.locator(f".live-plotly{PLOT}").first
        expect(plot).to_be_visible()
        press_all(page, plot)
        shot(f"mode_bar_{address.partition('?')[0]}")
    assert opened == complaints == []


@pytest.mark.thorough
def test_the_report_and_the_plot_of_the_benchmark(
    page: Page, context: Context, make_run: MakeRun, opened: list[str], tmp_path: Path
) -> None:
    for batch in (16, 32):
        make_run(f"run {batch}", epochs=2, batch_size=batch)
    study = Study(name="one", title="One", definition={"purpose": "Why?", "figures": ["fig5"]})
    ids = [run.id for run in queries.list_runs(context.engine)]
    studies.store(context.engine, study, counted={"all": ids}, missing=[])
    report.write(context, study, tmp_path / "report.html")
    view.plot(BENCHMARK, tmp_path / "bench.html")
    for name in ("report", "bench"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        press_all(page, page.locator(PLOT).first)
    assert opened == []


BENCHMARK: dict[str, Any] = {
    "batch": 32,
    "rounds": 1,
    "hardware": {"cpu": "a processor"},
    "candidates": [
        {
            "title": "alone",
            "precision": "float32",
            "images_per_second": {"median": 2.0, "min": 1.0, "max": 3.0},
        }
    ],
}
