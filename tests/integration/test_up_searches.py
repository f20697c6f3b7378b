"""`ganboard up` drives a search whose runs a real worker trains, also when its driver is killed."""

from __future__ import annotations

import pytest

from ganboard.db.runs import queries
from ganboard.db.searches import searches, trials
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.processes import below
from tests.unit.worker.searches.conftest import start
from tests.up import ganboard_up

DRIVER = "ganboard.worker.searches.driver"


@pytest.mark.thorough
@pytest.mark.slow
def test_up_drives_a_search_to_its_end(context: Context) -> None:
    with ganboard_up(context.settings.state, "--no-starter") as up:
        assert below(up.process, DRIVER) == []
        search = start(context, epochs=2, sampler="tpe", pruner="halving", runs=2)
        wait_until(lambda: queries.count_runs(context.engine) == 1, seconds=90)
        (first,) = below(up.process, DRIVER)
        first.kill()
        wait_until(lambda: not searches.running(context.engine), seconds=300)
    found = trials.of_search(context.engine, search.id, "fid")
    states = [trial.run.shown_status for trial in found if trial.run]
    assert states[0] == "finished"
    assert states[1] in ("finished", "pruned")
    assert all(trial.evaluations for trial in found)
    assert queries.count_runs(context.engine) == 2
