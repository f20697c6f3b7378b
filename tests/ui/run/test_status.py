"""The head of a run's page: warnings, errors, and progress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest

from ganboard.app.run import status
from ganboard.db.models import Run
from ganboard.db.runs import commands, expiry, reports
from ganboard.worker import formatting as text
from ganboard.worker.context import Context
from tests.attempt import own
from tests.factories import make_worker
from tests.ui.pages import open_page, words

MakeRun = Callable[..., Run]


def alert(at: AppTest) -> str:
    return next(
        element.value
        for element in at.markdown
        if element.value.startswith((":red[", ":orange[", ":gray["))
    )


def test_trouble_stands_at_the_head(context: Context, make_run: MakeRun) -> None:
    run = make_run("trouble", status="running", epochs=1)
    assert alert(open_page("run", run=run.id)) == ":gray[:material/check: No warnings]"
    reports.add_event(
        context.engine, **own(run), level="warning", text="D dominates: **lower** its rate."
    )
    said = alert(open_page("run", run=run.id, view="Config"))
    assert said == f":orange[:material/warning: {text.escape('D dominates: **lower** its rate.')}]"
    reports.add_event(
        context.engine, **own(run), level="error", text="Step 5 was not finite: rates are halved."
    )
    said = alert(open_page("run", run=run.id))
    assert said.startswith(":red[:material/error: Step 5 was not finite")
    assert said.endswith(" · 2 warnings, see Events")
    broken = np.array([np.nan], np.float32)
    reports.append_steps(
        context.engine, **own(run), epoch=2, first=0, g_losses=broken, d_losses=broken
    )
    assert "the loss of the generator and of the discriminator is no longer finite" in alert(
        open_page("run", run=run.id)
    )
    assert "No warnings" not in words(open_page("run", run=make_run("broke", status="failed").id))


def test_no_warnings_is_not_said_above_a_warning(context: Context, make_run: MakeRun) -> None:
    run = make_run("taken over", status="running", epochs=1)
    expiry.died(context.engine, **own(run), cause="The trainer was killed")
    make_worker(context)
    said = words(open_page("run", run=run.id))
    assert "The trainer was killed" in said
    claim = commands.claim(context.engine, run_id=run.id, worker="testbox-1", lease_seconds=3600)
    assert claim is not None
    said = words(open_page("run", run=run.id))
    assert "1 warning before this attempt, see Events" in said
    assert "No warnings" not in said


def test_no_warnings_is_not_said_beside_what_is_wrong(context: Context, make_run: MakeRun) -> None:
    run = make_run("waits", status="queued")
    said = words(open_page("run", run=run.id))
    assert "no worker is running" in said
    assert "No warnings" not in said
    make_worker(context)
    assert "No warnings" in words(open_page("run", run=run.id))


def test_progress_without_a_measured_speed_promises_nothing(make_run: MakeRun) -> None:
    assert status.progress(make_run("new", status="running", epochs=0)).seconds_left is None
