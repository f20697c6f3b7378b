"""Takes steps in a process of its own, because logical devices and a failed collective last as long
as the process.

    python -m tests.integration.steps '{"batch_size": 32, "replicas": 2}' 20 OUTPUT.npz [DATA_DIR]

Writes every variable and both losses of every step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.rng import philox


def main(config_json: str, count: str, output: str, data_dir: str = ".") -> None:
    config = parse({"dataset": "digits", **json.loads(config_json)})
    config = config.model_copy(update={"limit": int(count) * config.batch_size})
    runtime.prepare(config)
    from ganboard.gan import data
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.training.step import Stepper, networks
    from ganboard.gan.training.step_metrics import StepMetrics

    examples = data.load(config, Path(data_dir)).first(None)
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
    stepper = Stepper(config, strategy, nets, examples)
    order = philox.order(config.seed, 1, len(examples))
    taken = [stepper.run(order, 0, 0, 1), stepper.run(order, 1, 1, int(count) - 1)]
    assert stepper._run.experimental_get_tracing_count() == 1, (
        "another number of steps must not trace again"
    )
    metrics = StepMetrics.joined(taken)
    np.savez(output, g_losses=metrics.g_loss, d_losses=metrics.d_loss, **nets.arrays())


if __name__ == "__main__":
    main(*sys.argv[1:])
