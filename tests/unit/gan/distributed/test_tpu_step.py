"""The whole training step as a TPU takes it: what a core runs must be one program of fixed shapes
that XLA can compile."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.devices import graph, runtime
from ganboard.gan.training.step import Stepper, networks
from tests import fake_tpu

CORES = 2
# registered by TensorFlow's build for TPUs only
THE_TPUS_OWN = {"TPUReplicateMetadata", "CrossReplicaSum", "AllToAll"}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "every switch": {
        "precision": "mixed_bfloat16", "accumulate": 2, "d_steps": 2, "ema": 0.9, "clip_norm": 1,
        "r1": 1, "loss": "hinge", "optimizer": "rmsprop",
    },
    "penalty and momentum": {"loss": "wgan_gp", "optimizer": "sgd", "label_smoothing": 0},
    "recomputed": {"recompute": True, "loss": "saturating", "xla": True},
    "hashed": {"rng": "hash", "sync_batch_norm": False},
    "several steps": {"steps_per_execution": 4, "accumulate": 2, "d_steps": 2},
}  # fmt: skip


@pytest.fixture(params=VARIANTS)
def config(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    monkeypatch.setattr(runtime, "accelerated", lambda: True)
    return parse(
        {"strategy": "tpu", "replicas": CORES, "batch_size": 8 * CORES, **VARIANTS[request.param]}
    )


def stepper(config: RunConfig, strategy: tf.distribute.Strategy) -> Stepper:
    with strategy.scope():
        nets = networks(config)
    return Stepper(config, strategy, nets, np.zeros([config.batch_size, 28, 28, 1], np.uint8))


@pytest.mark.thorough
def test_xla_compiles_the_whole_step(config: RunConfig) -> None:
    alone = stepper(
        config.model_copy(update={"replicas": 1, "strategy": "default"}),
        tf.distribute.get_strategy(),
    )
    rows, step = [tf.zeros([config.batch_size, 28, 28, 1], tf.uint8)], tf.constant(3, tf.int64)
    for p in range(config.d_steps):
        assert (
            graph.uncompilable(
                partial(alone.replica.update, p),
                [rows, step, tf.zeros([2]), tf.zeros([], tf.float64)],
            )
            == []
        )
        if config.accumulate > 1:
            assert (
                graph.uncompilable(partial(alone.replica.add, p), [rows, step, tf.constant(0)])
                == []
            )


@pytest.mark.parametrize("settings", [{}, {"accumulate": 2, "d_steps": 2, "ema": 0.9}])
def test_several_steps_in_one_program_are_the_same_steps(settings: dict[str, Any]) -> None:
    order, rates = np.arange(7 * 8, dtype=np.int32), np.geomspace(1e-5, 1e-3, 14).reshape(7, 2)
    images = np.random.default_rng(0).integers(0, 256, [56, 28, 28, 1], np.uint8)
    found = []
    for together in (1, 3):
        config = parse(
            {"strategy": "tpu", "batch_size": 8, "steps_per_execution": together, **settings}
        )
        strategy = tf.distribute.get_strategy()
        one = Stepper(config, strategy, networks(config), images)
        # twice three, and one alone
        metrics = one.run(order, 0, 100, 7, rates.astype(np.float32))
        found.append((metrics, one.nets.arrays()))
    (alone, weights), (several, same) = found
    np.testing.assert_array_equal(alone.g_loss, several.g_loss)
    np.testing.assert_array_equal(alone.d_gradient, several.d_gradient)
    assert (several.seconds.input[[1, 2, 4, 5]] == 0).all()
    for name, array in weights.items():
        np.testing.assert_array_equal(array, same[name], err_msg=name)


def test_a_core_gets_fixed_shapes_and_operations_that_xla_knows(config: RunConfig) -> None:
    on_cores = stepper(config, fake_tpu.strategy(CORES))
    arguments = on_cores._arguments(
        np.arange(config.batch_size, dtype=np.int32), 0, 0, 0, np.zeros([0, 2], np.float32)
    )
    concrete = on_cores._run.get_concrete_function(*arguments)
    inside, given, programs = set(), [], 0
    for body in _graphs(concrete.graph):
        for op in body.get_operations():
            programs += op.type == "TPUReplicateMetadata"
            if "_tpu_replicate" in op.node_def.attr:
                inside.add(op.type)
            elif op.type == "TPUReplicatedInput":
                given += [(op.name, output.shape) for output in op.outputs]
    # a loop may hold its body twice
    assert programs >= config.d_steps * (1 + (config.accumulate > 1))
    assert "CrossReplicaSum" in inside
    assert not inside & {"Timestamp", "RngReadAndSkip"}
    if config.steps_per_execution == 1:
        assert not inside & {"GatherV2", "While", "TensorListReserve"}
    assert [name for name, shape in given if not shape.is_fully_defined()] == []
    assert graph.without_xla(inside - THE_TPUS_OWN) == []


def _graphs(graph: Any) -> list[Any]:
    """A graph and those of all functions that it calls."""
    found, waiting = [], [graph]
    while waiting:
        found.append(waiting.pop())
        waiting += [
            function.graph
            for function in found[-1]._functions.values()
            if hasattr(function, "graph")
        ]
    return found
