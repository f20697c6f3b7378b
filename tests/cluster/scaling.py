"""What a slow network costs, forecast and measured.

    python -m tests.cluster.scaling

Two machines train one run over links of several rates. The forecast is the time of a step without a
limit plus the bytes that a ring of two sends per step (`gan.costs.estimate.reduce_bytes`) over the
rate; an average of local SGD sends the moments of Adam as well. The measurement is the median of
the steps of an epoch.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import parse
from ganboard.gan.costs import estimate
from tests.cluster.fleet import Fleet, fleet

RATES = (None, 200, 100, 50, 20, 10)  # Mbit/s
SETTINGS = {"model": "convgan", "width": 32, "epochs": 4, "limit": 512}


def seconds_per_step(made: Fleet, rate: int | None, **changes: object) -> tuple[float, int]:
    """The median over the epochs but the first, which compiles, and the bytes of a step."""
    for machine in made.machines:
        if rate is not None:
            machine.host.slow(rate_mbit=rate)
    run = made.ended(made.submit(f"{rate} Mbit/s", **{**SETTINGS, **changes}))
    for machine in made.machines:
        if rate is not None:
            machine.host.normal()
    return _median(made, run), estimate.reduce_bytes(parse(run.config))


def _median(made: Fleet, run: Run) -> float:
    epochs = queries.epochs(made.context.engine, run.id)[1:]
    return float(np.median([epoch.seconds / epoch.steps for epoch in epochs]))


def main() -> None:
    """Print the table."""
    with (
        tempfile.TemporaryDirectory(prefix="ganboard-scaling-") as name,
        fleet(Path(name), 2) as made,
    ):
        print("average_every  Mbit/s  forecast  measured  ratio")
        for every in (1, 8):
            local = {"average_every": every, "sync_batch_norm": False} if every > 1 else {}
            copies = 3 if every > 1 else 1
            free = 0.0
            for rate in RATES:
                measured, sent = seconds_per_step(made, rate, **local)
                free = free or measured
                forecast = free + (sent * copies / every * 8 / (rate * 1e6) if rate else 0.0)
                times = f"{1000 * forecast:7.0f} ms {1000 * measured:6.0f} ms"
                ratio = measured / forecast
                print(f"{every:13} {rate or 'none':>7} {times}  {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    main()
