"""Two machines with one database, one queue and one store: what one of them loses, another goes on
with, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.db.models import ENDED
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import open_context
from ganboard.worker.process import machine
from ganboard.worker.submission.submit import submit
from tests.crash import checker
from tests.crash.conftest import FULL, SMALL, hexes
from tests.crash.services.machines import machines, stored, texts
from tests.crash.services.postgres import binaries, postgres
from tests.polling import wait_until
from tests.stores import s3, url

__all__ = ["s3", "url"]  # fixtures


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("url", ["s3"], indirect=True)
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's programs are not installed")
def test_another_machine_goes_on_from_what_was_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    with postgres() as server:
        monkeypatch.setenv("GANBOARD_DATABASE_URL", server.url)
        context = open_context()
        variables = {"GANBOARD_MACHINE_WAIT": "3", "GANBOARD_STORE": url}
        with machines(context, tmp_path, "a", "b", **variables) as (a, b):
            settings = load("tiny", {**SMALL, "epochs": 400 if FULL else 40, "keep_checkpoints": 2})
            run = submit(context, settings, name="disturbed")
            a.start()
            wait_until(
                lambda: (
                    artifacts.newest(context.engine, run.id) is not None
                    and stored(context, run).epoch >= 3
                ),
                seconds=400,
                what="the first stored checkpoint of A",
            )
            a.kill()
            before, kept = stored(context, run), artifacts.newest(context.engine, run.id)
            assert kept is not None
            b.start()
            wait_until(
                lambda: stored(context, run).status in ENDED, seconds=600, what="the end on B"
            )
            ended = stored(context, run)
            assert ended.status == "finished", texts(context, run)
            assert ended.attempt > before.attempt
            said = texts(context, run)
            assert f"Fetched the checkpoint of step {kept.step} from the artifact store." in said
            assert any(text.startswith("Resumed after epoch") for text in said)
            assert not any("differ" in text or text.startswith("Lost") for text in said)
            on_disks = {one.machine for one in queries.checkpoints(context.engine, run.id)}
            assert on_disks == {machine.name(b.settings)}
            whole = submit(context, settings, name="undisturbed")
            wait_until(
                lambda: stored(context, whole).status in ENDED, seconds=600, what="another run"
            )
            assert stored(context, whole).status == "finished", texts(context, whole)
            assert hexes(context, ended) == hexes(context, stored(context, whole))
            rows = [
                *checker._rows(context.engine, b.settings, ended, checker.Expected({})),
                *checker._attempts(context.engine, b.settings, ended, checker.Expected({})),
            ]
            assert rows == []
            print(f"killed at step {before.step}, went on from step {kept.step}")
        context.engine.dispose()
