"""`ganboard up` goes on with claims once there is an open one, also after a kill."""

from __future__ import annotations

import pytest

from ganboard.db import heartbeats
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.processes import below
from tests.unit.worker.claims.pairs import stated, train, waiting
from tests.up import ganboard_up

RUNNER = "ganboard.worker.claims.runner"


@pytest.mark.thorough
@pytest.mark.slow
def test_up_starts_a_process_of_claims_with_the_first_one(context: Context) -> None:
    with ganboard_up(context.settings.state, "--no-starter", "--workers", "0") as up:
        assert below(up.process, RUNNER) == []
        claim = stated(context)
        wait_until(lambda: heartbeats.claim_runners(context.engine), seconds=60)
        wait_until(lambda: waiting(context), seconds=20)
        (first,) = below(up.process, RUNNER)
        first.kill()
        train(context, waiting(context)[0], 1.0)
        wait_until(lambda: waiting(context), seconds=60, what="the treatment, by another process")
        assert [one.pid for one in below(up.process, RUNNER)] != [first.pid]
    assert len(queries.sweep_runs(context.engine, claim.id)) == 2
