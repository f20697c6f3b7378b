"""What quality costs, in a real browser: dots that show their images and lead to their runs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ganboard.db.engine import writing
from ganboard.db.models import Metric, Quality, Run
from ganboard.db.runs import reports
from ganboard.worker.context import Context
from ganboard.worker.figures.many.frontier import MAX_SVG
from tests.e2e.until import until

MakeRun = Callable[..., Run]
PLOT = ".live-plotly.js-plotly-plot"
# where on the screen the last dot of a trace is
PLACE = f"""(uid) => {{
  const element = document.querySelector('{PLOT}');
  const trace = element._fullData.find((one) => one.uid === uid);
  const {{ xaxis, yaxis }} = element._fullLayout;
  const box = element.getBoundingClientRect();
  const [x, y] = [trace.x.at(-1), trace.y.at(-1)];
  return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)];
}}"""


@pytest.fixture
def runs(make_run: MakeRun) -> list[Run]:
    return [
        make_run("quick", epochs=4, quality_every=1, seconds_per_epoch=1.0),
        make_run("quick again", epochs=4, quality_every=1, seed=3, seconds_per_epoch=1.1),
        make_run("slow", epochs=4, quality_every=1, batch_size=64, seconds_per_epoch=9.0),
    ]


def test_a_dot_shows_its_images_and_a_click_previews_it(
    runs: list[Run], server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    page.goto(f"{server}/frontier?goal=12&colour=batch_size")
    expect(page.get_by_text("The cheapest configuration that reaches FID 12")).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(1)
    until(page, f"() => document.querySelector('{PLOT}')?._fullData?.length > 3")
    page.locator(PLOT).scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, "runs-1")
    page.mouse.move(x - 30, y - 10)
    page.mouse.move(x, y, steps=5)
    picture = page.locator(".live-plotly-picture")
    expect(picture).to_be_visible()
    expect(picture).to_have_attribute("src", f"/api/runs/{runs[2].id}/grids/4.png")
    until(page, "() => document.querySelector('.live-plotly-picture').naturalWidth > 0")
    expect(page.locator(f"{PLOT} .hovertext").first).to_contain_text("slow")
    expect(page.locator(f"{PLOT} .hovertext").first).to_contain_text("batch_size 64")
    page.mouse.click(x, y)
    preview = page.locator(".st-key-preview")
    expect(preview.get_by_role("link", name="slow")).to_be_visible()
    expect(preview.get_by_text("FID 12.00 after 36 s, epoch 4")).to_be_visible()
    expect(preview.get_by_role("img")).to_be_visible()
    assert f"dot={runs[2].id}" in page.url
    shot("frontier")
    # a copied address shows the same, and leads on
    page.reload()
    preview.get_by_role("link", name="slow").click()
    expect(page).to_have_url(re.compile(f"run={runs[2].id}"))
    assert complaints == []


@pytest.mark.thorough
def test_zoom_stays_when_an_evaluation_arrives(
    context: Context, make_run: MakeRun, runs: list[Run], server: str, page: Page
) -> None:
    live = make_run("live", status="running", epochs=2, quality_every=1, seconds_per_epoch=5.0)
    page.goto(f"{server}/frontier?courses=true")
    count = f"() => document.querySelector('{PLOT}')?._fullData?.[0].x.length"
    until(page, f"{count} === 17")  # 4 + 4 + 4 + 2 evaluations, and 3 gaps
    ranges = f"() => document.querySelector('{PLOT}')._fullLayout.yaxis.range.slice()"
    page.evaluate(f"() => Plotly.relayout(document.querySelector('{PLOT}'), 'yaxis.range', [1, 2])")
    zoomed = page.evaluate(ranges)
    reports.add_quality(
        context.engine,
        run_id=live.id,
        attempt=1,
        epoch=3,
        seconds=0.1,
        preparation_seconds=0.0,
        training_seconds=15.0,
        measures={"fid": 3.0},
        histogram=[],
    )
    until(page, f"{count} === 18")
    assert page.evaluate(ranges) == zoomed


# what is handed to Plotly from its first figure on
WATCH = """
window.passes = [];
Object.defineProperty(window, "Plotly", {
  get: () => window.library,
  set: (library) => {
    const react = library.react;
    library.react = (element, data, ...more) => {
      window.passes.push(data.map(({ type, mode }) => `${type} ${mode}`));
      return react(element, data, ...more);
    };
    window.library = library;
  },
});
"""


@pytest.mark.thorough
def test_very_many_dots_are_drawn_in_two_passes(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run("long", epochs=4, quality_every=1, seconds_per_epoch=1.0)
    with writing(context.engine) as session:
        for epoch in range(5, MAX_SVG + 2):
            made = {"attempt": 1, "seconds": 0.1, "training_seconds": epoch, "histogram": []}
            session.add(Quality(run_id=run.id, epoch=epoch, **made))
            session.add(Metric(run_id=run.id, epoch=epoch, name="fid", value=10 / epoch))
    page.add_init_script(WATCH)
    page.goto(f"{server}/frontier?courses=true")
    until(page, f"() => document.querySelector('{PLOT}')?._fullData?.[0].type === 'scattergl'")
    sketch, whole = page.evaluate("passes")
    # without the lines of many points: courses and front
    assert sorted(sketch) == ["scatter lines", *["scatter markers"] * 2]
    assert sorted(whole) == [*["scattergl lines"] * 3, *["scattergl markers"] * 2]
    assert complaints == []
