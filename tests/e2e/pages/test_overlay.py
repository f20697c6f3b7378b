"""The curves of selected runs in a real browser: beside the table, hidden by eyes, live."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.e2e.pages.test_compare_page import train
from tests.e2e.table import tick
from tests.e2e.until import until

MakeRun = Callable[..., Run]
VISIBLE = """() => {
    const plot = document.querySelector('.st-key-runs_overlay .js-plotly-plot');
    return plot && plot.data.filter((trace) => trace.visible !== false).map((trace) => trace.name);
}"""


def test_eyes_hide_curves_and_ticks_keep_them_hidden(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    done, live = make_run("done", epochs=4), make_run("live", status="running", epochs=2)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(server)
    table = page.get_by_test_id("stDataFrame")
    expect(table).to_be_visible()
    width = table.bounding_box()
    tick(table, 1)
    expect(page.get_by_role("button", name="Hide done")).to_be_visible()
    tick(table, 0)
    until(page, f"() => String(({VISIBLE})()) === 'live,done'")
    beside, overlay = table.bounding_box(), page.locator(".st-key-runs_overlay").bounding_box()
    assert width
    assert beside
    assert overlay
    assert beside["width"] < width["width"]
    assert overlay["x"] > beside["x"] + beside["width"]
    # the tools of the table, which show now, cover no button
    for name in ("Tags", "Archive", "Delete"):
        page.get_by_role("button", name=name, exact=True).hover(trial=True)
    page.get_by_role("button", name="Hide done").click()
    until(page, f"() => String(({VISIBLE})()) === 'live'")
    # a new epoch arrives; what was hidden stays so
    train(context, live, 3)
    until(
        page,
        "() => document.querySelector('.st-key-runs_overlay .js-plotly-plot')._fullData"
        ".some((trace) => trace.name === 'live' && trace.x.length === 3)",
    )
    until(page, f"() => String(({VISIBLE})()) === 'live'")
    page.get_by_role("button", name="Show done").click()
    until(page, f"() => String(({VISIBLE})()) === 'live,done'")
    # on a phone the curves are below the table
    page.set_viewport_size({"width": 390, "height": 844})
    until(
        page,
        "() => document.querySelector('.st-key-runs_overlay').getBoundingClientRect().top"
        " >= document.querySelector('[data-testid=stDataFrame]').getBoundingClientRect().bottom",
    )
    assert done.id not in page.url  # nothing is previewed by ticking
    assert complaints == []
