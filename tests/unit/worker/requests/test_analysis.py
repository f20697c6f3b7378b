"""The surveyor: a real surface of a real run, errors in one sentence, and a request that was
withdrawn."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from ganboard.db import surfaces
from ganboard.db.models import Run, Surface
from ganboard.db.runs import commands, queries
from ganboard.gan.landscape.geometry import Wish
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.requests import analysis
from tests.cli import document, refused
from tests.polling import wait_until
from tests.streets import SETTINGS, make_street

MakeRun = Callable[..., Run]
WISH = Wish(size=5, images=16).model_dump()


def answered(context: Context, run: Run, wish: dict[str, object]) -> Surface:
    asked = surfaces.ask(context.engine, [run.id], wish)
    claimed = surfaces.claim(context.engine, asked)
    assert claimed is not None
    analysis.survey(context, claimed)
    found = surfaces.find(context.engine, asked)
    assert found is not None
    assert found.answered_at is not None
    return found


def test_errors_are_sentences(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    assert "kept no weights: train with snapshots=10" in (answered(context, run, WISH).error or "")
    assert "size=99 makes no surface" in (answered(context, run, {**WISH, "size": 99}).error or "")

    def broken(*_: object) -> None:
        raise RuntimeError("the roof is on fire\nsecond line")

    monkeypatch.setattr(analysis, "_compute", broken)
    error = answered(context, run, {**WISH, "size": 7}).error or ""
    assert (
        error
        == "Computing it failed with RuntimeError: the roof is on fire The painter's log has the"
        " details."
    )


def test_one_that_killed_two_surveyors_is_given_up(context: Context, make_run: MakeRun) -> None:
    asked = surfaces.ask(context.engine, [make_run().id], WISH)
    claimed = surfaces.claim(context.engine, asked)
    assert claimed is not None
    claimed.tries = surfaces.MAX_TRIES + 1
    with context.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE surface SET tries = {claimed.tries}")
    analysis.survey(context, claimed)
    found = surfaces.find(context.engine, asked)
    assert found is not None
    assert found.error == "Computing it ended 2 times: the painter's log may say why."


def test_a_withdrawn_request_is_dropped(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    surfaces.ask(context.engine, [run.id], WISH)
    claimed = surfaces.claim(context.engine)
    assert claimed is not None

    def meanwhile(_: object, __: object, told: Callable[[str, float], None]) -> None:
        commands.delete_run(context.engine, run_id=run.id)
        told("computing", 0.5)

    monkeypatch.setattr(analysis, "_compute", meanwhile)
    with pytest.raises(analysis.Withdrawn):
        analysis.survey(context, claimed)


def test_a_prediction_is_computed_or_refused_in_a_sentence(
    context: Context, make_run: MakeRun
) -> None:
    run = make_street(context, make_run)
    found = answered(context, run, {surfaces.PREDICTION: {"steps": 3, "halo": 0, "group": 1}})
    assert (found.error, found.done, found.phase) == (None, 1.0, "predicting")
    assert [(flow["kind"], len(flow["l1"])) for flow in found.facts["flows"]] == [
        ("training", 3),
        ("held-out shape", 3),
    ]
    assert (found.facts["step"], found.facts["group"], found.facts["seconds"] > 0) == (12, 1, True)
    assert surfaces.unpack(found)["png"].tobytes().startswith(b"\x89PNG")
    refused = answered(context, run, {surfaces.PREDICTION: {"steps": 3, "halo": 8}})
    assert (
        refused.error
        == "A network of 64x64 pixels with halo=8 does not tile a frame of 64x64: choose a halo of"
        " 0 or 16."
    )
    bare = make_run("no checkpoint", **SETTINGS)
    assert "has no checkpoint on this machine" in (
        answered(context, bare, {surfaces.PREDICTION: {"steps": 1}}).error or ""
    )


def test_what_says_nothing_for_long_still_lives(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = surfaces.ask(context.engine, [make_run().id], WISH)
    claimed = surfaces.claim(context.engine, asked)
    assert claimed is not None

    def beaten() -> object:
        found = surfaces.find(context.engine, asked)
        assert found is not None
        return found.beat_at

    def silent(*_: object) -> tuple[dict[str, object], dict[str, object]]:
        before = beaten()
        wait_until(lambda: beaten() != before, seconds=10, what="a beat")
        return {}, {}

    monkeypatch.setattr(analysis, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(analysis, "_compute", silent)
    analysis.survey(context, claimed)
    found = surfaces.find(context.engine, asked)
    assert found is not None
    assert found.answered_at is not None


@pytest.mark.slow
@pytest.mark.thorough
def test_a_run_is_trained_and_its_surface_computed(context: Context) -> None:
    trained = document(
        "train",
        "--preset",
        "tiny",
        "--set",
        "epochs=3",
        "--set",
        "limit=32",
        "--set",
        "batch_size=16",
    )
    surfaces.ask(context.engine, [trained["id"]], WISH)
    surveyors = analysis.Surveyors(context)
    surveyors.tend()  # as the painter does
    wait_until(
        lambda: surfaces.of_runs(context.engine, [trained["id"]])[0].answered_at is not None,
        seconds=120,
        what="the surface",
    )
    assert surveyors._process is not None
    assert surveyors._process.wait() == 0
    [found] = surfaces.of_runs(context.engine, [trained["id"]])
    assert found.error is None
    assert set(surfaces.unpack(found)) == {
        f"{net}.{part}" for net in "gd" for part in ("x", "y", "surface", "path")
    }
    told = document("surface", trained["id"], "--size", "5", "--images", "16", "--plane", "random")
    assert len(told["g.surface"]) == 5
    assert [row[1] for row in told["d.path"]] == [0, 1, 2, 3]
    assert refused("surface", trained["id"], "--size", "4").startswith(
        "ganboard: size=4 makes no surface"
    )


def test_without_requests_the_process_ends(context: Context) -> None:
    environment = {**environment_for_child(), "GANBOARD_HOME": os.environ["GANBOARD_HOME"]}
    ended = subprocess.run(
        [sys.executable, "-m", "ganboard.worker.requests.analysis"],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, queries.list_runs(context.engine)) == (0, [])
