"""The playground's page: what it asks for, and what it says meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db import requests
from ganboard.db.engine import writing
from ganboard.db.models import Request, Run
from ganboard.db.runs import checkpoint_reports, commands
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES, lose_model
from tests.ui.pages import button, checked, open_page, words
from tests.ui.playground.answers import asked, choose, reply, sheets, worker_alive

MakeRun = Callable[..., Run]


def test_without_any_checkpoint_it_says_what_is_needed(context: Context, make_run: MakeRun) -> None:
    at = open_page("playground")
    assert "It needs a run with a checkpoint" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Launch a run"]
    run = make_run("young", status="running", epochs=0)
    at = open_page("playground", run=run.id)
    assert (
        "young has no checkpoint yet. The first one is saved after an epoch or five minutes."
        in words(at)
    )
    assert requests.claim(context.engine, requests.IMAGES) is None


@pytest.mark.parametrize("run", ["nosuchrun", "../etc", "x" * 999, "' OR 1=1"])
def test_an_unknown_run_leads_on(context: Context, make_run: MakeRun, run: str) -> None:
    make_run("other")
    at = open_page("playground", run=run)
    assert "There is no run with this id" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Use the best run"]
    assert requests.claim(context.engine, requests.IMAGES) is None


def test_it_draws_at_once_and_shows_the_answer(context: Context, make_run: MakeRun) -> None:
    make_run("older")
    run = make_run("newest")
    worker_alive(context)
    at = open_page("playground")
    assert "Waiting for the inference worker" in words(at)
    assert not sheets(at)
    at, request = reply(context, at)
    assert (request.run_id, request.step, request.kind) == (run.id, 12, "draw")
    assert request.options == {"seed": 0, "psi": 1.0, "images": 16}
    assert "16 images in 40 ms, answered after" in words(at)
    [sheet] = sheets(at)
    assert (sheet["columns"], sheet["rows"], sheet["picked"], sheet["pickable"]) == (4, 4, [], True)
    assert sheet["labels"][1] == "Image 2 of seed 0"
    checked(at.run())
    assert (
        requests.claim(context.engine, requests.IMAGES) is None
    )  # drawing the page again asks nothing


def test_a_class_is_chosen_for_a_model_with_labels(context: Context, make_run: MakeRun) -> None:
    make_run(model="cdcgan", classes=3)
    worker_alive(context)
    at, request = reply(context, open_page("playground"))
    assert "label" not in request.options
    chooser = at.selectbox(key="class")
    assert chooser.options == ["All, one after the other", "0", "1", "2"]
    assert "Nearest" in [tab.label for tab in at.tabs]
    at, request = reply(context, choose(at, "class", "2"))
    assert request.options["label"] == 2


def test_a_model_that_is_not_here_draws_nothing(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    lose_model(context, run)
    at = open_page("playground", run=run.id)
    assert "model=gone of this run is not here" in words(at)
    assert requests.claim(context.engine, requests.IMAGES) is None


def test_phases_and_a_missing_worker_are_named(context: Context, make_run: MakeRun) -> None:
    make_run()
    at = open_page("playground")
    assert "No inference worker is running. Start one with `ganboard inference-worker`" in words(at)
    worker_alive(context)
    request = asked(context)
    for phase, sentence in (
        ("warming", "Warming up: the inference worker is loading TensorFlow"),
        ("restoring", "Loading the generator"),
        ("newer", "Drawing"),
    ):
        requests.heartbeat(context.engine, request, phase, 0.0)
        assert sentence in words(checked(at.run()))


def test_the_picture_stays_until_the_next_one_is_here(context: Context, make_run: MakeRun) -> None:
    make_run()
    worker_alive(context)
    at, _ = reply(context, open_page("playground"))
    at = choose(at, "seed", 7)
    [sheet] = sheets(at)
    assert sheet["labels"][0] == "Image 1 of seed 0"
    assert "Waiting for the inference worker" in words(at)
    at, request = reply(context, at)
    assert request.options["seed"] == 7
    assert sheets(at)[0]["labels"][0] == "Image 1 of seed 7"


def test_only_the_newest_request_waits(context: Context, make_run: MakeRun) -> None:
    make_run()
    at = open_page("playground")
    for seed in (1, 2, 3):
        at = choose(at, "seed", seed)
    assert asked(context).options["seed"] == 3


def test_an_error_is_a_sentence_and_can_be_tried_again(context: Context, make_run: MakeRun) -> None:
    make_run()
    at = open_page("playground")
    requests.answer(
        context.engine,
        asked(context),
        error="The checkpoint of step 12 no longer exists. Choose another epoch.",
    )
    at.run()
    assert "The checkpoint of step 12 no longer exists" in words(checked(at))
    button(at, "Try again").click()
    at, _ = reply(context, checked(at.run()))
    assert len(sheets(at)) == 1


def test_address_chooses_run_step_seed_and_picks(context: Context, make_run: MakeRun) -> None:
    run = make_run("with two", status="running", epochs=2)
    checkpoint_reports.add_checkpoint(
        context.engine, run_id=run.id, attempt=1, step=6, epoch=1, digest="0", size=1, keep=9
    )
    make_run("newest")
    at = open_page(
        "playground", run=run.id, step="6", seed="42", psi="0.5", picked="3,1", images="36"
    )
    assert at.get_by_key("playground_step").options == ["2", "1, at step 6"]
    at, request = reply(context, at, columns=6, rows=6)
    assert (request.run_id, request.step) == (run.id, 6)
    assert request.options == {"seed": 42, "psi": 0.5, "images": 36}
    assert sheets(at)[0]["picked"] == [3, 1]
    at = choose(at, "playground_step", 8)
    assert at.query_params["step"] == "8"
    assert asked(context).step == 8


@pytest.mark.parametrize(
    "query",
    [
        {"seed": "-5"}, {"seed": "99999999999999999999"}, {"seed": "x"},
        {"psi": "nan"}, {"psi": "-1"}, {"images": "999999"},
        {"step": "999"}, {"step": "-1"}, {"step": "1e9"}, {"step": "٣"},
        {"picked": "-1,64,9999999,x,٣,,"}, {"do": "Delete"},
    ],
    ids=str,
)  # fmt: skip
def test_forged_addresses_fall_back(
    context: Context, make_run: MakeRun, query: dict[str, str]
) -> None:
    run = make_run()
    at, request = reply(context, open_page("playground", run=run.id, **query))
    assert (request.step, request.options) == (12, {"seed": 0, "psi": 1.0, "images": 16})
    assert sheets(at)[0]["picked"] == []


def test_a_checkpoint_that_is_gone_is_named(make_run: MakeRun) -> None:
    run = make_run()
    sentence = "There is no checkpoint of step 4,000, since the run keeps its 3 newest"
    assert sentence in words(open_page("playground", run=run.id, step="4000"))
    assert "There is no checkpoint" not in words(open_page("playground", run=run.id))


def test_a_run_deleted_while_it_is_drawn(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    at = open_page("playground", run=run.id)
    commands.delete_run(context.engine, run_id=run.id)
    assert "There is no run with this id" in words(checked(at.run()))


def test_an_answer_that_was_forgotten_is_asked_for_again(
    context: Context, make_run: MakeRun
) -> None:
    make_run()
    at, _ = reply(context, open_page("playground"))
    with writing(context.engine) as session:
        for row in session.exec(requests.select(Request)):
            session.delete(row)
    at, _ = reply(context, checked(at.run()))
    assert len(sheets(at)) == 1


def test_too_many_requests_are_refused_in_a_sentence(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    with writing(context.engine) as session:
        session.add_all(
            Request(run_id=run.id, step=1, kind="draw") for _ in range(requests.IMAGES.max_waiting)
        )
    assert "100 requests for images are already waiting. Try again shortly." in words(
        open_page("playground")
    )


def test_hostile_names_are_only_text(context: Context, make_run: MakeRun) -> None:
    for name in HOSTILE_NAMES:
        run = make_run(name, status="running", epochs=0)
        assert name.replace("\\", "")[:20].split()[0] in words(open_page("playground", run=run.id))
    for name in HOSTILE_NAMES:
        make_run(name)
    assert len(open_page("playground").get_by_key("playground_run").options) == len(HOSTILE_NAMES)
