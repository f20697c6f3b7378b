"""Two machines that train one run together: HOMEs of their own, one database, one queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ganboard.db import heartbeats
from ganboard.db.models import ENDED, Run
from ganboard.db.placement import groups
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import machine
from ganboard.worker.submission.submit import submit
from tests.cluster.network import reason
from tests.crash.conftest import FULL, SMALL, hexes
from tests.crash.services.machines import Machine, machines, stored, texts
from tests.crash.services.postgres import binaries, postgres
from tests.polling import wait_until
from tests.processes import below

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's programs are not installed"),
    pytest.mark.skipif(
        reason() is None and not FULL, reason="tests/cluster does this with real networks"
    ),
]

TOGETHER = {**SMALL, "strategy": "multi_worker", "replicas": 2, "hosts": 2}


@pytest.fixture
def fleet(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[tuple[Context, list[Machine]]]:
    """Two machines, neither of them started."""
    with postgres() as server:
        monkeypatch.setenv("GANBOARD_DATABASE_URL", server.url)
        context = open_context()
        store = {"GANBOARD_STORE": f"file://{tmp_path}/store", "GANBOARD_MACHINE_WAIT": "3"}
        with machines(context, tmp_path, "a", "b", **store) as both:
            (tmp_path / "store").mkdir()
            yield context, both
        context.engine.dispose()


def ended(context: Context, run: Run) -> Run:
    wait_until(lambda: stored(context, run).status in ENDED, seconds=400, what="the end")
    return stored(context, run)


def test_a_run_on_two_machines_survives_a_rank_and_then_a_machine(
    fleet: tuple[Context, list[Machine]],
) -> None:
    context, (a, b) = fleet
    run = submit(context, load("tiny", {**TOGETHER, "epochs": 30}), name="disturbed")
    a.start()
    wait_until(
        lambda: any(state.alive for state in heartbeats.workers(context.engine)),
        seconds=60,
        what="a worker of A",
    )
    assert stored(context, run).attempt == 0, "one machine is too few"
    b.start()
    wait_until(lambda: stored(context, run).epoch >= 2, seconds=200, what="epoch 2")
    members = groups.members(context.engine, run.id)
    assert {one.machine for one in members} == {machine.name(one.settings) for one in (a, b)}
    leads = a if members[0].machine == machine.name(a.settings) else b
    follows = b if leads is a else a

    assert follows.worker is not None
    (rank,) = below(psutil.Process(follows.worker.pid), "ganboard.worker.training.trainer")
    rank.kill()
    wait_until(lambda: stored(context, run).attempt == 2, seconds=60, what="another attempt")
    assert any(
        "Rank 1 of 2 trainer processes was killed by SIGKILL" in one for one in texts(context, run)
    ), texts(context, run)
    before = stored(context, run).epoch
    wait_until(lambda: stored(context, run).epoch >= before + 2, seconds=200, what="more epochs")

    lost = next(one for one in (a, b) if machine.name(one.settings) == members[0].machine)
    lost.kill()
    wait_until(lambda: stored(context, run).status not in ("starting", "running"), seconds=60)
    lost.start()
    disturbed = ended(context, run)
    assert disturbed.status == "finished", texts(context, run)
    whole = submit(context, load("tiny", {**TOGETHER, "epochs": 30}), name="undisturbed")
    undisturbed = ended(context, whole)
    assert undisturbed.status == "finished", texts(context, whole)
    assert hexes(context, disturbed) == hexes(context, undisturbed)
