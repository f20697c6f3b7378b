"""The training step of every model, as often as one call asks for.

A step has one or more phases (`gan.modeling.recipe`). In each replica a phase draws, takes the
gradients of its share of the batch, sums them over all replicas in one piece, and updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
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
from ganboard.gan.modeling.gradients import FIGURES, Shares, State
from ganboard.gan.modeling.recipe import Phase, Recipe
from ganboard.gan.training import optimizers
from ganboard.gan.training.optimizers import put

_MAX_PHASES = 16  # draws of one step; the limit of RunConfig.d_steps
# What a step reports, in this order; the last ones tell about the reduced gradients and the update,
# which are equal in every replica
COLUMNS = (
    *FIGURES,
    "g_gradient",
    "g_update",
    "d_gradient",
    "d_update",
    "overflows",
    "underflows",
    "bad_tensor",
    "skipped",
    "loss_scale",
)
# of several phases; all other columns are added up
_LARGEST = [COLUMNS.index(name) for name in ("bad_tensor", "loss_scale")]
TIMES = ("input", "compute", "reduce", "step")  # seconds of one replica
_INT32, _INT64 = (tf.TensorSpec([], kind) for kind in (tf.int32, tf.int64))
# of Stepper._run
_SIGNATURE = [
    tf.TensorSpec([None], tf.int32),
    _INT32,
    _INT64,
    _INT32,
    tf.TensorSpec([None, 2], tf.float32),
]


@dataclass(frozen=True)
class Networks:
    """Both nets, their optimizers, and with `ema` the moving average of the generator."""

    generator: keras.Model
    discriminator: keras.Model
    g_optimizer: keras.Optimizer
    d_optimizer: keras.Optimizer
    average: keras.Model | None

    @property
    def shown(self) -> keras.Model:
        """The generator whose images are shown and judged."""
        return self.average or self.generator

    @property
    def tensors(self) -> list[str]:
        """Names of all trained tensors, D's first, as `bad_tensor` counts them."""
        return [
            f"{net.name}/{v.path}"
            for net in (self.discriminator, self.generator)
            for v in net.trainable_variables
        ]

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Everything that a checkpoint must hold, by name."""
        return {name: variable.numpy() for name, variable in self._variables()}

    def assign(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Take over `arrays`, which must have the names and shapes of `self.arrays()`."""
        for name, variable in self._variables():
            variable.assign(arrays[name])

    def _variables(self) -> Iterator[tuple[str, keras.Variable]]:
        parts = ((part, getattr(self, part)) for part in self.__dataclass_fields__)
        return (
            (f"{part}/{v.path}", v)
            for part, owner in parts
            if owner is not None
            for v in owner.variables
        )


def networks(config: RunConfig, model: Recipe | None = None) -> Networks:
    """Fresh nets and optimizers, a pure function of the configuration; call it inside the
    strategy's scope."""
    model = model or recipe.make(config)
    g, d = model.networks()
    g_optimizer, d_optimizer = (
        optimizers.make(config, rate) for rate in (config.g_learning_rate, config.d_learning_rate)
    )
    g_optimizer.build(g.trainable_variables)
    d_optimizer.build(d.trainable_variables)
    return Networks(g, d, g_optimizer, d_optimizer, model.networks()[0] if config.ema else None)


