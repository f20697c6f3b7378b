"""Runs of claims as workers would train them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ganboard.db.claims import records
from ganboard.db.models import Run, StatedClaim
from ganboard.db.runs import commands, queries, reports
from ganboard.worker.claims import driver, stating
from ganboard.worker.claims.stating import Asked
from ganboard.worker.context import Context
from tests.factories import HARDWARE

SENTENCE = "at least 1.3x as fast at equal fid (margin 0.5)"
Times = Callable[[bool, int], float]  # whether the treatment, seed


def stated(context: Context, sentence: str = SENTENCE, **options: Any) -> StatedClaim:
    """A claim about `tiny` with and without bfloat16."""
    asked = Asked(
        sentence,
        ["precision=float32"],
        ["precision=mixed_bfloat16"],
        **{"preset": "tiny", "pairs": 6, **options},
    )
    return stating.state(context, asked)


def train(
    context: Context,
    run: Run,
    seconds: float,
    fid: float = 5.0,
    *,
    status: str = "finished",
    hardware: dict[str, Any] = HARDWARE,
) -> None:
    """What a worker stores of a waiting run whose later epochs take `seconds`."""
    engine = context.engine
    claim = commands.claim(engine, run_id=run.id, worker="testbox-1", lease_seconds=3600)
    assert claim is not None
    own: dict[str, Any] = {"run_id": run.id, "attempt": claim.attempt}
    reports.set_started(
        engine, **own, hardware=hardware, examples=128, steps_per_epoch=4, start_step=0,
        g_parameters=1, d_parameters=1,
    )  # fmt: skip
    for epoch in range(1, int(run.config["epochs"]) + 1):
        reports.finish_epoch(
            engine, **own, epoch=epoch, steps=4, images=128, g_loss=1.0, d_loss=1.0,
            seconds=9 * seconds if epoch == 1 else seconds, compile_seconds=0.0, g_path=(0, 0),
            d_path=(0, 0), measures={"peak_memory_bytes": 1e9},
        )  # fmt: skip
    reports.add_quality(
        engine, **own, epoch=int(run.config["epochs"]), seconds=0.1, preparation_seconds=0.0,
        training_seconds=10 * seconds, measures={"fid": fid, "kid": fid / 100}, histogram=[],
    )  # fmt: skip
    error = "It broke." if status == "failed" else None
    commands.finish(engine, **own, status=status, error=error)


def waiting(context: Context) -> list[Run]:
    return queries.list_runs(context.engine, statuses=("queued",))


def play(context: Context, claim: StatedClaim, seconds: Times, fid: Times) -> StatedClaim:
    """Let driver and workers take turns until the claim has ended."""
    while True:
        driver.advance(context)
        found = records.find(context.engine, claim.id)
        if found.status != records.OPEN:
            return found
        (run,) = waiting(context)  # one at a time
        arm = run.config["precision"] == "mixed_bfloat16", int(run.config["seed"])
        train(context, run, seconds(*arm), fid(*arm))
