"""Panels of one's own in a real browser: typed, drawn, moved, dragged, seen large, and shared by
address."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from playwright.sync_api import Page, Route, expect

from ganboard.db.models import Run
from tests.e2e.until import until

MakeRun = Callable[..., Run]
PLOTS = ".live-plotly.js-plotly-plot"


def titles(page: Page) -> str:
    """JavaScript that lists the titles of the y axes, in order."""
    return (
        f"[...document.querySelectorAll('{PLOTS}')]"
        ".map((one) => one.layout?.yaxis?.title?.text).join('|')"
    )


def test_a_person_types_an_expression_and_shares_the_board(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    run = make_run("mine", epochs=6, quality_every=1)
    page.goto(f"{server}/run?run={run.id}&view=Panels")
    page.get_by_role("button", name="Add examples").click()
    expect(page.locator(PLOTS)).to_have_count(4)
    page.get_by_role("button", name="Add a panel").click()
    dialog = page.get_by_role("dialog")
    metric = dialog.get_by_role("textbox", name="Metric or expression")
    metric.fill("fid * gloss")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("There is no metric 'gloss'. Did you mean g_loss")).to_be_visible()
    metric.fill("fid *")
    dialog.get_by_role("combobox", name="Insert a metric").click()
    page.get_by_role("option", name="g_loss", exact=True).click()
    expect(metric).to_have_value("fid * g_loss")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(PLOTS)).to_have_count(5)
    expect(page.get_by_text("Aligned by epoch, as fid and g_loss have values")).to_be_visible()
    until(page, f"() => {titles(page)}.endsWith('|fid * g_loss')")
    page.get_by_role("button", name="Options").last.click()
    page.get_by_role("menuitem", name="Pin", exact=True).or_(
        page.get_by_role("option", name="Pin", exact=True)
    ).click()
    until(page, f"() => {titles(page)}.startsWith('fid * g_loss|')")
    page.get_by_role("button", name="Options").first.click()
    page.get_by_text("Full screen", exact=True).click()
    expect(dialog.locator(PLOTS)).to_have_count(1)
    shot("panel-large")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    shot("panels")
    # the address alone, as somebody else opens it
    address = page.url
    assert "panels=" in address
    page.goto("about:blank")
    page.goto(address.replace("view=Panels", "view=Losses"))
    until(page, f"() => {titles(page)}.endsWith('|fid * g_loss')")
    assert complaints == []


def test_a_panel_is_dragged_to_the_place_of_another(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run("mine", epochs=2)
    board = quote('[{"y":"g_loss"},{"y":"d_loss"},{"y":["g_rate","d_rate"],"width":"full"}]')
    page.goto(f"{server}/run?run={run.id}&view=Panels&panels={board}")
    expect(page.locator(PLOTS)).to_have_count(3)
    expect(page.get_by_text("d_rate", exact=True)).to_be_visible()  # in the legend
    mark = page.locator(".panel-drop")

    def drag(onto: str) -> None:
        page.locator(".st-key-panel_grip_0").hover()
        page.mouse.down()
        box = page.locator(f".st-key-panel_frame_{onto}").bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30, steps=4)

    drag("1")
    expect(mark).to_be_visible()
    page.keyboard.press("Escape")
    expect(mark).to_be_hidden()
    page.mouse.up()
    drag("1")
    page.mouse.up()
    until(page, f"() => {titles(page)}.startsWith('d_loss|g_loss')")
    expect(mark).to_be_hidden()
    assert page.url.index("d_loss") < page.url.index("g_loss")
    assert complaints == []


def test_a_curve_can_be_added_before_the_fields_have_loaded(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run("mine", epochs=2)
    held: list[Route] = []
    page.route("**/static/js/TextInput.*.js", lambda route: held.append(route))
    board = quote('[{"y":["g_loss","d_loss"]}]')
    page.goto(f"{server}/run?run={run.id}&view=Panels&panels={board}")
    page.get_by_role("button", name="Options").first.click()
    page.get_by_text("Edit", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Add a curve").click()
    until(page, "() => !document.querySelector('[data-testid=\"stStatusWidget\"]')")
    assert held
    for route in held:
        route.continue_()
    fields = dialog.get_by_role("textbox", name=re.compile("Metric or expression|Curve"))
    expect(fields).to_have_count(3)
    expect(fields.nth(0)).to_have_value("g_loss")
    expect(fields.nth(1)).to_have_value("d_loss")
    assert complaints == []
