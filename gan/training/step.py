"""The training step of every model, as often as one call asks for.

A step has one or more phases (`gan.modeling.recipe`). In each replica a phase draws, takes the
gradients of its share of the batch, sums them over all replicas in one piece, and updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import graph, runtime
from ganboard.gan.distributed import collectives
from ganboard.gan.events import Losses
from ganboard.gan.layers.normalization import synchronized
from ganboard.gan.modeling import recipe
from ganboard.gan.modeling.gradients import METRICS, Shares, State
from ganboard.gan.modeling.recipe import Phase, Recipe
from ganboard.gan.training import optimizers, step_metrics
from ganboard.gan.training.networks import Networks, networks
from ganboard.gan.training.optimizers import put
from ganboard.gan.training.step_metrics import Seconds, StepMetrics, StepReport
from ganboard.gan.training.update import apply_gradients

__all__ = ["Networks", "Stepper", "networks"]  # exported READMEs name `step.networks`

_MAX_PHASES = 16  # draws of one step; the limit of RunConfig.d_steps
_INT32, _INT64 = (tf.TensorSpec([], kind) for kind in (tf.int32, tf.int64))
# of Stepper._run
_SIGNATURE = [
    tf.TensorSpec([None], tf.int32),
    _INT32,
    _INT64,
    _INT32,
    tf.TensorSpec([None, 2], tf.float32),
]


class Stepper:
    """Runs training steps of `nets` on `data`, as the model's recipe wants it (DCGAN: images [N,
    28, 28, 1] uint8), under `strategy`."""

    def __init__(
        self,
        config: RunConfig,
        strategy: tf.distribute.Strategy,
        nets: Networks,
        data: Any,
        model: Recipe | None = None,
    ) -> None:
        self.config = config
        self.strategy = strategy
        self.nets = nets
        self.recipe = model or recipe.make(config)
        self.replicas: int = strategy.num_replicas_in_sync
        # The whole data set stays in host memory and a step gathers its rows (50 kB at batch 64):
        # nothing is left for a tf.data pipeline to prefetch, order and position need no state, and
        # every strategy reads it alike.
        with tf.device("/CPU:0"):
            self._data = self.recipe.columns(data)
        self._gradients = {phase: self._shares(phase) for phase in self.recipe.phases}
        if runtime.compiled(config):
            self._gradients = {
                phase: tf.function(function, jit_compile=True)
                for phase, function in self._gradients.items()
            }
        with strategy.scope():
            weights = [*nets.discriminator.trainable_variables, *nets.generator.trainable_variables]
            self._sums = (
                [keras.Variable(tf.zeros(v.shape), trainable=False) for v in weights]
                if config.accumulate > 1
                else []
            )
            self._metric_sums = keras.Variable(
                tf.zeros(len(METRICS) + len(self.recipe.terms)), trainable=False
            )

    def run(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        count: int,
        rates: Losses | None = None,
    ) -> StepMetrics:
        """Take `count` steps on consecutive batches of `order`, from batch `first`; `global_step`
        numbers the first of them.

        `rates` [count, 2] are the learning rates of G and D, by default those of the configuration.
        `count` = 0 only traces and optimises the graph.
        """
        if rates is None:
            rates = np.full(
                [count, 2], [self.config.g_learning_rate, self.config.d_learning_rate], np.float32
            )
        rows = self._run(*self._arguments(order, first, global_step, count, rates))
        return self.unpack(collectives.sum_over_workers(self.strategy, rows).numpy())

    def unpack(self, rows: Losses) -> StepMetrics:
        """What steps reported in `rows` [n, width], summed over all replicas."""
        return step_metrics.unpack(rows, self.recipe.terms, self.replicas)

    def graph_facts(self, order: np.ndarray[Any, Any]) -> dict[str, Any]:
        """FACTS about the traced training step: its form, what runs off the accelerator, and what
        XLA fused."""
        if isinstance(self.strategy, tf.distribute.TPUStrategy):
            return {"form": "direct convolution, XLA for the whole step"}
        config = self.config
        arguments = self._arguments(order, 0, 0, 0, np.zeros([0, 2], np.float32))
        concrete = self._run.get_concrete_function(*arguments)
        xla = (
            "XLA for the gradient function"
            if runtime.compiled(config)
            else "XLA for element-wise operations"
            if config.xla
            else "no XLA"
        )
        found: dict[str, Any] = {"form": f"{self.recipe.form}, {xla}"}
        if runtime.accelerated():
            found["off_accelerator"] = graph.off_accelerator(concrete, arguments)
        if config.xla and not runtime.compiled(config):
            found["kernels_before"], found["kernels_after"] = graph.clusters(concrete, arguments)
        elif config.xla:
            found["kernels_before"], found["kernels_after"] = graph.kernels(
                self._shares(self.recipe.phases[-1]), self._example()
            )
        return found

    def _example(self) -> list[Any]:
        """Arguments of the gradient function, of the right shapes."""
        own = self.recipe.example(self.config.micro_batch)
        draws = self.recipe.draws(
            self.recipe.phases[-1], own, tf.constant(0, tf.int64), tf.constant(0)
        )
        return [self._state(), draws, [tf.ones([])] * 2]

    def _state(self) -> State:
        nets = self.nets
        return State(
            *(
                [v.value for v in vs]
                for net in (nets.generator, nets.discriminator)
                for vs in _split(net)
            )
        )

    def _arguments(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, count: int, rates: Losses
    ) -> list[tf.Tensor]:
        return [tf.constant(v) for v in (order, first, np.int64(global_step), count, rates)]

    @tf.function(input_signature=_SIGNATURE)  # type: ignore[untyped-decorator]
    def _run(
        self,
        order: tf.Tensor,
        first: tf.Tensor,
        global_step: tf.Tensor,
        count: tf.Tensor,
        rates: tf.Tensor,
    ) -> tf.Tensor:
        # count is a tensor and the loop a tf.while, so that changing it does not trace again
        width = step_metrics.width(self.recipe.terms, self.replicas)
        rows = tf.TensorArray(tf.float32, count, element_shape=[width])
        for i in tf.range(count):
            start = (first + i) * self.config.batch_size
            batch = order[start : start + self.config.batch_size]
            step = global_step + tf.cast(i, tf.int64)
            rows = rows.write(i, self._step(batch, step, rates[i]))
        return rows.stack()

    def _step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """One training step in all replicas; returns its packed report [width]."""
        rows, seconds = self._load(batch)
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            if self.config.accumulate > 1:
                for part in tf.range(self.config.accumulate - 1):
                    self.strategy.run(_as_is(partial(self.add, p)), (rows, step, part))
            report = self.strategy.run(
                _as_is(partial(self.update, p)), (rows, step, rates, seconds)
            )
            if phase.log_metrics:
                reports.append(self._over_replicas(report))
                seconds = tf.zeros_like(seconds)  # of loading, which counts once
        return step_metrics.pack(step_metrics.over_phases(reports))

    def _over_replicas(self, report: StepReport) -> StepReport:
        """The sum of the reports of this process's replicas."""
        return StepReport(
            *(tf.add_n(self.strategy.experimental_local_results(part)) for part in report)
        )

    def _load(self, batch: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The examples `batch` [batch_size], and the seconds that reading them took.

        On the host, since a TPU takes only what has a fixed shape.
        """
        began = _now([])
        with tf.device("/CPU:0"), tf.control_dependencies([began]):
            rows = self.recipe.rows(self._data, batch)
        return rows, _now(rows) - began

    def replica_step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """One whole training step in a replica, without loops in the graph: what `fit` runs.

        Returns the replica's share of the packed report, [width].
        """
        rows, seconds = self._load(batch)
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            for part in range(self.config.accumulate - 1):
                self.add(p, rows, step, tf.constant(part))
            report = self.update(p, rows, step, rates, seconds)
            if phase.log_metrics:
                reports.append(report)
                seconds = tf.zeros_like(seconds)
        return step_metrics.pack(step_metrics.over_phases(reports))

    def add(self, p: int, rows: list[tf.Tensor], step: tf.Tensor, part: tf.Tensor) -> None:
        """Add a micro-batch's gradients to this replica's sums; `rows` are those of the global
        batch, `p` numbers the phase."""
        found, _ = self._micro_batch(p, rows, step, part)
        for total, gradient in zip(self._sums, self._padded(found), strict=True):
            put(total, total.value + gradient)
        put(self._metric_sums, self._metric_sums.value + found.metrics)

    def update(
        self, p: int, rows: list[tf.Tensor], step: tf.Tensor, rates: tf.Tensor, loading: tf.Tensor
    ) -> StepReport:
        """The last micro-batch of this replica and the update; returns the replica's share of the
        report. `loading` in seconds."""
        config, nets, phase = self.config, self.nets, self.recipe.phases[p]
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        found, began = self._micro_batch(p, rows, step, tf.constant(config.accumulate - 1))
        gradients, metrics = self._padded(found), found.metrics
        if config.accumulate > 1:
            gradients = [
                total.value + gradient
                for total, gradient in zip(self._sums, gradients, strict=True)
            ]
            metrics += self._metric_sums.value
            with tf.control_dependencies([*gradients, metrics]):
                for variable in (*self._sums, self._metric_sums):
                    put(variable, tf.zeros(variable.shape))
            of_d = len(nets.discriminator.trainable_variables)
            gradients = gradients[0 if phase.d else of_d : None if phase.g else of_d]
        computed = _now(gradients)

        reduced = collectives.sum_over_replicas(gradients)
        summed = _now(reduced)
        updated, state = apply_gradients(config, nets, phase, reduced, rates)
        ended = _now([*updated, *state])

        seconds = Seconds(
            input=loading,
            compute=computed - began,
            reduce=summed - computed,
            step=loading + ended - began,
        )
        first = tf.cast(replica == 0, tf.float32)
        own_row = tf.one_hot(replica, self.replicas)[:, None]
        return StepReport(
            metrics,
            tf.stack(updated) * first,
            tf.stack(state) * first,
            own_row * tf.cast(tf.stack(seconds), tf.float32),
        )

    def _micro_batch(
        self, p: int, rows: list[tf.Tensor], step: tf.Tensor, part: tf.Tensor
    ) -> tuple[Shares, tf.Tensor]:
        """Gradients of this replica's micro-batch number `part`, and the moment in which computing
        them began."""
        config, nets, phase = self.config, self.nets, self.recipe.phases[p]
        size = config.micro_batch
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        row = tf.cast(replica, tf.int32) * config.per_replica_batch + part * size
        # the parts before are added up, and what they kept is gone
        ready = [tf.identity(v.value) for v in self._sums[:1]]
        began = _now(ready)
        with tf.control_dependencies([began, *ready]):
            draw = tf.identity(step * _MAX_PHASES + len(self.recipe.phases) - 1 - p)
            own = [
                tf.slice(array, [row] + [0] * (len(array.shape) - 1), [size, *array.shape[1:]])
                for array in rows
            ]
        scales = [optimizers.loss_scale(o) for o in (nets.g_optimizer, nets.d_optimizer)]
        found = self._gradients[phase](
            self._state(), self.recipe.draws(phase, own, draw, row), scales
        )
        for net, statistics in zip(
            (nets.generator, nets.discriminator), found.statistics, strict=True
        ):
            if statistics:
                self._keep(net, statistics)
        return found, began

    def _shares(self, phase: Phase) -> Any:
        nets = self.nets
        return lambda state, draws, scales: self.recipe.shares(
            nets.generator, nets.discriminator, state, draws, scales, phase
        )

    def _padded(self, found: Shares) -> list[tf.Tensor]:
        """Gradients of D, then of G; to be added up, with zeros for a net that is not trained, so
        that sums have one form."""
        parts = (
            (found.d_gradients, self.nets.discriminator),
            (found.g_gradients, self.nets.generator),
        )
        return [
            g
            for own, net in parts
            for g in own
            or ([tf.zeros(v.shape) for v in net.trainable_variables] if self._sums else [])
        ]

    def _keep(self, net: keras.Model, statistics: Sequence[tf.Tensor]) -> None:
        if self.replicas > 1 and not synchronized(self.config):
            statistics = tf.distribute.get_replica_context().all_reduce("MEAN", statistics)
        for variable, value in zip(net.non_trainable_variables, statistics, strict=True):
            put(variable, value)


def _as_is(function: Any) -> Any:
    """AutoGraph would rewrite this function and all of Keras below it, which takes longer than
    everything else that tracing does."""
    return tf.autograph.experimental.do_not_convert(function)


def _split(net: keras.Model) -> tuple[list[keras.Variable], list[keras.Variable]]:
    return net.trainable_variables, net.non_trainable_variables


def _now(done: Sequence[tf.Tensor] | tf.Tensor) -> tf.Tensor:
    """The moment in which all of `done` is there, in seconds; zero on accelerators, whose work is
    not done when a graph goes on."""
    if runtime.accelerated():
        return tf.zeros([], tf.float64)
    with tf.control_dependencies(done if isinstance(done, list) else [done]):
        return tf.timestamp()
