"""Which model the playground opens on without an address, and that it says why."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db import versions
from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.ui.pages import open_page, words
from tests.versions import add_version

MakeRun = Callable[..., Run]


def test_the_best_evaluated_run_is_opened_and_said_why(context: Context, make_run: MakeRun) -> None:
    best = make_run("best", quality_every=1, epochs=6)
    make_run("worse", quality_every=1, epochs=3)
    make_run("others", quality_every=1, epochs=9, quality_images=500)  # fewer were measured so
    make_run("noise")
    at = open_page("playground")
    assert at.selectbox(key="playground_run").value == best.id
    assert (
        "Opened for the best FID (classifier), 8.67 after epoch 6, of 2 runs on digits evaluated"
        " alike at a stored checkpoint." in words(at)
    )
    assert "Opened" not in words(open_page("playground", run=best.id))


def test_an_alias_goes_first(context: Context, make_run: MakeRun) -> None:
    make_run("good", quality_every=1, epochs=6)
    named = make_run("named")
    version = add_version(context, run_id=named.id)
    versions.alias(context.engine, version, "best")
    at = open_page("playground")
    assert at.selectbox(key="playground_run").value == named.id
    assert "digits:1 has the alias best" in words(at)


def test_without_any_evaluation_the_newest_finished_run_is_opened(
    context: Context, make_run: MakeRun
) -> None:
    done = make_run("done")
    make_run("half", status="running")
    at = open_page("playground")
    assert at.selectbox(key="playground_run").value == done.id
    assert "no run was evaluated at a stored checkpoint" in words(at)
