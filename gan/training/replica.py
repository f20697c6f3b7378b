"""What each replica does in a phase of a training step: it draws, takes the gradients of its share
of the batch, sums them over all replicas in one piece, and updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.devices import runtime
from ganboard.gan.distributed import collectives
from ganboard.gan.layers.normalization import synchronized
from ganboard.gan.modeling.gradients import METRICS, Shares, State
from ganboard.gan.modeling.recipe import Phase, Recipe
from ganboard.gan.training import optimizers
from ganboard.gan.training.networks import Networks
from ganboard.gan.training.optimizers import put
from ganboard.gan.training.step_metrics import Seconds, StepReport, over_phases, pack, width
from ganboard.gan.training.update import apply_gradients

_MAX_PHASES = 16  # draws of one step; the limit of RunConfig.d_steps


class Replica:
    """The gradients and the update of `nets` in whichever replica calls; made once for all of
    them, with variables of each."""

    def __init__(
        self, config: RunConfig, strategy: tf.distribute.Strategy, nets: Networks, model: Recipe
    ) -> None:
        self.config = config
        self.nets = nets
        self._nets = nets.generator, nets.discriminator
        self.recipe = model
        self.replicas: int = strategy.num_replicas_in_sync
        self._gradients = {phase: self.shares(phase) for phase in self.recipe.phases}
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

    def example(self) -> list[Any]:
        """Arguments of the gradient function, of the right shapes."""
        own = self.recipe.example(self.config.micro_batch)
        draws = self.recipe.draws(
            self.recipe.phases[-1], own, tf.constant(0, tf.int64), tf.constant(0)
        )
        return [self.state(), draws, [tf.ones([])] * 2]

    def state(self) -> State:
        """The values of all variables of both networks."""
        nets = self.nets
        return State(
            *(
                [v.value for v in vs]
                for net in (nets.generator, nets.discriminator)
                for vs in _split(net)
            )
        )

    def steps(
        self, rows: list[tf.Tensor], first: tf.Tensor, rates: tf.Tensor, loading: tf.Tensor
    ) -> tf.Tensor:
        """A step for each of `rates` [n, 2] in one loop of the graph; `rows` [n, batch_size, ...]
        are those of n global batches, `first` numbers the first step. Returns n packed reports,
        [n, width]."""
        count = rates.shape[0]
        packed = tf.TensorArray(
            tf.float32, count, element_shape=[width(self.recipe.terms, self.replicas)]
        )

        def body(i: tf.Tensor, packed: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            own = [array[i] for array in rows]
            loaded = tf.where(i == 0, loading, tf.zeros_like(loading))  # counts once
            report = self.step(own, first + tf.cast(i, tf.int64), rates[i], loaded)
            return i + 1, packed.write(i, report)

        _, packed = tf.while_loop(
            lambda i, _: i < count,
            body,
            [tf.constant(0), packed],
            parallel_iterations=1,
            maximum_iterations=count,
        )
        return packed.stack()

    def step(
        self, rows: list[tf.Tensor], step: tf.Tensor, rates: tf.Tensor, loading: tf.Tensor
    ) -> tf.Tensor:
        """One whole training step without loops in the graph; `rows` are those of the global batch.
        Returns this replica's share of the packed report, [width]."""
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            for part in range(self.config.accumulate - 1):
                self.add(p, rows, step, tf.constant(part))
            report = self.update(p, rows, step, rates, loading)
            if phase.log_metrics:
                reports.append(report)
                loading = tf.zeros_like(loading)
        return pack(over_phases(reports))

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
        computed = now(gradients)

        with tf.name_scope("exchange"):
            if config.average_every > 1:
                # the share of this replica as if it were all: the others train their own weights
                reduced = [self.replicas * gradient for gradient in gradients]
            else:
                kept, own = self._own_statistics(found)
                together = collectives.sum_over_replicas([*gradients, *own])
                reduced, means = together[: len(gradients)], together[len(gradients) :]
                for variable, mean in zip(kept, means, strict=True):
                    put(variable, mean)
        summed = now(reduced)
        with tf.name_scope("update"):
            updated, state = apply_gradients(config, nets, phase, reduced, rates)
        ended = now([*updated, *state])

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
        began = now(ready)
        with tf.control_dependencies([began, *ready]):
            draw = tf.identity(step * _MAX_PHASES + len(self.recipe.phases) - 1 - p)
            own = [
                tf.slice(array, [row] + [0] * (len(array.shape) - 1), [size, *array.shape[1:]])
                for array in rows
            ]
        scales = [optimizers.loss_scale(o) for o in (nets.g_optimizer, nets.d_optimizer)]
        with tf.name_scope("draws"):
            draws = self.recipe.draws(phase, own, draw, row)
        found = self._gradients[phase](self.state(), draws, scales)
        for net, statistics in zip(self._nets, found.statistics, strict=True):
            if statistics:
                for variable, value in zip(net.non_trainable_variables, statistics, strict=True):
                    put(variable, value)
        return found, began

    def shares(self, phase: Phase) -> Any:
        """The gradient function of a phase, of (state, draws, loss scales)."""
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

    def _own_statistics(self, found: Shares) -> tuple[list[keras.Variable], list[tf.Tensor]]:
        """Variables of moving statistics that each replica took of its own share of the batch, and
        this replica's part of their means over all; both empty where the statistics are shared."""
        if self.replicas == 1 or synchronized(self.config):
            return [], []
        kept: list[keras.Variable] = []
        own: list[tf.Tensor] = []
        for net, statistics in zip(self._nets, found.statistics, strict=True):
            kept += net.non_trainable_variables if statistics else []
            own += [value / self.replicas for value in statistics]
        return kept, own


def _split(net: keras.Model) -> tuple[list[keras.Variable], list[keras.Variable]]:
    return net.trainable_variables, net.non_trainable_variables


def now(done: Sequence[tf.Tensor] | tf.Tensor) -> tf.Tensor:
    """The moment in which all of `done` is there, in seconds; zero on accelerators, whose work is
    not finished when a graph continues."""
    if runtime.accelerated():
        return tf.zeros([], tf.float64)
    with tf.control_dependencies(done if isinstance(done, list) else [done]):
        return tf.timestamp()
