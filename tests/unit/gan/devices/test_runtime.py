"""What concerns a whole process is tried in processes of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_the_loop_loads_tensorflow_only_when_it_trains() -> None:
    assert (
        python(
            "import sys, ganboard.gan.training.loop; print(sorted({'tensorflow', 'keras',"
            " 'sklearn'} & set(sys.modules)))"
        )
        == "[]"
    )


def test_what_keras_imports_for_others_can_be_imported_later() -> None:
    code = """
import gc, sys
from ganboard.gan.devices import runtime
from ganboard.gan.models.dcgan.config import Config
runtime.prepare(Config())
print(sorted({"keras", "tensorflow", "sklearn", "pandas"} & set(sys.modules)), gc.isenabled())
import pandas, sklearn.datasets
"""
    assert python(code) == "['keras', 'tensorflow'] True"


@pytest.mark.thorough
def test_the_cpu_is_cut_into_as_many_devices_as_replicas() -> None:
    code = """
from ganboard.gan.devices import runtime
from ganboard.gan.models.dcgan.config import Config
config = Config(replicas=3, batch_size=6)
runtime.prepare(config)
runtime.prepare(config)  # the trainer and the loop both may
import tensorflow as tf
from ganboard.gan.distributed import strategy
gpus = len(tf.config.list_physical_devices("GPU"))
cpus = len(tf.config.list_logical_devices("CPU"))
assert cpus == (1 if gpus >= 3 else 3), (cpus, gpus)
print(strategy.strategy(config).num_replicas_in_sync)
"""
    assert python(code) == "3"


@pytest.mark.thorough
def test_each_process_takes_the_gpus_of_its_replicas() -> None:
    code = """
import os
from unittest import mock
import tensorflow as tf
from ganboard.gan.devices import runtime
from ganboard.gan.distributed.cluster import Cluster
from ganboard.gan.models.dcgan.config import Config
listed = tf.config.list_physical_devices
for gpus, settings, rank, used in (
    (0, {"replicas": 2}, 1, []),
    (1, {"replicas": 2}, 1, []),  # too few: all replicas on the CPU
    (4, {"replicas": 2}, 1, ["GPU:1"]),
    (4, {"replicas": 2, "strategy": "mirrored"}, 0, ["GPU:0", "GPU:1"]),
    (1, {"replicas": 2, "strategy": "mirrored"}, 0, []),
    (4, {"strategy": "default"}, 0, ["GPU:0"]),
):
    os.environ |= Cluster(("127.0.0.1:1", "127.0.0.1:2"), rank).environment()
    found = [f"GPU:{i}" for i in range(gpus)]
    def devices(kind):
        return found if kind == "GPU" else listed(kind)
    with (
        mock.patch.object(tf.config, "list_physical_devices", devices),
        mock.patch.object(tf.config, "set_visible_devices") as visible,
        mock.patch.object(tf.config.experimental, "set_memory_growth") as growth,
        mock.patch.object(tf.config.experimental, "enable_op_determinism") as determinism,
    ):
        runtime.prepare(Config(**{"strategy": "multi_worker", **settings}))
    assert visible.call_args.args == (used, "GPU"), (settings, visible.call_args)
    assert [call.args[0] for call in growth.call_args_list] == used
    assert determinism.called == bool(used)
"""
    assert python(code) == ""


@pytest.mark.thorough
def test_processes_share_the_cores() -> None:
    code = """
import os
from ganboard.gan.devices import runtime
from ganboard.gan.models.dcgan.config import Config
runtime.prepare(Config(strategy="multi_worker", replicas=2))
import tensorflow as tf
assert len(tf.config.list_logical_devices("CPU")) == 1
if not tf.config.list_physical_devices("GPU"):
    own = max(1, runtime.cores() // 2)
    assert tf.config.threading.get_intra_op_parallelism_threads() == own
    assert tf.config.threading.get_inter_op_parallelism_threads() == own
"""
    assert python(code) == ""
