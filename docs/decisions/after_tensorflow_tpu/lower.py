"""Lowers ganboard's TensorFlow step to HLO, for `estimate.py` to compile.

    python docs/decisions/after_tensorflow_tpu/lower.py PRECISION REPLICAS OUT.hlo

TensorFlow lowers it for a CPU, since it has no kernels for a TPU that is not there. Where several
replicas take part, XLA's own all-reduce stands in for that of TPUStrategy.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.tf2xla.python import xla

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime
from ganboard.gan.modeling import recipe
from ganboard.gan.training.networks import networks
from ganboard.gan.training.replica import Replica


class ReplicaContext:
    """Collectives of one of `replicas` TPU cores."""

    def __init__(self, replicas: int) -> None:
        self.num_replicas_in_sync = replicas

    @property
    def replica_id_in_sync_group(self) -> tf.Tensor:
        return tf.cast(xla.replica_id(), tf.int32)

    def all_reduce(self, how: str, tensor: tf.Tensor) -> tf.Tensor:
        assert how == "SUM"
        everyone = tf.range(self.num_replicas_in_sync)[None]

        def reduced(x: tf.Tensor) -> tf.Tensor:
            return gen_xla_ops.xla_all_reduce(
                input=x, group_assignment=everyone, reduce_op="Add", mode="CrossReplica"
            )

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def both_ways(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
            return reduced(x), reduced

        return both_ways(tensor)


def main(precision: str, replicas: str, output: str) -> None:
    count = int(replicas)
    runtime.accelerated = lambda: True
    if count > 1:
        context = ReplicaContext(count)
        tf.distribute.get_replica_context = lambda: context
    config = parse({"strategy": "tpu", "replicas": count, "precision": precision})
    config = config.model_copy(update={"strategy": "default"})
    model = recipe.make(config)
    replica = Replica(config, tf.distribute.get_strategy(), networks(config, model), model)
    replica.replicas = count

    update = tf.function(partial(replica.update, 0), jit_compile=True, autograph=False)
    arguments = [
        model.example(config.batch_size),
        tf.constant(3, tf.int64),
        tf.zeros([2]),
        tf.zeros([], tf.float64),
    ]
    lowered = update.experimental_get_compiler_ir(*arguments)(
        stage="hlo_serialized", platform_name="CPU"
    )
    Path(output).write_bytes(lowered)
    print(f"{output}: {len(lowered)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
