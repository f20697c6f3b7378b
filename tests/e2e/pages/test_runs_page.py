"""What only a browser shows of the pages Runs and Launch: clicks on a canvas, Markdown as it is
drawn, values that survive a page change."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, queries, reports
from ganboard.worker.context import Context
from ganboard.worker.formatting import WORD_JOINER
from tests.e2e.sights import settled
from tests.e2e.table import HEADER, NAME, STATUS, click, tick
from tests.factories import HOSTILE_NAMES
from tests.polling import wait_until

MakeRun = Callable[..., Run]
PATIENCE = 20_000  # milliseconds
LIVE_SYNTAX = "[role=tab] :is(img, code, strong, em, del, a, .katex, [data-testid=stIconMaterial])"


def finish_epoch(context: Context, run: Run, epoch: int) -> None:
    write = partial(
        reports.finish_epoch, context.engine, run_id=run.id, attempt=run.attempt, epoch=epoch
    )
    write(
        steps=4,
        images=128,
        g_loss=0.5,
        d_loss=1.0,
        seconds=2.0,
        compile_seconds=0.0,
        g_path=(0.0, 0.0),
        d_path=(0.0, 0.0),
    )


@pytest.mark.thorough
def test_selection_survives_live_updates_and_new_rows(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    make_run("first")
    make_run("second")
    running = make_run("third", status="running", epochs=2)
    page.goto(server)
    table = page.get_by_test_id("stDataFrame")
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    tick(table, 1)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    tick(table, 2)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    finish_epoch(context, running, 3)
    expect(page.get_by_text("Epoch 3 of 12")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    make_run("fourth", status="queued")
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("2 runs selected")).to_be_visible(timeout=PATIENCE)

    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Moved 2 runs to the trash.")).to_be_visible(timeout=PATIENCE)
    assert [run.name for run in queries.list_runs(context.engine)] == ["fourth", "third"]
    assert complaints == []


@pytest.mark.thorough
def test_filters_stand_in_the_address(make_run: MakeRun, server: str, page: Page) -> None:
    make_run("alpha")
    make_run("beta", status="failed")
    page.goto(server)
    page.get_by_placeholder("Search", exact=True).press_sequentially("alp")
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)
    # "al" finds the same run, and stands there first
    expect(page).to_have_url(re.compile(r"q=alp\b"))
    page.reload()
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)


def test_settings_survive_a_visit_to_another_page(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    make_run("any")
    page.goto(f"{server}/launch")
    batch = page.get_by_label("Batch size (images)", exact=True)
    batch.fill("128")
    batch.press("Enter")
    expect(page.get_by_test_id("stMetric").filter(has_text="Batch per replica")).to_contain_text(
        "128", timeout=PATIENCE
    )
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="Launch", exact=True).click()
    expect(batch).to_have_value("128", timeout=PATIENCE)
    assert complaints == []


@pytest.mark.thorough
def test_names_are_drawn_as_they_were_typed(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    for name in HOSTILE_NAMES:
        run = make_run(name)
        page.goto(f"{server}/launch?clone={run.id}")
        tab = page.get_by_role("tab").first
        expect(tab).to_contain_text("vs “", timeout=PATIENCE)
        assert tab.inner_text().replace(WORD_JOINER, "").startswith(f"vs “{name[:10].rstrip()}")
        assert page.locator(LIVE_SYNTAX).count() == 0
        page.goto(server)
        card = page.locator(".st-key-latest")
        expect(card.locator("strong")).to_be_visible(timeout=PATIENCE)
        assert name.startswith(
            card.locator("strong").inner_text().replace(WORD_JOINER, "").removesuffix("…")
        )
        assert card.get_by_role("link").count() == 0
    assert complaints == []


@pytest.mark.thorough
def test_tag_archive_and_restore_by_mouse(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    make_run("first")
    run = make_run("second")
    page.goto(server)
    table = page.get_by_test_id("stDataFrame")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    tick(table, 0)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Tags").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").first.fill("baseline")
    dialog.get_by_role("combobox").first.press("Enter")
    dialog.get_by_test_id("stBaseButton-primary").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    assert run_annotations.tags_of(context.engine, [run.id]) == {run.id: ["baseline"]}

    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_text("1 run", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("1 run selected")).to_be_hidden(timeout=PATIENCE)
    page.get_by_text("Archived", exact=True).click()
    expect(page).to_have_url(re.compile("list=Archived"), timeout=PATIENCE)
    expect(page.get_by_text("1 run", exact=True)).to_be_visible(timeout=PATIENCE)
    settled(page)

    def selected() -> bool:
        """Whether the click has reached the table, which is drawn anew a moment after the page."""
        if page.get_by_text("1 run selected").is_visible():
            return True
        tick(table, 0)
        return False

    wait_until(selected, seconds=60, every=3, what="a selected run")
    settled(page)
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("No run is archived")).to_be_visible(timeout=PATIENCE)
    assert queries.count_runs(context.engine) == 2
    assert complaints == []


@pytest.mark.thorough
def test_a_view_brings_back_filters_columns_and_search(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    make_run("alpha")
    make_run("beta", status="failed")
    page.goto(f"{server}/?q=beta&status=Failed&columns=Id&columns=seed&follow=true")
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Views").click()
    name = page.get_by_label("Save the current view as")
    name.fill("what failed")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="what failed")).to_be_visible(timeout=PATIENCE)

    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Views").click()
    page.get_by_role("link", name="what failed").click()
    expect(page.get_by_text("1 run of 2")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_placeholder("Search", exact=True)).to_have_value("beta")
    for part in ("q=beta", "status=Failed", "columns=Id", "columns=seed", "follow=true"):
        assert part in page.url
    page.get_by_role("button", name="Launch a run").click()
    expect(page.get_by_role("heading", name="Launch")).to_be_visible(timeout=PATIENCE)
    assert complaints == []


@pytest.mark.thorough
def test_the_end_of_a_run_is_reported_and_counted(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run("the one", status="running", epochs=2)
    page.goto(f"{server}/system")
    alerts = page.locator(".st-key-alerts")
    button = alerts.get_by_role("button")
    expect(button).to_be_visible(timeout=PATIENCE)
    expect(alerts).not_to_contain_text("1")
    commands.finish(context.engine, run_id=run.id, attempt=run.attempt, status="finished")
    expect(page.get_by_test_id("stToast")).to_contain_text("the one has finished", timeout=PATIENCE)
    expect(alerts).to_contain_text("1", timeout=PATIENCE)
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Finished. ")).to_be_visible(timeout=PATIENCE)
    expect(alerts).not_to_contain_text("1", timeout=PATIENCE)
    dialog.get_by_role("link", name="the one").click()
    expect(page.get_by_role("heading", name="the one")).to_be_visible(timeout=PATIENCE)
    assert complaints == []


def test_deleting_from_the_page_of_a_run_leads_to_the_list(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run("doomed")
    make_run("other")
    page.goto(f"{server}/run?run={run.id}&view=Config")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Moved 1 run to the trash.")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("1 run", exact=True)).to_be_visible(timeout=PATIENCE)
    assert complaints == []


def test_a_name_opens_its_run_in_place(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    first = make_run("beta")
    make_run("alpha")
    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    table = page.get_by_test_id("stDataFrame")
    click(table, 1, NAME)
    expect(page.get_by_role("heading", name="beta")).to_be_visible(timeout=PATIENCE)
    expect(page).to_have_url(re.compile(rf"/run\?run={first.id}$"))
    assert len(page.context.pages) == 1
    page.go_back()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible(timeout=PATIENCE)
    assert complaints == []


def test_a_sorted_table_opens_and_previews_what_was_clicked(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    for name in ("beta", "gamma", "alpha"):  # newest first: alpha, gamma, beta
        make_run(name)
    page.goto(server)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    table = page.get_by_test_id("stDataFrame")
    card = page.locator(".st-key-latest")
    table.click(position={"x": NAME, "y": HEADER / 2})  # by name: alpha, beta, gamma
    expect(card.locator("strong")).to_have_text("alpha")
    expect(page).not_to_have_url(re.compile("preview="))
    click(table, 1, STATUS)
    expect(card.locator("strong")).to_have_text("beta", timeout=PATIENCE)
    click(table, 2, NAME)
    expect(page.get_by_role("heading", name="gamma")).to_be_visible(timeout=PATIENCE)
    assert complaints == []


def test_rows_are_previewed_by_mouse_and_keyboard(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    runs = [make_run(name, epochs=5) for name in ("third", "second", "first")][::-1]
    page.goto(server)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    table, name = page.get_by_test_id("stDataFrame"), page.locator(".st-key-latest strong")
    expect(name).to_have_text("first", timeout=PATIENCE)
    click(table, 1, STATUS)
    expect(name).to_have_text("second", timeout=PATIENCE)
    expect(page).to_have_url(re.compile(f"preview={runs[1].id}"), timeout=PATIENCE)
    page.keyboard.press("ArrowDown")
    expect(name).to_have_text("third", timeout=PATIENCE)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(name).to_have_text("first", timeout=PATIENCE)
    expect(page.get_by_text("Select runs in the table")).to_be_visible()  # none is ticked
    tick(table, 2)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    expect(name).to_have_text("first")

    page.goto(f"{server}/?preview={runs[2].id}")
    expect(name).to_have_text("third", timeout=PATIENCE)
    make_run("fourth")
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(name).to_have_text("third")
    page.get_by_role("button", name="Close preview").click()
    expect(name).to_have_text("fourth", timeout=PATIENCE)
    expect(page).not_to_have_url(re.compile("preview="))
    assert complaints == []


def test_rows_have_thumbnails_which_are_loaded_as_they_are_seen(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    runs = [make_run(f"run {number}", epochs=1) for number in range(40)]
    loaded: list[str] = []
    page.on("response", lambda answer: loaded.append(answer.url if answer.ok else ""))

    def thumbnails() -> set[str]:
        return {url.split("/")[5] for url in loaded if "height=80" in url}

    page.goto(server)
    table = page.get_by_test_id("stDataFrame")
    expect(page.get_by_text("40 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    wait_until(
        lambda: page.evaluate("1") and runs[-1].id in thumbnails(), seconds=20, what="a thumbnail"
    )
    shot("runs_thumbnails")
    assert runs[0].id not in thumbnails()
    table.hover(position={"x": STATUS, "y": 200})
    page.mouse.wheel(0, 5000)
    wait_until(
        lambda: page.evaluate("1") and runs[0].id in thumbnails(), seconds=20, what="the last one"
    )
    assert complaints == []


def test_a_deleted_run_returns_from_the_trash_by_mouse(
    context: Context,
    make_run: MakeRun,
    server: str,
    page: Page,
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    run = make_run("a run that is deleted", epochs=3)
    make_run("kept")
    losses = [epoch.g_loss for epoch in queries.epochs(context.engine, run.id)]
    checkpoint = context.settings.run_dir(run.id) / "checkpoints" / "ckpt-12-1" / "state.npz"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"weights")
    context.settings.log_path(run.id).write_text("a line of the log\n")
    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    tick(page.get_by_test_id("stDataFrame"), 1)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Moved 1 run to the trash.")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("1 run", exact=True)).to_be_visible(timeout=PATIENCE)

    page.get_by_text("Trash", exact=True).click()
    expect(page).to_have_url(re.compile("list=Trash"), timeout=PATIENCE)
    expect(page.get_by_role("button", name="Empty trash")).to_be_enabled(timeout=PATIENCE)
    expect(page.get_by_text("1 run", exact=True)).to_be_visible(timeout=PATIENCE)
    settled(page)
    shot("runs_trash")
    click(page.get_by_test_id("stDataFrame"), 0, NAME)
    expect(page.get_by_text("This run is in the trash.")).to_be_visible(timeout=PATIENCE)
    shot("run_in_trash")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Clone")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Restored 1 run.")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("tab", name="Images").click()
    expect(page.get_by_role("img").first).to_be_visible(timeout=PATIENCE)
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_text("a line of the log")).to_be_visible(timeout=PATIENCE)
    assert [epoch.g_loss for epoch in queries.epochs(context.engine, run.id)] == losses
    assert checkpoint.read_bytes() == b"weights"
    assert complaints == []


def test_the_label_of_a_switch_explains_it(
    make_run: MakeRun, server: str, page: Page, complaints: list[str], shot: Callable[[str], None]
) -> None:
    make_run("any")
    for address, label, meaning in (
        ("", "Follow the newest", "Show the most recently submitted run"),
        ("launch", "XLA", "Compile the gradient function with XLA"),
    ):
        page.goto(f"{server}/{address}")
        box = page.get_by_test_id("stCheckbox").filter(has_text=label)
        switch, text = box.get_by_role("switch"), box.get_by_text(label, exact=True)
        expect(switch).not_to_be_checked(timeout=PATIENCE)
        settled(page)  # a script that goes on replaces the label, and its tooltip goes with it
        text.hover()
        expect(page.get_by_role("tooltip")).to_contain_text(meaning, timeout=PATIENCE)
        shot(f"help_{label}")
        expect(switch).not_to_be_checked()
        text.click()
        expect(switch).to_be_checked(timeout=PATIENCE)
    assert complaints == []


def test_rows_of_an_older_search_are_marked_as_such(
    make_run: MakeRun, server: str, page: Page, shot: Callable[[str], None]
) -> None:
    make_run("alpha")
    page.goto(server)
    search, table = (
        page.get_by_placeholder("Search", exact=True),
        page.get_by_test_id("stDataFrame"),
    )
    expect(table).to_have_css("opacity", "1", timeout=PATIENCE)
    search.fill("status:done")
    expect(page.get_by_text("The rows below are those of no search.")).to_be_visible(
        timeout=PATIENCE
    )
    expect(table).to_have_css("opacity", "0.45")
    shot("runs_stale")
    search.fill("alpha")
    expect(table).to_have_css("opacity", "1", timeout=PATIENCE)


def test_delete_follows_the_state_of_a_run_and_is_red(
    context: Context, make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    first, second = make_run("first", status="queued"), make_run("second", status="queued")
    delete = page.get_by_role("button", name="Delete", exact=True)
    page.goto(f"{server}/run?run={first.id}")
    expect(delete).to_be_enabled(timeout=PATIENCE)
    red = "rgb(179, 38, 30)"
    expect(delete).to_have_css("color", red)
    commands.claim(context.engine, run_id=first.id, worker="w", lease_seconds=3600)
    expect(delete).to_be_disabled(timeout=PATIENCE)
    expect(delete).not_to_have_css("color", red)

    page.goto(server)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible(timeout=PATIENCE)
    tick(page.get_by_test_id("stDataFrame"), 0)
    expect(page.get_by_text("1 run selected")).to_be_visible(timeout=PATIENCE)
    expect(delete).to_be_enabled()
    expect(delete).to_have_css("color", red)
    commands.claim(context.engine, run_id=second.id, worker="w", lease_seconds=3600)
    expect(delete).to_be_disabled(timeout=PATIENCE)
    assert complaints == []


def test_an_address_without_a_page_says_so_and_leads_on(server: str, page: Page) -> None:
    for path in ("/nope", "/run/nope", "/<b>nope"):
        answer = page.goto(server + path)
        assert answer is not None
        assert answer.status == 404
        expect(page.get_by_role("heading", name=f"There is no page {path}")).to_be_visible()
    page.get_by_role("link", name="Launch").click()
    expect(page.get_by_role("heading", name="Launch")).to_be_visible(timeout=PATIENCE)
    page.goto(f"{server}/runs?q=x")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page).to_have_url(re.compile(r"/\?q=x$"))
