"""Several tabs live at once, and a database that goes away under them and comes back. `python -m
tests.scale.measure` opens twenty tabs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.e2e.furniture import furnish
from tests.e2e.until import until
from tests.scale.measure import Trainer

PATIENCE = 30_000  # milliseconds
GROWN = "() => document.querySelector('.live-plotly.js-plotly-plot')?._fullData[0].x.length > 1000"
GONE = "The database is unavailable"


@pytest.mark.thorough
def test_five_tabs_follow_one_run(
    context: Context,
    make_run: Callable[..., Run],
    server: str,
    new_context: Callable[[], BrowserContext],
) -> None:
    run = make_run("watched by many", status="running", epochs=1, steps_per_epoch=1000)
    trainer = Trainer(context, run)
    tabs = [new_context().new_page() for _ in range(5)]
    failed: list[str] = []
    for tab in tabs:
        tab.on("pageerror", lambda error: failed.append(str(error)))
        tab.goto(f"{server}/run?run={run.id}")
    with trainer.training(every=0.2):
        for tab in tabs:
            until(
                tab,
                "() => document.querySelector('.live-plotly.js-plotly-plot')?._fullData[0].x.length"
                " > 1000",
                seconds=PATIENCE / 1000,
            )
    stored = queries.get_run(context.engine, run.id)
    assert stored is not None
    assert stored.step > 1000
    assert failed == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "where",
    [
        "run?run={live}",
        *(
            pytest.param(one, marks=pytest.mark.thorough)
            for one in ("", "run?run={ended}", "compare?runs={live},{ended}", "launch", "system")
        ),
    ],
)
def test_a_database_that_goes_away_and_comes_back(
    context: Context, make_run: Callable[..., Run], server: str, page: Page, where: str
) -> None:
    runs = furnish(context, make_run)
    address = where.format(live=runs[2].id, ended=runs[0].id)
    page.goto(f"{server}/{address}")
    heading = page.get_by_test_id("stHeading").first
    expect(heading).to_be_visible(timeout=PATIENCE)
    title = heading.inner_text()
    context.engine.dispose()  # writes the log into the file
    here = Path(str(context.engine.url.database))
    away = here.with_suffix(".away")
    here.rename(away)
    page.reload()
    expect(page.get_by_text(GONE).first).to_be_visible(timeout=PATIENCE)
    away.rename(here)
    expect(page.get_by_text(GONE)).to_have_count(0, timeout=PATIENCE)
    expect(heading).to_have_text(title, timeout=PATIENCE)


def test_an_open_page_says_that_the_database_is_away(
    context: Context, make_run: Callable[..., Run], server: str, page: Page
) -> None:
    live = furnish(context, make_run)[2]
    page.goto(f"{server}/run?run={live.id}")
    expect(page.get_by_text(re.compile(r"Epoch \d of 12")).first).to_be_visible(timeout=PATIENCE)
    context.engine.dispose()
    here = Path(str(context.engine.url.database))
    away = here.with_suffix(".away")
    here.rename(away)
    expect(page.get_by_text(GONE).first).to_be_visible(timeout=PATIENCE)
    away.rename(here)
    expect(page.get_by_text(GONE)).to_have_count(0, timeout=PATIENCE)
    Trainer(context, live).train(1)
    expect(page.get_by_text(re.compile(r"Epoch \d of 12")).first).to_be_visible(timeout=PATIENCE)