@dataclass(frozen=True)
class Taken:
    """What consecutive steps reported: `figures` [n, len(columns)] float32, `seconds` [n, replicas,
    len(TIMES)] float32."""

    figures: Losses
    seconds: Losses
    columns: Sequence[str] = COLUMNS

    def __len__(self) -> int:
        return len(self.figures)

    def __getitem__(self, name: str) -> Losses:
        """One of the columns, [n]."""
        return self.figures[:, self.columns.index(name)]


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
        self.config, self.strategy, self.nets, self.recipe = (
            config,
            strategy,
            nets,
            model or recipe.make(config),
        )
        self.replicas: int = strategy.num_replicas_in_sync
        self.columns = (*COLUMNS, *self.recipe.terms)
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
            self._figures = keras.Variable(
                tf.zeros(len(FIGURES) + len(self.recipe.terms)), trainable=False
            )

    def run(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        count: int,
        rates: Losses | None = None,
    ) -> Taken:
        """Take `count` steps on consecutive batches of `order`, from batch `first`; `global_step`
        numbers the first of them.

        `rates` [count, 2] are the learning rates of G and D, by default those of the configuration.
        `count` = 0 only traces and optimises the graph.
        """
        if rates is None:
            rates = np.full(
                [count, 2], [self.config.g_learning_rate, self.config.d_learning_rate], np.float32
            )
        reports = self._run(*self._arguments(order, first, global_step, count, rates))
        return self.taken(collectives.sum_over_workers(self.strategy, reports).numpy())

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

    def taken(self, reports: Losses) -> Taken:
        """Reports [n, width], summed over all replicas, by what they are about."""
        width = len(self.columns)
        return Taken(
            reports[:, :width],
            reports[:, width:].reshape(-1, self.replicas, len(TIMES)),
            self.columns,
        )

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
        reports = tf.TensorArray(tf.float32, count, element_shape=[self.width])
        for i in tf.range(count):
            start = (first + i) * self.config.batch_size
            batch, step = (
                order[start : start + self.config.batch_size],
                global_step + tf.cast(i, tf.int64),
            )
            reports = reports.write(i, self._step(batch, step, rates[i]))
        return reports.stack()

    def _step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        rows, seconds = self._load(batch)
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            if self.config.accumulate > 1:
                for part in tf.range(self.config.accumulate - 1):
                    self.strategy.run(_as_is(partial(self.add, p)), (rows, step, part))
            report = self.strategy.run(
                _as_is(partial(self.update, p)), (rows, step, rates, seconds)
            )
            if phase.told:
                reports.append(tf.add_n(self.strategy.experimental_local_results(report)))
                seconds = tf.zeros_like(seconds)  # of loading, told once
        return _together(reports)

    def _load(self, batch: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The examples `batch` [batch_size], and the seconds that reading them took.

        On the host, since a TPU takes only what has a fixed shape.
        """
        began = _now([])
        with tf.device("/CPU:0"), tf.control_dependencies([began]):
            rows = self.recipe.rows(self._data, batch)
        return rows, _now(rows) - began

    @property
    def width(self) -> int:
        """Numbers in the report of one step."""
        return len(self.columns) + self.replicas * len(TIMES)

    def replica_step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """One whole training step in a replica, without loops in the graph: what `fit` runs."""
        rows, seconds = self._load(batch)
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            for part in range(self.config.accumulate - 1):
                self.add(p, rows, step, tf.constant(part))
            report = self.update(p, rows, step, rates, seconds)
            if phase.told:
                reports.append(report)
                seconds = tf.zeros_like(seconds)
        return _together(reports)

    def add(self, p: int, rows: list[tf.Tensor], step: tf.Tensor, part: tf.Tensor) -> None:
        """Add a micro-batch's gradients to this replica's sums; `rows` are those of the global
        batch, `p` numbers the phase."""
        found, _ = self._micro_batch(p, rows, step, part)
        for total, gradient in zip(self._sums, self._padded(found), strict=True):
            put(total, total.value + gradient)
        put(self._figures, self._figures.value + found.figures)

    def update(
        self, p: int, rows: list[tf.Tensor], step: tf.Tensor, rates: tf.Tensor, loading: tf.Tensor
    ) -> tf.Tensor:
        """The last micro-batch of this replica and the update; returns its share of the step's
        report [width]. `loading` in seconds."""
        config, nets = self.config, self.nets
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        phase = self.recipe.phases[p]
        found, began = self._micro_batch(p, rows, step, tf.constant(config.accumulate - 1))
        gradients, figures = self._padded(found), found.figures
        if config.accumulate > 1:
            gradients = [
                total.value + gradient
                for total, gradient in zip(self._sums, gradients, strict=True)
            ]
            figures += self._figures.value
            with tf.control_dependencies([*gradients, figures]):
                for variable in (*self._sums, self._figures):
                    put(variable, tf.zeros(variable.shape))
        computed = _now(gradients)
        if self._sums:
            of_d = len(nets.discriminator.trainable_variables)
            gradients = gradients[0 if phase.d else of_d : None if phase.g else of_d]
        reduced = collectives.sum_over_replicas(gradients)
        summed = _now(reduced)
        told = self._apply(phase, reduced, rates)
        ended = _now(told)
        seconds = tf.cast(
            tf.stack([loading, computed - began, summed - computed, loading + ended - began]),
            tf.float32,
        )
        own_row = tf.one_hot(replica, self.replicas)[:, None] * seconds
        common = told * tf.cast(replica == 0, tf.float32)  # equal in every replica: said once
        shared = len(FIGURES)
        return tf.concat([figures[:shared], common, figures[shared:], tf.reshape(own_row, [-1])], 0)

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

    def _apply(self, phase: Phase, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> tf.Tensor:
        """Update from reduced gradients; returns the rest of COLUMNS."""
        config, nets = self.config, self.nets
        counted = [tf.zeros([]), tf.zeros([])]
        if config.precision != "float32":
            flags = [
                [~tf.math.is_finite(g) for g in gradients],
                [tf.equal(g, 0) for g in gradients],
            ]
            counted = [
                tf.add_n([tf.math.count_nonzero(flag, dtype=tf.float32) for flag in kind])
                for kind in flags
            ]
        parts = [(nets.d_optimizer, nets.discriminator, rates[1])] if phase.d else []
        parts += [(nets.g_optimizer, nets.generator, rates[0])] if phase.g else []
        given, squares, moves, skipped = iter(gradients), [], {}, tf.zeros([])
        for optimizer, net, rate in parts:
            weights = net.trainable_variables
            own = [next(given) for _ in weights]
            scale = optimizers.loss_scale(optimizer)
            norms = tf.stack([tf.nn.l2_loss(g) * 2 for g in own]) / tf.square(scale)
            square = tf.reduce_sum(norms)
            if config.clip_norm:
                own = [
                    g * (config.clip_norm / tf.maximum(tf.sqrt(square), config.clip_norm))
                    for g in own
                ]
            before = [tf.identity(v.value) for v in weights]
            with tf.control_dependencies([*before, square]):
                optimizers.set_rate(optimizer, rate)
                optimizer.apply(own, weights)
            moved = tf.add_n(
                [tf.nn.l2_loss(v.value - old) * 2 for v, old in zip(weights, before, strict=True)]
            )
            squares.append(norms)
            moves[net] = [square, moved]
            skipped += tf.cast(~tf.math.is_finite(square), tf.float32)
        if nets.average is not None and phase.g:
            self._average()
        norms = tf.concat(squares, 0)
        bad = tf.where(
            tf.reduce_all(tf.math.is_finite(norms)),
            -1,
            tf.argmax(tf.cast(~tf.math.is_finite(norms), tf.int32), output_type=tf.int32),
        )
        if not phase.d:  # tensors are counted from the discriminator's first
            bad = tf.where(bad < 0, bad, bad + len(nets.discriminator.trainable_variables))
        d, g = (
            moves.get(net, [tf.zeros([]), tf.zeros([])])
            for net in (nets.discriminator, nets.generator)
        )
        # there gradients overflow now and then, and such steps are skipped
        scaled = config.precision == "mixed_float16"
        last = [
            tf.cast(-1 if scaled else bad, tf.float32),
            skipped if scaled else tf.zeros([]),
            optimizers.loss_scale(nets.g_optimizer),
        ]
        return tf.stack([*g, *d, *counted, *last])

    def _average(self) -> None:
        """Move the average towards the generator, at first faster: decay min(ema, (1 + n) / (10 +
        n)) after n updates (Tan and Le 2019)."""
        nets = self.nets
        assert nets.average is not None
        n = tf.cast(nets.g_optimizer.iterations.value, tf.float32)
        decay = tf.minimum(self.config.ema, (1 + n) / (10 + n))
        for mean, now in zip(
            nets.average.trainable_variables, nets.generator.trainable_variables, strict=True
        ):
            put(mean, now.value + decay * (mean.value - now.value))
        for mean, now in zip(
            nets.average.non_trainable_variables,
            nets.generator.non_trainable_variables,
            strict=True,
        ):
            put(mean, now.value)

    def _keep(self, net: keras.Model, statistics: Sequence[tf.Tensor]) -> None:
        if self.replicas > 1 and not synchronized(self.config):
            statistics = tf.distribute.get_replica_context().all_reduce("MEAN", statistics)
        for variable, value in zip(net.non_trainable_variables, statistics, strict=True):
            put(variable, value)


def _together(reports: Sequence[tf.Tensor]) -> tf.Tensor:
    """One report of the phases of a step."""
    if len(reports) == 1:
        return reports[0]
    largest = tf.reduce_any(tf.equal(tf.range(tf.shape(reports[0])[0])[:, None], [_LARGEST]), 1)
    return tf.where(largest, reduce(tf.maximum, reports), tf.add_n(reports))


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
