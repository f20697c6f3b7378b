"""What stays in view, what help is reached how, and what covers nothing: desktop and phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from tests.attempt import own
from tests.e2e.sights import settled
from tests.e2e.until import until
from tests.polling import wait_until

MakeRun = Callable[..., Run]
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
SIZES = {"desktop": DESKTOP, "phone": PHONE}
TO_THE_END = (
    "() => { const m = document.querySelector('[data-testid=stMain]'); m.scrollTop = 1e6; }"
)
# controls that a toast lies over; what has scrolled out of the page is no control
COVERED = """() => {
  const main = document.querySelector('[data-testid=stMain]').getBoundingClientRect();
  const toasts = document.querySelector('[data-testid=stToastContainer]');
  const controls = document.querySelectorAll('button, a, input, [role=tab], [role=combobox]');
  const covered = (control) => {
    if (!control.checkVisibility({ visibilityProperty: true })) return false;
    const box = control.getBoundingClientRect();
    const x = (box.left + box.right) / 2;
    const inside = (y) => y < main.bottom && y > 0 && x > 0 && x < innerWidth;
    return [box.top + 2, (box.top + box.bottom) / 2, box.bottom - 2]
      .some((y) => inside(y) && toasts.contains(document.elementFromPoint(x, y)));
  };
  return [...controls].filter((control) => !toasts.contains(control) && covered(control))
    .map((control) => control.outerHTML.slice(0, 120));
}"""


@pytest.mark.parametrize("size", SIZES)
def test_the_form_begins_high_and_its_button_stays_in_view(
    page: Page, server: str, complaints: list[str], shot: Callable[[str], None], size: str
) -> None:
    page.set_viewport_size(SIZES[size])
    page.goto(f"{server}/launch")
    search = page.get_by_label("Search settings")
    settled(page)
    expect(search).to_be_visible()
    launch = page.get_by_role("button", name="Launch", exact=True)
    expect(launch).to_be_in_viewport(ratio=1)
    box = search.bounding_box()
    assert box is not None
    if size == "desktop":
        assert box["y"] + box["height"] < DESKTOP["height"] / 2
    shot(f"layout_launch_{size}")
    page.evaluate(TO_THE_END)
    expect(launch).to_be_in_viewport(ratio=1)
    shot(f"layout_launch_end_{size}")
    assert complaints == []


@pytest.mark.parametrize(("size", "most"), [("desktop", 110), ("phone", 150)])
def test_the_header_of_a_run_is_low_and_stays_in_view(
    page: Page,
    server: str,
    make_run: MakeRun,
    complaints: list[str],
    shot: Callable[[str], None],
    size: str,
    most: int,
) -> None:
    run = make_run("a run whose name is long " * 3, status="running", epochs=4)
    page.set_viewport_size(SIZES[size])
    page.goto(f"{server}/run?run={run.id}")
    head = page.locator(".st-key-run_header")
    expect(head.get_by_text("Training time")).to_be_visible()
    settled(page)
    shot(f"layout_run_{size}")
    box = head.bounding_box()
    assert box is not None
    assert box["height"] <= most
    page.evaluate(TO_THE_END)
    for shown in (head.get_by_role("heading"), head.get_by_role("progressbar")):
        expect(shown).to_be_in_viewport()
    expect(head.get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
    shot(f"layout_run_end_{size}")
    assert complaints == []


def test_a_label_shows_its_help(page: Page, server: str, complaints: list[str]) -> None:
    page.goto(f"{server}/launch?preset=tiny")
    settled(page)
    help_button = page.get_by_role("button", name="Help for Batch size (images)")
    expect(help_button.locator("svg")).to_be_hidden()
    tooltip = page.get_by_role("tooltip")

    # by keyboard
    page.get_by_label("Search settings").focus()
    for _ in range(200):
        page.keyboard.press("Tab")
        if help_button.evaluate("button => button === document.activeElement"):
            break
    expect(tooltip.get_by_text("Setting: batch_size")).to_be_visible()
    page.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)

    # with the mouse, and a click on the label does what labels do
    label = page.get_by_test_id("stWidgetLabel").filter(has_text="Batch size (images)")
    label.hover()
    expect(tooltip.get_by_text("Setting: batch_size")).to_be_visible()
    label.click()
    expect(page.get_by_role("textbox", name="Batch size (images)", exact=True)).to_be_focused()
    page.get_by_label("Search settings").hover()
    expect(tooltip).to_have_count(0)
    switch = page.get_by_role("checkbox", name="XLA").or_(page.get_by_role("switch", name="XLA"))
    before = switch.first.is_checked()
    page.get_by_test_id("stWidgetLabel").filter(has_text="XLA").click()
    expect(switch.first).to_be_checked(checked=not before)
    assert complaints == []


def test_a_finger_on_a_label_shows_its_help(
    new_context: Callable[..., BrowserContext], server: str
) -> None:
    page = new_context(has_touch=True).new_page()
    page.goto(f"{server}/launch?preset=tiny")
    settled(page)
    page.get_by_test_id("stWidgetLabel").filter(has_text="Batch size (images)").tap()
    expect(page.get_by_role("tooltip").get_by_text("Setting: batch_size")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["launch", "run"])
def test_a_toast_covers_no_control(
    page: Page,
    server: str,
    context: Context,
    make_run: MakeRun,
    complaints: list[str],
    shot: Callable[[str], None],
    size: str,
    path: str,
) -> None:
    run, shown = make_run("ends", status="running", epochs=1), make_run("shown", epochs=3)
    page.set_viewport_size(SIZES[size])
    page.goto(f"{server}/{path}?run={shown.id}" if path == "run" else f"{server}/{path}")
    settled(page)
    page.evaluate(TO_THE_END)
    commands.finish(context.engine, **own(run), status="finished")
    toast = page.get_by_test_id("stToast").get_by_text("has finished")
    expect(toast).to_be_visible()
    shot(f"layout_toast_{path}_{size}")
    assert page.evaluate(COVERED) == []
    if path == "launch":  # the page keeps its looks
        expect(page.get_by_role("button", name="Launch", exact=True)).to_be_in_viewport(ratio=1)
    expect(toast).to_be_in_viewport(ratio=1)
    assert complaints == []


def test_the_log_is_searched_followed_and_downloaded(
    page: Page,
    server: str,
    context: Context,
    make_run: MakeRun,
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("logs", status="running", epochs=1)
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"line {number}\n" for number in range(1, 301)))
    page.goto(f"{server}/run?run={run.id}&view=Log")
    box, code = page.locator(f".st-key-log_{run.id}"), page.get_by_test_id("stCode").last
    expect(code).to_contain_text("line 300")
    at_the_end = f"""() => {{
        const scrolls = (e) => e.scrollHeight > e.clientHeight + 1;
        let e = document.querySelector('.st-key-log_{run.id}');
        while (e && !scrolls(e)) e = e.parentElement;
        return e && e.scrollHeight - e.clientHeight - e.scrollTop < 8;
    }}"""
    until(page, at_the_end)
    with path.open("a") as file:
        file.write("".join(f"more {number}\n" for number in range(1, 31)))
    expect(code).to_contain_text("more 30")
    until(page, at_the_end)
    shot("layout_log")

    page.get_by_test_id("stCheckbox").filter(has_text="Follow").get_by_text("Follow").click()
    expect(page.get_by_text("not following")).to_be_visible()
    with path.open("a") as file:
        file.write("unseen\n")
    expect(page.get_by_text("7 B are newer")).to_be_visible()
    expect(code).not_to_contain_text("unseen")

    page.get_by_label("Search the log").fill("MORE 3")
    expect(code).to_have_text("303  more 3\n330  more 30")
    expect(page.get_by_text("2 lines found")).to_be_visible()
    wait_until(
        lambda: "find=MORE" in page.url and "follow=false" in page.url,
        seconds=20,
        what="the search in the address",
    )
    shot("layout_log_search")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.path().read_bytes() == path.read_bytes()
    assert box.count() == 1
    assert complaints == []


def test_a_small_image_fills_the_screen(server: str, page: Page, complaints: list[str]) -> None:
    page.goto(f"{server}/launch")
    image = page.get_by_role("img", name="Images that a run of starter generated")
    image.hover()
    page.get_by_role("button", name="Fullscreen: Images that a run of starter").click()
    until(page, "() => document.querySelector('[data-testid=stImage] img').clientHeight > 500")
    page.keyboard.press("Escape")
    assert complaints == []
