"""The training step of every model, as often as one call asks for.

A step has one or more phases (`gan.modeling.recipe`); `gan.training.replica` is what a phase does
in each replica.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.data import feed
from ganboard.gan.devices import graph, runtime
from ganboard.gan.distributed import collectives
from ganboard.gan.events import Losses
from ganboard.gan.modeling import recipe
from ganboard.gan.modeling.recipe import Recipe
from ganboard.gan.training import step_metrics
from ganboard.gan.training.networks import Networks, networks
from ganboard.gan.training.optimizers import put
from ganboard.gan.training.replica import Replica, now
from ganboard.gan.training.step_metrics import StepMetrics, StepReport

__all__ = ["Networks", "Stepper", "networks"]  # exported READMEs name `step.networks`

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
        # consecutive steps of one program
        self.together = config.steps_per_execution if config.strategy == "tpu" else 1
        # A small data set stays in host memory and a step gathers its rows (50 kB at batch 64), a
        # large one is read ahead of the step: order and position need no state, and every strategy
        # reads it alike, unlike through a tf.data pipeline.
        with tf.device("/CPU:0"):
            self._data = self.recipe.columns(data)
        self.replica = Replica(config, strategy, nets, self.recipe)

    def run(
        self,
        order: np.ndarray[Any, Any],
        first: int,
        global_step: int,
        count: int,
        rates: Losses | None = None,
    ) -> StepMetrics:
        """Take `count` steps on consecutive batches of `order`, from batch `first`; `global_step`
        numbers the first of them. With average_every > 1 the processes are equal again afterwards.

        `rates` [count, 2] are the learning rates of G and D, by default those of the configuration.
        `count` = 0 only traces and optimises the graph.
        """
        if rates is None:
            rates = np.full(
                [count, 2], [self.config.g_learning_rate, self.config.d_learning_rate], np.float32
            )
        with self.reading(order, first):
            rows = self._run(*self._arguments(order, first, global_step, count, rates))
            summed = collectives.sum_over_workers(self.strategy, rows).numpy()
        if self.config.average_every > 1 and count:
            self._average()
        return self.unpack(summed)

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def _average(self) -> None:
        """Give all processes the mean of what they have trained apart: weights, moments of the
        optimizers, moving statistics (local SGD: Stich, "Local SGD converges fast and communicates
        little", 2019, algorithm 1)."""
        variables = [v for v in self.nets.variables() if v.dtype == "float32"]

        def mean() -> None:
            summed = collectives.sum_over_replicas([v.value for v in variables])
            for variable, whole in zip(variables, summed, strict=True):
                put(variable, whole / self.replicas)

        self.strategy.run(mean)

    @contextmanager
    def reading(self, order: np.ndarray[Any, Any], first: int) -> Iterator[None]:
        """Steps taken inside read the batches of `order` from number `first` on, which are read
        ahead. Raises DatasetError when the disk refuses them."""
        feed.expect(self._data, order, first, self.config.batch_size)
        try:
            yield
        except tf.errors.OpError:
            if (failure := feed.failure(self._data)) is not None:
                raise failure from None
            raise

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
                self.replica.shares(self.recipe.phases[-1]), self.replica.example()
            )
        return found

    def _arguments(
        self, order: np.ndarray[Any, Any], first: int, global_step: int, count: int, rates: Losses
    ) -> list[tf.Tensor]:
        return [tf.constant(v) for v in (order, first, np.int64(global_step), count, rates)]

    # without AutoGraph, which takes longer than everything else that tracing does
    @tf.function(input_signature=_SIGNATURE, autograph=False)  # type: ignore[untyped-decorator]
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

        def examples(i: tf.Tensor, steps: int) -> tf.Tensor:
            start = (first + i) * self.config.batch_size
            return order[start : start + steps * self.config.batch_size]

        def several(i: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            after = i + self.together
            step = global_step + tf.cast(i, tf.int64)
            found = self._steps(examples(i, self.together), step, rates[i:after])
            return after, rows.scatter(tf.range(i, after), found)

        def one(i: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            step = global_step + tf.cast(i, tf.int64)
            return i + 1, rows.write(i, self._step(examples(i, 1), step, rates[i]))

        done = tf.constant(0)
        if self.together > 1:
            whole = count // self.together * self.together
            done, rows = tf.while_loop(lambda i, _: i < whole, several, (done, rows))
        _, rows = tf.while_loop(lambda i, _: i < count, one, (done, rows))
        return rows.stack()

    def _steps(self, batches: tf.Tensor, first: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """`together` training steps in one program of each replica, which returns to the host only
        after the last; their packed reports [together, width]."""
        size = self.config.batch_size
        loaded = [self._load(batches[i * size : (i + 1) * size]) for i in range(self.together)]
        with tf.device("/CPU:0"):
            rows = [tf.stack(arrays) for arrays in zip(*(rows for rows, _ in loaded), strict=True)]
        seconds = tf.add_n([seconds for _, seconds in loaded])
        rates = tf.ensure_shape(rates, [self.together, 2])
        found = self.strategy.run(self.replica.steps, (rows, first, rates, seconds))
        return tf.add_n(self.strategy.experimental_local_results(found))

    def _step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """One training step in all replicas; returns its packed report [width]."""
        rows, seconds = self._load(batch)
        reports = []
        for p, phase in enumerate(self.recipe.phases):
            if self.config.accumulate > 1:
                self._accumulate(p, rows, step)
            report = self.strategy.run(
                partial(self.replica.update, p), (rows, step, rates, seconds)
            )
            if phase.log_metrics:
                reports.append(self._over_replicas(report))
                seconds = tf.zeros_like(seconds)  # of loading, which counts once
        return step_metrics.pack(step_metrics.over_phases(reports))

    def _accumulate(self, phase: int, rows: list[tf.Tensor], step: tf.Tensor) -> None:
        """The gradients of all parts of the batch but the last, which the update takes itself."""

        def add(part: tf.Tensor) -> tf.Tensor:
            self.strategy.run(partial(self.replica.add, phase), (rows, step, part))
            return part + 1

        last = self.config.accumulate - 1
        tf.while_loop(lambda part: part < last, add, [tf.constant(0)])

    def _over_replicas(self, report: StepReport) -> StepReport:
        """The sum of the reports of this process's replicas."""
        return StepReport(
            *(tf.add_n(self.strategy.experimental_local_results(part)) for part in report)
        )

    def _load(self, batch: tf.Tensor) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The examples `batch` [batch_size], and the seconds that reading them took.

        On the host, since a TPU takes only what has a fixed shape.
        """
        began = now([])
        with tf.device("/CPU:0"), tf.control_dependencies([began]):
            rows = self.recipe.rows(self._data, batch)
        return rows, now(rows) - began

    def replica_step(self, batch: tf.Tensor, step: tf.Tensor, rates: tf.Tensor) -> tf.Tensor:
        """One whole training step in a replica, without loops in the graph: what `fit` runs.

        Returns the replica's share of the packed report, [width].
        """
        rows, seconds = self._load(batch)
        return self.replica.step(rows, step, rates, seconds)
