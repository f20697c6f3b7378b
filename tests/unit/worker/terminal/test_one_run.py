"""One line about a run on the command line."""

from __future__ import annotations

from ganboard.db.models import Epoch
from ganboard.worker.terminal.one_run import time_spent


def test_where_the_time_went() -> None:
    figures: dict[str, float] = dict.fromkeys(("g_loss", "d_loss", "g_x", "g_y", "d_x", "d_y"), 0.0)

    def epoch(number: int, **measures: float) -> Epoch:
        return Epoch(
            run_id="x",
            epoch=number,
            attempt=1,
            steps=1,
            images=1,
            seconds=2.0,
            compile_seconds=4.0,
            measures=measures,
            **figures,
        )

    assert time_spent([], []) == ""
    assert time_spent([epoch(1)], []) == ""
    measured = [
        epoch(1, compute_seconds=1.5, reduce_seconds=0.5, step_p50=9.0, input_seconds=0.01),
        epoch(2, compute_seconds=1.5, host_seconds=0.5),
        epoch(3),
    ]
    assert (
        time_spent(measured, [])
        == "computing 75%, all-reduce 12%, host 12%; beside that 12 s compiling"
    )
