"""Panels that a person defines, on the page of a run and in the comparison."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import boards
from ganboard.worker.context import Context
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
    button(at, "Add a panel").click()
    checked(at.run())
    at.selectbox(key="panel_y").set_value("ema(gloss, 0.9)")
    button(at, "Save").click()
    checked(at.run())
    assert "There is no metric 'gloss'. Did you mean g_loss" in words(at)
    at.selectbox(key="panel_y").set_value("ema(g_loss, 0.9)")
    at.text_input(key="panel_title").set_value("Smooth")
    button(at, "Save").click()
    checked(at.run())
    after = board(at)
    assert after[:4] == before
    assert after[4] == {"y": "ema(g_loss, 0.9)", "title": "Smooth"}


def test_a_metric_that_is_not_stored_is_said_where_it_would_be(make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    at = open_page("run", run=run.id, view="Panels", panels='[{"y":"fidd"},{"y":"g_loss"}]')
    assert len(figures(at)) == 1
    assert "There is no metric 'fidd'." in words(at)


def test_compared_runs_share_the_panels(context: Context, make_run: MakeRun) -> None:
    one = make_run("one", epochs=2, quality_every=1)
    two = make_run("two", epochs=3, quality_every=1, seed=1)
    script = script_run(context)
    ids = ",".join([one.id, two.id, script.id])
    asked = [{"y": "fid", "x": "epoch"}, {"y": "psnr"}, {"y": "d_loss/g_loss"}, {"y": "nothing"}]
    at = open_page("compare", runs=ids, part="Panels", panels=json.dumps(asked))
    fid, psnr, balance = figures(at)
    assert [trace["name"] for trace in fid["data"]] == ["one", "two"]
    assert [trace["name"] for trace in psnr["data"]] == ["mine"]
    assert len(balance["data"]) == 3
    assert "Not stored of “mine”." in words(at)
    assert "There is no metric 'nothing'." in words(at)
    grouped = open_page(
        "compare",
        runs=ids,
        part="Panels",
        panels=json.dumps(asked[:1] + [{"y": "fid", "x": "g_loss"}]),
        group="everything but the seed",
    )
    (means, single) = figures(grouped)
    assert means["data"][2]["name"].endswith("(2 runs)")
    assert len(single["data"]) == 2
    assert "Runs have no mean over this x axis" in words(grouped)


def test_boards_are_saved_opened_and_deleted(context: Context, make_run: MakeRun) -> None:
    run = make_run("mine", epochs=1)
    at = open_page("run", run=run.id, view="Panels", panels=json.dumps([BALANCE]))
    button(at, "Boards").click()
    checked(at.run())
    at.text_input[-1].set_value("Daily")
    button(at, "Save").click()
    checked(at.run())
    (saved,) = boards.of_owner(context.engine, "")
    assert (saved.owner, saved.name, saved.panels) == ("", "Daily", [BALANCE])
    # another visit without an address has the board that was saved last
    at = open_page("run", run=run.id, view="Panels")
    assert board(at) == [BALANCE]
    assert len(figures(at)) == 1
