"""Takes steps in a process of its own, because logical devices and a failed collective last as long
as the process.

    python -m tests.integration.steps '[{"replicas": 1}, {"replicas": 2}]' 20 DIRECTORY

Writes DIRECTORY/0.npz and so on, one for each configuration: every variable before ("initial/...")
and after, and both losses of every step. Data is looked for in DIRECTORY.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.devices import runtime
from ganboard.gan.rng import philox


def main(configs_json: str, count: str, directory: str) -> None:
    configs = [parse({"dataset": "digits", **changes}) for changes in json.loads(configs_json)]
    runtime.prepare(max(configs, key=lambda config: config.replicas))
    for number, config in enumerate(configs):
        take(config, int(count), Path(directory), f"{number}.npz")


def take(config: RunConfig, count: int, directory: Path, output: str) -> None:
    config = config.model_copy(update={"limit": count * config.batch_size})
    from ganboard.gan import data
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.training.step import Stepper, networks
    from ganboard.gan.training.step_metrics import StepMetrics

    examples = data.load(config, directory).first(None)
    strategy = distribution.strategy(config)
    assert strategy.num_replicas_in_sync == config.replicas
    with strategy.scope():
        nets = networks(config)
    copies = [
        strategy.experimental_local_results(v.value)
        for net in (nets.generator, nets.discriminator)
        for v in net.variables
    ]
    devices = [{copy.device for copy in one} for one in zip(*copies, strict=True)]
    assert [len(one) for one in devices] == [1] * config.replicas, (
        "each replica has all of G and D on one device"
    )
    assert len(set.union(*devices)) == config.replicas, "no two replicas share a device"
    before = {f"initial/{name}": value for name, value in nets.arrays().items()}
    stepper = Stepper(config, strategy, nets, examples)
    order = philox.order(config.seed, 1, len(examples))
    taken = [stepper.run(order, 0, 0, 1), stepper.run(order, 1, 1, count - 1)]
    assert stepper._run.experimental_get_tracing_count() == 1, (
        "another number of steps must not trace again"
    )
    metrics = StepMetrics.joined(taken)
    losses = {"g_losses": metrics.g_loss, "d_losses": metrics.d_loss}
    np.savez(directory / output, **losses, **before, **nets.arrays())


if __name__ == "__main__":
    main(*sys.argv[1:])
