"""Our trainer without its surroundings: the steps of a run as `gan.training.loop` takes them, no
grids, checkpoints, measures or reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ganboard.gan import data
from ganboard.gan.bench.protocol import Take, Task, Unavailable
from ganboard.gan.config import parse, plan
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.rng import philox
from ganboard.gan.training import lr_schedules


def make(task: Task) -> tuple[Take, str]:
    config = parse(task.settings)
    runtime.prepare(config)
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.training import fit, step

    machine = hardware.describe()
    if sentence := capabilities.check(config, machine):
        raise Unavailable(sentence)
    examples = data.load(config, Path(task.data_dir)).first(config.limit)
    amounts = plan(config, len(examples))
    strategy = distribution.strategy(config)
    with strategy.scope():
        nets = step.networks(config)
    stepper = step.Stepper(config, strategy, nets, examples)
    fitted = fit.FitLoop(stepper, lambda count: count) if config.loop == "fit" else None
    done = 0
    # the processes of local SGD are averaged after every call of that many steps
    longest = config.average_every if config.average_every > 1 else amounts.steps_per_epoch

    def take(count: int) -> tuple[float, float]:
        nonlocal done
        while count:
            epoch, first = divmod(done, amounts.steps_per_epoch)
            portion = min(count, amounts.steps_per_epoch - first, longest)
            order = philox.order(config.seed, epoch + 1, amounts.examples)
            due = np.stack(
                lr_schedules.rates(config, amounts.steps_per_epoch, done + np.arange(portion)), 1
            )
            if fitted:
                *_, last = (each.metrics for each in fitted.epoch(order, first, done, due))
            else:
                last = stepper.run(order, first, done, portion, due)
            done, count = done + portion, count - portion
        return float(last.g_loss[-1]), float(last.d_loss[-1])

    return take, ", ".join(
        f"{name} {machine['versions'][name]}" for name in ("tensorflow", "keras")
    )
