from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}

# TensorFlow takes the number of its logical devices once per process, so the second one needs a
# process of its own.
PLACED = """
import json
import tensorflow as tf
from ganboard.gan.devices import graph

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
images = tf.constant(list(range(100)))
with tf.device("CPU:1"):
    weights = tf.Variable(tf.ones([8]))


@tf.function
def step(count, order):
    total = tf.zeros([8])
    for _ in tf.range(count):
        with tf.device("CPU:0"):
            rows = tf.gather(images, order)
        with tf.device("CPU:1"):
            weights.assign_add(tf.tanh(tf.cast(rows, tf.float32) * weights))
            total += tf.sin(weights)
    return total


concrete = step.get_concrete_function(tf.TensorSpec([], tf.int32), tf.TensorSpec([8], tf.int32))
concrete(tf.constant(2), tf.range(8))  # a run before makes no difference
before = weights.numpy().tolist()
devices = (["CPU:1"], ["CPU:0", "CPU:1"], None)
inputs = [tf.constant(0), tf.range(8)]
found = [graph.off_accelerator(concrete, inputs, names) for names in devices]
print(json.dumps([found, before == weights.numpy().tolist()]))
"""


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    script = tmp_path_factory.mktemp("placed") / "placed.py"  # AutoGraph reads the source of loops
    script.write_text(PLACED)
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=ENVIRONMENT,
    )
    found, unchanged = json.loads(done.stdout)
    assert unchanged
    return found


@pytest.mark.thorough
def test_operations_placed_elsewhere_are_named_and_counted(placed: list[list[str]]) -> None:
    apart = placed[0]
    assert "GatherV2 x1 on CPU:0" in apart
    assert not [
        line for line in apart if line.startswith(("Tanh", "Sin", "Mul", "AssignAddVariableOp"))
    ]
    assert not [
        line for line in apart if line.startswith(("_Send", "_Recv", "Const", "Switch", "Merge"))
    ]
    assert all(line.endswith("on CPU:0") for line in apart)


@pytest.mark.thorough
def test_nothing_is_elsewhere_when_every_device_counts_or_none_is_an_accelerator(
    placed: list[list[str]],
) -> None:
    assert placed[1] == []
    assert placed[2] == []


def test_fusion_leaves_one_kernel_of_many_elementwise_operations() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    def chain(nested: list[list[tf.Tensor]]) -> tf.Tensor:
        (x, y), (z,) = nested
        return tf.tanh(x * y + z) - tf.sqrt(z)

    ones = tf.ones([8, 128])
    assert graph.kernels(chain, [[[ones, ones], [ones]]]) == (5, 1)


def test_products_stay_kernels_and_both_counts_see_them() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    def network(weights: list[tf.Tensor], x: tf.Tensor) -> tf.Tensor:
        return tf.nn.leaky_relu(tf.reshape(x, [32, 64]) @ weights[0]) @ weights[1]

    weights = [tf.ones([64, 256]), tf.ones([256, 16])]
    before, after = graph.kernels(network, [weights, tf.ones([32, 8, 8])])
    assert after == 3  # two products, and the LeakyReLU between them in one
    assert before > after


def test_many_outputs_are_no_kernels() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    x = tf.ones([16])
    # tuples of more than five carry comments
    before, after = graph.kernels(lambda v: [tf.sin(v + i) for i in range(8)], [x])
    assert before == 16
    assert 1 <= after <= 8


def test_what_xla_cannot_compile_is_named_even_inside_loops() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            x += tf.strings.to_number(tf.strings.as_string(x))
        return tf.numpy_function(lambda v: v, [x], tf.float32)

    assert graph.uncompilable(step, [tf.ones([4])]) == ["AsString", "PyFunc", "StringToNumber"]


def test_what_has_kernels_but_no_fixed_shapes_is_reported_in_xlas_terms() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    @tf.function
    def widen(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.concat([x, x], 0)
        return x

    reasons = graph.uncompilable(widen, [tf.ones([4])])
    assert len(reasons) == 1
    assert "shapes of loop body do not match" in reasons[0]


def test_a_training_step_with_variables_and_a_loop_compiles_and_is_not_run() -> None:
    import tensorflow as tf

    from ganboard.gan.devices import graph

    weights = tf.Variable(tf.ones([4, 4]))

    @tf.function
    def step(count: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        loss = tf.zeros([])
        for _ in tf.range(count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x @ weights))
            weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    assert graph.uncompilable(step, [tf.constant(3), tf.ones([2, 4])]) == []
    assert (weights.numpy() == 1).all()
