"""What concerns a whole process is tried in processes of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_the_loop_loads_tensorflow_only_when_it_trains() -> None:
    assert python("import sys, gan.loop; print(sorted({'tensorflow', 'keras', 'sklearn'} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_cpu_is_cut_into_as_many_devices_as_replicas(replicas: int) -> None:
    code = f"""
from gan import runtime
from gan.config import RunConfig
config = RunConfig(replicas={replicas}, batch_size=6)
runtime.prepare(config)
runtime.prepare(config)  # the trainer and the loop both may
import tensorflow as tf
from gan import distribution
gpus = len(tf.config.list_physical_devices("GPU"))
cpus = len(tf.config.list_logical_devices("CPU"))
assert cpus == (1 if gpus >= {replicas} else {replicas}), (cpus, gpus)
print(distribution.strategy(config).num_replicas_in_sync)
"""
    assert python(code) == str(replicas)
