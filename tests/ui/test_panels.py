"""Panels that a person defines, on the page of a run and in the comparison."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.app import auth
from ganboard.app.panels import dragging, editor
from ganboard.db.models import Run
from ganboard.db.runs import boards
from ganboard.worker.context import Context
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.errors import BadPanel
from tests.scripts import script_run
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import figures, numbers

MakeRun = Callable[..., Run]
BALANCE = {"y": "d_loss / g_loss", "title": "Balance", "width": "full"}
FID = {"y": "fid", "x": "seconds", "pinned": True}


def board(at: AppTest) -> list[dict[str, object]]:
    """The panels in the address."""
    text = at.query_params["panels"]
    found: list[dict[str, object]] = json.loads(text if isinstance(text, str) else text[0])
    return found


def test_panels_of_the_address_are_drawn(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=3, quality_every=1)
    at = open_page("run", run=run.id, view="Panels", panels=json.dumps([BALANCE, FID]))
    fid, balance = figures(at)
    assert numbers(fid["data"][0]["x"]) == [2, 4, 6]
    assert fid["layout"]["xaxis"]["title"]["text"] == "Training time (s)"
    assert len(numbers(balance["data"][0]["y"])) == 12
    assert "**Balance**" in words(at)
    assert "d_loss / g_loss over step." in words(at)
    # the pinned one is on the first tab too, below the losses
    first = figures(open_page("run", run=run.id, panels=json.dumps([BALANCE, FID])))
    assert len(first) == 3
    assert first[2]["data"] == fid["data"]


def test_several_curves_are_drawn_in_one_chart(make_run: MakeRun) -> None:
    one, two = (make_run(f"run {seed}", epochs=2, seed=seed) for seed in (1, 2))
    panels = json.dumps([{"y": ["g_loss", "d_loss_mean", "fidd"], "title": "Losses"}])
    at = open_page("run", run=one.id, view="Panels", panels=panels)
    (losses,) = figures(at)
    assert [trace["name"] for trace in losses["data"]] == ["g_loss", "d_loss_mean"]
    assert "g_loss, d_loss_mean, fidd over step." in words(at)
    assert "d_loss_mean: Mean discriminator loss of the epoch." in words(at)
    assert "fidd: There is no metric 'fidd'." in words(at)
    at = open_page("compare", runs=f"{one.id},{two.id}", part="Panels", panels=panels)
    (losses,) = figures(at)
    listed = [trace["name"] for trace in losses["data"] if trace.get("showlegend", True)]
    assert listed == ["run 1", "run 2", "g_loss", "d_loss_mean"]
    at = open_page(
        "compare",
        runs=f"{one.id},{two.id}",
        part="Panels",
        panels=panels,
        group="everything but the seed",
    )
    (means,) = figures(at)
    listed = [trace["name"] for trace in means["data"] if trace.get("showlegend", True)]
    assert listed[0].endswith("(2 runs)")
    assert listed[1:] == ["g_loss", "d_loss_mean"]


@pytest.mark.parametrize(
    ("panels", "said"),
    [
        ("nonsense", "are not a list such as"),
        ("x" * 9999, "have 9,999 characters; the limit is 4,000"),
        ('[{"y":"g_loss.__class__"}]', "Panel 1: 'g_loss.class' is not allowed"),
        ('[{"y":"g_loss","title":"' + "y" * 99 + '"}]', "it must have at most 80 characters"),
    ],
)
@pytest.mark.parametrize("page", ["run", "compare"])
def test_a_forged_address_is_explained(
    make_run: MakeRun, page: str, panels: str, said: str
) -> None:
    runs = [make_run(name, epochs=1).id for name in "ab"]
    asked = {"run": runs[0], "view": "Panels"} if page == "run" else {"runs": ",".join(runs)}
    at = open_page(page, **asked, part="Panels", panels=panels)
    assert said in words(at).replace("__", "")
    checked(button(at, "Start with an empty board").click().run())
    assert "No panels yet." in words(at)
    if page == "run":
        assert len(figures(open_page("run", run=runs[0], panels=panels))) == 2


def test_a_panel_is_added_changed_pinned_moved_and_removed(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=2)
    at = open_page("run", run=run.id, view="Panels")
    button(at, "Add examples").click()
    checked(at.run())
    before = board(at)
    assert [panel["y"] for panel in before] == [
        "d_loss / g_loss",
        "d_real - d_fake",
        "images_per_second",
        "g_y",
    ]
    assert len(figures(at)) == 4
    menu = at.menu_button
    assert len(menu) == 4
    menu[2].click("Pin")
    assert board(checked(at.run()))[0]["y"] == "images_per_second"
    at.menu_button[3].click("Move up")
    assert [panel["y"] for panel in board(checked(at.run()))][2:] == ["g_y", "d_real - d_fake"]
    at.menu_button[0].click("Remove")
    assert len(board(checked(at.run()))) == 3
    at.menu_button[0].click("Full screen")
    assert len(figures(checked(at.run()))) == 4


def test_a_panel_that_was_dragged_takes_the_place_of_another(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run("mine", epochs=1)
    dropped = iter([(0, 2)])
    monkeypatch.setattr(dragging, "listen", lambda count: next(dropped, None))
    panels = [{"y": name} for name in ("g_loss", "d_loss", "g_rate")]
    at = open_page("run", run=run.id, view="Panels", panels=json.dumps(panels))
    assert board(at) == [*panels[1:], panels[0]]


def panel_dialog() -> None:
    """The dialog alone: the harness has no fragments, and runs a whole script at each click."""
    import streamlit as st

    from ganboard.app import navigation
    from ganboard.app.panels import boards, editor
    from ganboard.db.runs import queries

    engine = navigation.context().engine
    runs = [run.id for run in queries.list_runs(engine)]
    editor.edit(engine, runs, boards.current(engine), st.session_state.get("place"))


def boards_dialog() -> None:
    from ganboard.app import navigation
    from ganboard.app.panels import boards

    engine = navigation.context().engine
    boards.manage(engine, boards.current(engine))


def test_the_dialog_of_a_panel_adds_and_changes_it(make_run: MakeRun) -> None:
    make_run("mine", epochs=1)
    at = checked(AppTest.from_function(panel_dialog, default_timeout=30).run())
    listed = at.dataframe[0].value.set_index("Metric")
    assert listed.loc["g_rate", "Stored"] == "every step"
    assert listed.loc["step", "Meaning"] == "Steps since the start"
    checked(button(at, "Save").click().run())
    assert "The expression is empty. Enter a metric such as g_loss." in words(at)
    at.text_input(key="panel_y_new").set_value("ema(gloss, 0.9)")
    checked(button(at, "Save").click().run())
    assert "There is no metric 'gloss'. Did you mean g_loss" in words(at)
    at.text_input(key="panel_y_new").set_value("1000 * ")
    checked(at.run())
    at.selectbox(key="panel_insert_new").set_value("step_p95")
    checked(at.run())
    at.text_input(key="panel_title_new").set_value("Slow steps")
    at.toggle(key="panel_log_y_new").set_value(True)
    checked(button(at, "Save").click().run())
    assert board(at) == [{"y": "1000 * step_p95", "title": "Slow steps", "log_y": True}]
    at = AppTest.from_function(panel_dialog, default_timeout=30)
    at.query_params["panels"] = json.dumps([BALANCE, FID])
    at.session_state["place"] = 1
    checked(at.run())
    assert at.text_input(key="panel_title_1").value == "Balance"
    at.selectbox(key="panel_x_1").set_value("epoch")
    checked(button(at, "Save").click().run())
    assert board(at) == [FID, {**BALANCE, "x": "epoch"}]


def test_the_dialog_adds_and_removes_curves(make_run: MakeRun) -> None:
    make_run("mine", epochs=1)
    at = AppTest.from_function(panel_dialog, default_timeout=30)
    at.query_params["panels"] = json.dumps([{"y": ["g_loss", "d_loss"]}])
    at.session_state["place"] = 0
    checked(at.run())
    assert at.text_input(key="panel_y_0_1").value == "d_loss"
    checked(button(at, "Add a curve").click().run())
    at.selectbox(key="panel_insert_0").set_value("d_real")
    checked(at.run())
    at.text_input(key="panel_y_0").set_value("")
    checked(button(at, "Save").click().run())
    assert board(at) == [{"y": ["d_loss", "d_real"]}]


def test_a_typed_name_that_is_not_stored_is_refused() -> None:
    with pytest.raises(BadPanel, match="Did you mean g_loss"):
        editor.refuse_unknown(Panel(y="fid", x="ema(gloss, 0.9)"), ["fid", "g_loss"])


def test_a_metric_that_is_not_stored_is_said_where_it_would_be(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    at = open_page("run", run=run.id, view="Panels", panels='[{"y":"fidd"},{"y":"g_loss"}]')
    assert len(figures(at)) == 1
    assert "There is no metric 'fidd'." in words(at)


def test_compared_runs_share_the_panels(context: Context, make_run: MakeRun) -> None:
    one = make_run("one", epochs=2, quality_every=1)
    two = make_run("two", epochs=2, quality_every=1, seed=1)
    script = script_run(context)
    ids = ",".join([one.id, two.id, script.id])
    asked = [{"y": "fid", "x": "epoch"}, {"y": "psnr"}, {"y": "d_loss/g_loss"}, {"y": "nothing"}]
    at = open_page("compare", runs=ids, part="Panels", panels=json.dumps(asked))
    fid, psnr, balance = figures(at)
    assert [trace["name"] for trace in fid["data"]] == ["one", "two"]
    assert [trace["name"] for trace in psnr["data"]] == ["mine"]
    assert len(balance["data"]) == 3
    assert "Not stored for “mine”." in words(at)
    assert "There is no metric 'nothing'." in words(at)
    grouped = open_page(
        "compare",
        runs=ids,
        part="Panels",
        panels=json.dumps([*asked[:1], {"y": "fid", "x": "g_loss"}]),
        group="everything but the seed",
    )
    (means, single) = figures(grouped)
    assert means["data"][2]["name"].endswith("(2 runs)")
    assert len(single["data"]) == 2
    assert "Runs have no mean over this x axis" in words(grouped)


def test_boards_are_saved_opened_and_deleted(context: Context, make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    at = AppTest.from_function(boards_dialog, default_timeout=30)
    at.query_params["panels"] = json.dumps([BALANCE])
    checked(at.run())
    assert "No saved boards yet." in words(at)
    for name, said in (("Daily", ""), ("Daily", "A board named 'Daily' already exists.")):
        at.text_input(key="board_name").set_value(name)
        checked(button(at, "Save").click().run())
        assert said in words(at)
    (saved,) = boards.of_owner(context.engine, "")
    assert (saved.owner, saved.name, saved.panels) == ("", "Daily", [BALANCE])
    # another visit without an address has the board that was saved last
    other = open_page("run", run=run.id, view="Panels")
    assert board(other) == [BALANCE]
    at.query_params["panels"] = json.dumps([FID])
    checked(button(checked(at.run()), "Open").click().run())
    assert board(at) == [BALANCE]
    checked(button(at, "Delete").click().run())
    assert boards.of_owner(context.engine, "") == []


def test_whoever_signs_in_has_boards_of_their_own(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run("mine", epochs=1)
    for owner, panel in (("a@x.org", BALANCE), ("b@x.org", FID)):
        boards.save(context.engine, owner=owner, name="same name", panels=[panel])
    for owner, panel in (("a@x.org", BALANCE), ("b@x.org", FID)):
        monkeypatch.setattr(auth, "email", lambda owner=owner: owner)
        assert board(open_page("run", run=run.id, view="Panels")) == [panel]
