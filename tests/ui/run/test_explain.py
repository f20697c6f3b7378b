"""The tab Explain."""

from __future__ import annotations

from collections.abc import Callable

from sqlmodel import col, update

from ganboard.db.engine import writing
from ganboard.db.models import Metric, Run
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from tests.ui.launch.form import value
from tests.ui.pages import button, open_page, words
from tests.ui.pictures import figures

MakeRun = Callable[..., Run]


def test_a_finding_is_marked_on_the_curves_and_offers_a_clone(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run(
        "collapsed", epochs=8, steps_per_epoch=40, quality_every=1, model="dcgan", beta_1=0.9
    )
    with writing(context.engine) as session:
        late = (col(Metric.name) == "diversity", col(Metric.epoch).in_([6, 7]))
        session.execute(update(Metric).where(*late).values(value=0.1))
    at = open_page("run", run=run.id, view="Explain")
    assert "1. Mode collapse" in words(at)
    assert "epochs 6 to 7" in words(at)
    losses, quality = figures(at)
    for plot in (losses, quality):
        (band,) = plot["layout"]["shapes"]
        assert (band["x0"], band["x1"]) == (6, 7)
    assert button(at, "Clone with beta_1=0.5")
    at = open_page("launch", clone=run.id, set="beta_1=0.5")
    assert value(at, "beta_1") == 0.5
    assert value(at, "epochs") == 8


def test_a_run_without_findings_says_what_was_checked(context: Context, make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("fine").id, view="Explain")
    assert "No problem found" in words(at)
    assert "Checked: Losses of 12 steps" in words(at)
    assert "never evaluated" in words(at)


def test_nothing_is_said_of_a_run_that_waits(context: Context, make_run: MakeRun) -> None:
    at = open_page("run", run=make_run("waiting", status="queued").id, view="Explain")
    assert "has not taken a step" in words(at)


def test_changes_that_cannot_be_used_leave_the_settings_of_the_run(make_run: MakeRun) -> None:
    run = make_run("parent", batch_size=16)
    for wrong in ("batch_size=many", "nonsense=1", "batch_size"):
        at = open_page("launch", clone=run.id, set=wrong)
        assert "The form has the settings of the run" in words(at)
        assert value(at, "batch_size") == parse(run.config).batch_size == 16
