"""A trainer without training, and the real worker with it: what a queue does can be watched in
seconds.

python -m tests.crash.short_trainer                          a worker whose runs take no time
python -m tests.crash.short_trainer RUN_ID ATTEMPT VERDICT   its trainer
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

HOLD = "hold"  # a file in HOME: as long as it is there no training ends


def main(run_id: str, attempt: int) -> int:
    import numpy as np

    from ganboard.db.engine import make_engine
    from ganboard.db.runs import checkpoint_reports, commands, reports
    from ganboard.db.settings import Settings
    from ganboard.gan.checkpoint import store
    from ganboard.gan.progress import Progress
    from ganboard.worker.process.parent_death import die_with_named_parent

    die_with_named_parent()
    settings = Settings()
    engine, own = make_engine(settings.database), {"run_id": run_id, "attempt": attempt}
    size = {"examples": 32, "steps_per_epoch": 4, "g_parameters": 1, "d_parameters": 1}
    reports.set_started(engine, **own, hardware={}, start_step=0, **size)
    reports.set_phase(engine, **own, phase="training")
    with (settings.state / "trained").open("a") as file:
        file.write(f"{run_id}\n")
    while (settings.state / HOLD).exists():
        commands.renew(engine, **own)
        time.sleep(0.05)
    losses = np.full(4, 0.5, np.float32)
    reports.append_steps(engine, **own, epoch=1, first=0, g_losses=losses, d_losses=losses)
    figures = {"seconds": 1.0, "compile_seconds": 0.0, "g_path": (0.0, 0.0), "d_path": (0.0, 0.0)}
    reports.finish_epoch(
        engine, **own, epoch=1, steps=4, images=32, g_loss=0.5, d_loss=0.5, **figures
    )  # type: ignore[arg-type]
    directory = settings.run_dir(run_id) / "checkpoints"
    saved = store.save(
        directory, {"generator/kernel": losses}, Progress(4, 1), digest="c", attempt=attempt
    )
    checkpoint_reports.add_checkpoint(engine, **own, **vars(saved), keep=3)
    commands.finish(engine, **own, status="finished")
    return 0


def work() -> int:
    from ganboard.worker.queue import rq_worker, trainers

    class NoProbe:
        """Asking for devices loads TensorFlow."""

        def result(self) -> None:
            return None

    trainers.TRAINER = (sys.executable, "-m", "tests.crash.short_trainer")  # type: ignore[assignment]
    rq_worker.DeviceProbe = NoProbe  # type: ignore[assignment,misc]
    return rq_worker.main()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1], int(sys.argv[2])) if sys.argv[1:] else work())
