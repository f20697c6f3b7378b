"""What the trainer does only on GPUs, on logical CPU devices that stand in for them: everything but
NCCL, CUDA's own statistics and its kernels, which docs/accelerators.md lists."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

CODE = """
import json, sys
import numpy as np
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
logical, visible = tf.config.list_logical_devices, tf.config.get_visible_devices
gpus = logical("CPU")[1:]
tf.config.list_logical_devices = lambda kind=None: gpus if kind == "GPU" else logical(kind)
tf.config.get_visible_devices = lambda kind=None: gpus if kind == "GPU" else visible(kind)
tf.config.experimental.get_memory_info = lambda name: {"peak": int(name[-1]), "current": 0}

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.distributed.strategy import strategy
from ganboard.gan.layers.normalization import synchronized
from ganboard.gan.training import epoch_metrics
from ganboard.gan.training.step import Stepper, networks

config = parse({"dataset": "digits", "batch_size": 8, **json.loads(sys.argv[1])})
used = strategy(config) if config.replicas > 1 else tf.distribute.OneDeviceStrategy("/CPU:1")
with used.scope():
    nets = networks(config)
images = np.random.default_rng(0).integers(0, 256, [32, 28, 28, 1]).astype(np.uint8)
stepper = Stepper(config, used, nets, images)
order = np.arange(32, dtype=np.int32)
metrics = stepper.run(order, 0, 0, 3)
print(json.dumps({
    "devices": sorted({copy.device[-5:] for v in nets.generator.variables
                       for copy in used.experimental_local_results(v.value)}),
    "losses": [*map(float, metrics.g_loss), *map(float, metrics.d_loss)],
    "scale": [float(scale) for scale in metrics.loss_scale],
    "skipped": float(sum(metrics.skipped)),
    "seconds": float(np.sum(metrics.seconds.step)),
    "synchronized": synchronized(config),
    "compiled": runtime.compiled(config),
    "facts": stepper.graph_facts(order),
    "peak": epoch_metrics.peak_memory(),
}))
"""


def train(**settings: Any) -> dict[str, Any]:
    """Three steps on as many stand-in GPUs as there are replicas."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(settings)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.thorough
def test_two_gpus_train_with_the_gradients_compiled_and_losses_scaled() -> None:
    found = train(replicas=2, strategy="mirrored", xla=True, precision="mixed_float16")
    assert found["devices"] == ["CPU:1", "CPU:2"]
    assert np.isfinite(found["losses"]).all()
    assert found["compiled"]
    # a function that XLA compiles cannot wait for the other replica
    assert not found["synchronized"]
    assert all(scale >= 1 for scale in found["scale"])
    assert found["facts"]["form"] == "direct convolution, XLA for the gradient function"
    assert found["facts"]["kernels_after"] < found["facts"]["kernels_before"]
    assert found["peak"] == 2


@pytest.mark.thorough
def test_the_clock_is_off_where_a_graph_does_not_wait_for_its_work() -> None:
    found = train(replicas=2, strategy="mirrored")
    assert found["synchronized"]
    assert found["seconds"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("xla", [False, True])
def test_only_the_batch_is_gathered_on_the_host(xla: bool) -> None:
    found = train(xla=xla, strategy="default")
    kept = {text.partition(" ")[0] for text in found["facts"]["off_accelerator"]}
    assert "GatherV2" in kept
    # no convolution, product, update or random number
    assert not {name for name in kept if "Conv" in name or "MatMul" in name or "Apply" in name}
    assert not {name for name in kept if "Random" in name}
