"""The compare page in a real browser: live figures that stay where they are, one slider for all
images, an address that holds the view."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.worker.context import Context
from tests.e2e.journeys.test_journey import choose
from tests.e2e.until import until
from tests.polling import wait_until

MakeRun = Callable[..., Run]
PLOT = ".live-plotly.js-plotly-plot"
PLACES = """() => {
    const parts = '.live-plotly, [data-testid=stDataFrame], [role=tab], .st-key-conclusion';
    const place = (rect) => [rect.x, rect.y, rect.width, rect.height].map(Math.round);
    return [...document.querySelectorAll(parts)].map((e) => place(e.getBoundingClientRect()));
}"""
PARTS = {
    "Losses": "Means of the epochs",
    "Images": "Each run generates its grids from fixed latent vectors",
    "Quality": "not Inception scores",
    "Timings": "Medians over the finished epochs",
    "Settings": "Only differences are listed",
    "Parallel": "One line per run",
}


def train(context: Context, run: Run, epoch: int) -> None:
    """One more epoch, as its trainer would report it."""
    own = {"run_id": run.id, "attempt": run.attempt, "epoch": epoch}
    losses = np.linspace(0.7, 1.3, 4, dtype=np.float32)
    reports.append_steps(context.engine, **own, first=0, g_losses=losses, d_losses=losses)
    figures = {
        "g_loss": 0.9,
        "d_loss": 1.1,
        "seconds": 2.0,
        "compile_seconds": 0.0,
        "g_path": (0.0, 0.0),
        "d_path": (0.0, 0.0),
    }
    reports.finish_epoch(context.engine, **own, steps=4, images=128, **figures)


def points(page: Page) -> list[int]:
    return list(
        page.evaluate(
            f"() => document.querySelector('{PLOT}')._fullData.map((trace) => trace.x.length)"
        )
    )


def x_range(page: Page) -> list[float]:
    return list(page.evaluate(f"() => document.querySelector('{PLOT}')._fullLayout.xaxis.range"))


@pytest.mark.thorough
def test_zoom_and_places_survive_live_updates(
    context: Context,
    make_run: MakeRun,
    server: str,
    page: Page,
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    runs = [make_run("one", epochs=10), make_run("two", status="running", epochs=5, xla=True)]
    page.goto(f"{server}/compare?runs={runs[0].id},{runs[1].id}")
    expect(page.locator(PLOT)).to_have_count(2)
    wait_until(lambda: points(page) == [10, 5], seconds=20, what="the first points")
    page.locator(PLOT).first.scroll_into_view_if_needed()
    drag = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    assert drag is not None
    y = drag["y"] + drag["height"] / 2
    page.mouse.move(drag["x"] + drag["width"] * 0.2, y)
    page.mouse.down()
    page.mouse.move(drag["x"] + drag["width"] * 0.6, y + 2, steps=5)
    page.mouse.up()
    wait_until(lambda: x_range(page)[1] < 8, seconds=10, what="the zoom")
    zoomed, places = x_range(page), page.evaluate(PLACES)
    for epoch in range(6, 11):
        train(context, runs[1], epoch)
        wait_until(lambda epoch=epoch: points(page) == [10, epoch], seconds=20, what="new points")
        assert x_range(page) == zoomed
        assert page.evaluate(PLACES) == places
    shot("compare_live")
    assert complaints == []


def test_one_slider_moves_all_images(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    runs = [make_run(f"run {n}", epochs=4, seed=n) for n in range(3)]
    page.goto(f"{server}/compare?runs={','.join(run.id for run in runs)}&part=Images")
    expect(page.get_by_text("After epoch 4", exact=True)).to_have_count(3)
    thumb = page.get_by_role("slider")
    thumb.focus()
    thumb.press("ArrowLeft")
    expect(page.get_by_text("After epoch 3", exact=True)).to_have_count(3)
    widths = page.evaluate(
        "() => [...document.querySelectorAll('[data-testid=stImage] img')].map((image) =>"
        " image.width)"
    )
    assert len(set(widths)) == 1
    page.get_by_role("radio", name="Small").click()
    until(
        page,
        "() => [...document.querySelectorAll('[data-testid=stImage] img')].every((image) =>"
        f" image.width < {widths[0]})",
    )
    expect(page.get_by_text("After epoch 3", exact=True)).to_have_count(3)
    shot("compare_images")
    assert complaints == []


@pytest.mark.thorough
def test_a_copied_address_shows_the_same(
    make_run: MakeRun, server: str, page: Page, new_context: Callable[..., object]
) -> None:
    runs = [
        make_run("a", epochs=4, quality_every=1),
        make_run("b", epochs=4, quality_every=1, seed=2),
    ]
    page.goto(f"{server}/compare?runs={runs[0].id},{runs[1].id}")
    page.get_by_role("tab", name="Quality").click()  # which interrupts the first drawing
    expect(page.get_by_text("not Inception scores")).to_be_visible()
    page.get_by_role("radio", name="Epoch", exact=True).click()
    until(
        page, f"() => document.querySelector('{PLOT}')?._fullLayout?.xaxis.title.text === 'Epoch'"
    )
    threshold = page.get_by_role("spinbutton", name="FID to reach")
    threshold.fill("22")
    threshold.press("Enter")
    until(
        page, "() => location.search.includes('goal=22') && location.search.includes('over=Epoch')"
    )
    other = new_context().new_page()  # type: ignore[attr-defined]
    other.goto(page.url)
    expect(other.get_by_role("tab", name="Quality")).to_have_attribute("aria-selected", "true")
    expect(other.get_by_role("spinbutton", name="FID to reach")).to_have_value("22")
    expect(other.locator(PLOT)).to_have_count(1)
    assert (
        other.evaluate(f"() => document.querySelector('{PLOT}')._fullLayout.xaxis.title.text")
        == "Epoch"
    )
    other.get_by_role("tab", name="Timings").click()
    expect(other.get_by_text("Seconds to FID (classifier) 22")).to_be_visible()


@pytest.mark.thorough
def test_every_part_in_both_themes_and_on_a_phone(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    changes: list[dict[str, object]] = [
        {},
        {"xla": True},
        {"precision": "mixed_bfloat16"},
        {"batch_size": 16, "g_learning_rate": 0.01},
    ]
    runs = [
        make_run(
            f"digits {n}",
            epochs=12,
            quality_every=1,
            seed=n,
            seconds_per_epoch=3.0 / (n + 1),
            **change,
        )
        for n, change in enumerate(changes)
    ]
    page.goto(f"{server}/compare?runs={','.join(run.id for run in runs)}")
    for width, height, scheme in ((1280, 720, "light"), (1280, 720, "dark"), (390, 844, "light")):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for part, sentence in PARTS.items():
            page.get_by_role("tab", name=part, exact=True).click()
            expect(page.get_by_text(sentence)).to_be_visible()
            shot(f"compare_{part}_{scheme}_{width}")
        expect(page.get_by_test_id("stException")).to_have_count(0)
    assert complaints == []


def test_the_way_to_a_run_and_back(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    runs = [make_run("here", epochs=2), make_run("there", epochs=2, xla=True)]
    page.goto(f"{server}/compare?runs={runs[0].id},{runs[1].id}")
    page.get_by_role("button", name="Open").click()
    page.get_by_test_id("stPopoverBody").get_by_role("link", name="there").click()
    expect(page.get_by_role("heading", name="there")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(2)
    assert complaints == []


@pytest.mark.browser
def test_the_difference_of_two_grids_is_computed_in_the_browser(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    runs = [make_run(name, epochs=2) for name in ("one", "same")]
    ids = ",".join(run.id for run in runs)
    page.goto(f"{server}/compare?runs={ids}&part=Images&pair=Difference")
    mean = page.get_by_text("Mean absolute difference: 0.0 of 255")
    expect(mean).to_be_visible(timeout=20_000)  # both drew the same pictures
    page.goto(f"{server}/compare?runs={ids}&part=Images&pair=Swipe")
    slider = page.get_by_role("slider", name="Left or right picture")
    expect(page.get_by_alt_text("same, epoch 2")).to_be_visible(timeout=20_000)
    slider.press("Home")
    stage = page.locator(".pair .stage")
    place = "stage => stage.style.getPropertyValue('--at')"
    wait_until(lambda: stage.evaluate(place) == "0%", seconds=10, what="the slider")
    assert not complaints


@pytest.mark.thorough
def test_many_seeds_are_chosen_behind_a_button_and_drawn_as_bands(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    runs = [
        make_run(f"{size}, seed {seed}", epochs=4, quality_every=1, seed=seed, batch_size=size)
        for size in (32, 64)
        for seed in range(5)
    ]
    page.goto(f"{server}/compare?runs={','.join(run.id for run in runs)}")
    until(page, f"() => document.querySelector('{PLOT}')?._fullData?.length === 10")
    choose(page, "Group by", "everything but the seed")
    names = f"() => (document.querySelector('{PLOT}')?._fullData ?? []).map((one) => one.name)"
    until(page, f"() => ({names})().includes('batch_size 64 (5 runs)')")
    until(page, "() => location.search.includes('group=')")
    page.get_by_role("tab", name="Quality").click()
    expect(page.get_by_text("not Inception scores")).to_be_visible()
    until(page, f"() => ({names})().includes('batch_size 32 (5 runs)')")
    shot("compare_groups")
    page.get_by_role("button", name="10 runs").click()
    expect(page.get_by_role("combobox", name="Runs")).to_be_visible()
    assert complaints == []
