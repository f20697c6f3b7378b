"""The training step as XLA programs, for devices that are not here.

TensorFlow lowers it on the CPU. HLO before any optimisation is the same for every device, but for
what ganboard itself does differently on accelerators (`gan.devices.runtime.as_if_on`). Lowering
with platform_name="TPU" fails where there is none: "does not support resource arguments when device
is null" (TensorFlow 2.21).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops  # XLA's own collectives
from tensorflow.compiler.tf2xla.python import xla

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import runtime
from ganboard.gan.modeling import recipe
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.rehearsal.targets import Form
from ganboard.gan.training.networks import networks
from ganboard.gan.training.replica import Replica


class Program(NamedTuple):
    """One XLA program of a training step."""

    name: str
    calls: float  # how often a step runs it; a share where it takes several steps
    hlo: bytes  # serialised HloModuleProto


def lower(config: RunConfig, kind: runtime.DeviceKind, form: Form) -> Iterator[Program]:
    """The XLA programs of one step of `config` in each of its replicas on a device of `kind`.

    form=step has one for each phase that differs: draws, gradients, their sum over the replicas,
    update; or one of all steps that a TPU takes at a time. form=gradients has the gradient
    functions alone, which is what xla=true compiles on a GPU. Raises what TensorFlow raises where
    an operation has no XLA kernel.
    """
    alone = config.model_copy(update={"strategy": "default"})
    with runtime.as_if_on(kind):
        model = recipe.make(alone)
        strategy = tf.distribute.get_strategy()
        replica = Replica(alone, strategy, networks(alone, model), model)
        replica.replicas = config.replicas
        context = _ReplicaContext(strategy, config.replicas)
        rows = [tf.zeros(t.shape, t.dtype) for t in model.example(config.batch_size)]
        step = tf.constant(0, tf.int64)
        together = config.steps_per_execution
        if form == "step" and config.strategy == "tpu" and together > 1:
            arguments = [
                [tf.stack([array] * together) for array in rows],
                step,
                tf.zeros([together, 2]),
                tf.zeros([], tf.float64),
            ]
            yield Program(
                f"{together} steps", 1 / together, _hlo(context.run(replica.steps), arguments)
            )
            return
        for p, calls in _distinct(model.phases):
            name = _name(model.phases[p])
            if form == "gradients":
                yield Program(
                    f"gradients of {name}",
                    calls * config.accumulate,
                    _hlo(replica.shares(model.phases[p]), replica.example()),
                )
                continue
            if config.accumulate > 1:
                yield Program(
                    f"micro-batch of {name}",
                    calls * (config.accumulate - 1),
                    _hlo(context.run(partial(replica.add, p)), [rows, step, tf.constant(0)]),
                )
            arguments = [rows, step, tf.zeros([2]), tf.zeros([], tf.float64)]
            update = partial(replica.update, p)
            yield Program(f"update of {name}", calls, _hlo(context.run(update), arguments))


def layers(config: RunConfig, kind: runtime.DeviceKind) -> dict[str, list[str]]:
    """Names of the layers of both networks, after which operations are named."""
    with runtime.as_if_on(kind):
        return {
            net.name: [layer.name for layer in net.layers] for net in recipe.make(config).networks()
        }


def _distinct(phases: Sequence[Phase]) -> list[tuple[int, int]]:
    """(number of a phase, phases like it): those that differ in the numbers they draw alone are
    one program."""
    return [(phases.index(phase), phases.count(phase)) for phase in dict.fromkeys(phases)]


def _name(phase: Phase) -> str:
    nets = " and ".join(net for net, trained in (("D", phase.d), ("G", phase.g)) if trained)
    return nets + (f" ({phase.kind})" if phase.kind and phase.d else "")


def _hlo(function: Any, arguments: list[Any]) -> bytes:
    compiled = tf.function(function, jit_compile=True, autograph=False)
    ir = compiled.experimental_get_compiler_ir(*arguments)
    return bytes(ir(stage="hlo_serialized", platform_name="CPU"))


class _ReplicaContext(tf.distribute.ReplicaContext):  # type: ignore[misc]
    """One of `replicas` replicas in one XLA program, whose collectives are XLA's own."""

    def __init__(self, strategy: tf.distribute.Strategy, replicas: int) -> None:
        super().__init__(strategy, 0)
        self._replicas = replicas

    def run(self, function: Any) -> Any:
        """`function` as this replica calls it."""

        def called(*args: Any) -> Any:
            with self:
                return function(*args)

        return called

    @property
    def num_replicas_in_sync(self) -> int:
        return self._replicas

    @property
    def replica_id_in_sync_group(self) -> tf.Tensor:
        return tf.cast(xla.replica_id(), tf.int32) if self._replicas > 1 else tf.constant(0)

    def all_reduce(self, reduce_op: str, value: Any, options: Any = None) -> Any:
        """Sum or mean of tensors over all replicas; the gradient of a sum is the sum of
        gradients."""
        scale = 1 / self._replicas if str(reduce_op).upper().endswith("MEAN") else 1
        return tf.nest.map_structure(lambda tensor: self._sum(tensor) * scale, value)

    def _sum(self, tensor: tf.Tensor) -> tf.Tensor:
        group = tf.constant([list(range(self._replicas))], tf.int32)

        def exchange(values: tf.Tensor) -> tf.Tensor:
            return gen_xla_ops.xla_all_reduce(
                input=values, group_assignment=group, reduce_op="Add", mode="CrossReplica"
            )

        place = tf.compat.v1.get_default_graph().get_name_scope()

        def backward(gradients: tf.Tensor) -> tf.Tensor:
            # gradients of our own have no name after the layer that they are of
            with tf.name_scope(f"gradient_tape/{place}/"):
                return exchange(gradients)

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def summed(values: tf.Tensor) -> Any:
            return exchange(values), backward

        return summed(tensor)
