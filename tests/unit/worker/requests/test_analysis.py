"""The analysis worker: a real surface of a real run, errors in one sentence, and a request that was
withdrawn."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.db.requests import PREDICTION, SURFACE
from ganboard.db.runs import commands, queries
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.requests import analysis, loop
from tests.cli import document, refused
from tests.polling import wait_until
from tests.streets import SETTINGS, make_street

MakeRun = Callable[..., Run]
OPTIONS = SurfaceRequest(size=5, images=16).model_dump()


def claimed(context: Context, run: Run, options: dict[str, object], kind: str = SURFACE) -> Request:
    asked = requests.ask(context.engine, kind, [run.id], options)
    request = requests.claim(context.engine, requests.ANALYSES, asked)
    assert request is not None
    return request


def found(context: Context, request: Request) -> Request:
    stored = requests.find(context.engine, request.id)
    assert stored is not None
    return stored


def answered(
    context: Context, run: Run, options: dict[str, object], kind: str = SURFACE
) -> Request:
    request = claimed(context, run, options, kind)
    loop.answer(context, request, analysis.compute)
    stored = found(context, request)
    assert stored.answered_at is not None
    return stored


def test_errors_are_sentences(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    assert "kept no snapshots of its weights. Train a clone with snapshots=10" in (
        answered(context, run, OPTIONS).error or ""
    )
    assert "size=99 is invalid" in (answered(context, run, {**OPTIONS, "size": 99}).error or "")

    def broken(*_: object) -> None:
        raise RuntimeError("the roof is on fire\nsecond line")

    monkeypatch.setattr(analysis, "_compute_surface", broken)
    error = answered(context, run, {**OPTIONS, "size": 7}).error or ""
    assert "failed with RuntimeError: the roof is on fire." in error
    assert "second line" not in error


def test_one_that_killed_two_processes_is_given_up(context: Context, make_run: MakeRun) -> None:
    request = claimed(context, make_run(), OPTIONS)
    request.tries = requests.MAX_TRIES + 1
    loop.answer(context, request, analysis.compute)
    error = found(context, request).error or ""
    assert "ended 2 times" in error


def test_a_withdrawn_request_is_dropped(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()

    def meanwhile(_: object, __: object, on_progress: Callable[[str, float], None]) -> None:
        commands.delete_run(context.engine, run_id=run.id)
        on_progress("computing", 0.5)

    monkeypatch.setattr(analysis, "_compute_surface", meanwhile)
    with pytest.raises(loop.Withdrawn):
        loop.answer(context, claimed(context, run, OPTIONS), analysis.compute)


def test_a_prediction_is_computed_or_refused_in_a_sentence(
    context: Context, make_run: MakeRun
) -> None:
    run = make_street(context, make_run)
    found = answered(context, run, {"steps": 3, "halo": 0, "group": 1}, PREDICTION)
    assert (found.error, found.progress, found.phase) == (None, 1.0, "predicting")
    assert [(flow["kind"], len(flow["l1"])) for flow in found.facts["flows"]] == [
        ("training", 3),
        ("held-out shape", 3),
    ]
    assert (found.facts["step"], found.facts["group"], found.facts["seconds"] > 0) == (12, 1, True)
    assert found.result is not None
    assert found.result.startswith(b"\x89PNG")
    refused = answered(context, run, {"steps": 3, "halo": 8}, PREDICTION)
    assert (
        refused.error
        == "A network of 64x64 pixels with halo=8 does not tile a frame of 64x64: choose a halo of"
        " 0 or 16."
    )
    assert "has model=dcgan, which offers no prediction" in (
        answered(context, make_run("digits"), {"steps": 3}, PREDICTION).error or ""
    )
    bare = make_run("no checkpoint", **SETTINGS)
    assert "has no checkpoint on this machine" in (
        answered(context, bare, {"steps": 1}, PREDICTION).error or ""
    )


def test_what_reports_nothing_for_long_still_lives(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = claimed(context, make_run(), OPTIONS)

    def silent(*_: object) -> tuple[bytes, dict[str, object]]:
        before = found(context, request).heartbeat_at
        wait_until(
            lambda: found(context, request).heartbeat_at != before, seconds=10, what="a heartbeat"
        )
        return b"", {}

    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", 0.05)
    loop.answer(context, request, silent)
    assert found(context, request).answered_at is not None


@pytest.mark.slow
@pytest.mark.thorough
def test_the_command_computes_the_surface_of_a_trained_run(context: Context) -> None:
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
    reported = document(
        "surface", trained["id"], "--size", "5", "--images", "16", "--plane", "random"
    )
    assert len(reported["g.surface"]) == 5
    assert [row[1] for row in reported["d.path"]] == [0, 1, 2, 3]
    assert refused("surface", trained["id"], "--size", "4").startswith(
        "ganboard: size=4 is invalid"
    )


@pytest.mark.thorough
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
