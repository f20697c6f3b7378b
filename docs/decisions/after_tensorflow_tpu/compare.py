"""Trains ganboard's TensorFlow step and the JAX step from the same weights on the same draws, and
prints how far they are apart.

    python docs/decisions/after_tensorflow_tpu/compare.py float32|mixed_bfloat16

The yardstick is TensorFlow's step beside itself compiled by XLA. Relative differences are the
largest difference within a tensor over the largest value in it, of the worst tensor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}

import jax
import jax.numpy as jnp
import numpy as np
from step import Draws, Step

from ganboard.gan.config import parse

STEPS = 10
QUANTITIES = ("losses", "g_gradients", "d_gradients", "g_weights", "d_weights", "g_statistics")
Record = dict[str, np.ndarray[Any, Any]]


def recorded(precision: str, mode: str, path: Path) -> Record:
    program = Path(__file__).with_name("record.py")
    environment = {key: value for key, value in os.environ.items() if key != "KERAS_BACKEND"}
    command = [sys.executable, program, precision, str(STEPS), mode, path]
    subprocess.run(command, check=True, env=environment)
    with np.load(path) as file:
        return dict(file)


def tensors(record: Record, name: str) -> list[np.ndarray[Any, Any]]:
    count = sum(key.rsplit("/", 1)[0] == name for key in record)
    return [record[f"{name}/{i}"] for i in range(count)]


def trained_by_jax(precision: str, theirs: Record) -> Record:
    """The same steps in JAX, on the draws that TensorFlow made."""
    step = Step(parse({"dataset": "digits", "precision": precision}))
    state = step.initial()
    state = state._replace(
        g=state.g._replace(
            weights=[jnp.asarray(x) for x in tensors(theirs, "0/g_weights")],
            statistics=[jnp.asarray(x) for x in tensors(theirs, "0/g_statistics")],
        ),
        d=state.d._replace(weights=[jnp.asarray(x) for x in tensors(theirs, "0/d_weights")]),
    )
    gradients, update = jax.jit(step.gradients), jax.jit(step.update)
    own_draws = jax.jit(step.draws)
    ours: Record = {}
    for number in range(STEPS):
        images, noise, *masks = tensors(theirs, f"{number + 1}/draws")
        draws = Draws(images, noise, masks[:2], masks[2:])
        drawn = own_draws(images, jnp.uint32(number))
        found = gradients(state, draws)
        state, report = update(state, draws)
        parts = {
            "drawn": [images, drawn.noise, *drawn.real_masks, *drawn.fake_masks],
            "losses": [report[:4]],
            "g_gradients": found.g,
            "d_gradients": found.d,
            "g_weights": state.g.weights,
            "d_weights": state.d.weights,
            "g_statistics": state.g.statistics,
        }
        for name, values in parts.items():
            for i, value in enumerate(values):
                ours[f"{number + 1}/{name}/{i}"] = np.asarray(value)
    return ours


def apart(one: Record, other: Record, name: str) -> str:
    absolute, relative = 0.0, 0.0
    for a, b in zip(tensors(one, name), tensors(other, name), strict=True):
        largest = float(np.max(np.abs(a.astype(np.float64) - b)))
        absolute = max(absolute, largest)
        relative = max(relative, largest / max(float(np.max(np.abs(b))), 1e-30))
    return f"{absolute:.1e} | {relative:.1e}"


def print_draws(label: str, record: Record, plain: Record) -> None:
    _, noise, *masks = tensors(record, f"{STEPS}/drawn")
    _, wanted, *wanted_masks = tensors(plain, f"{STEPS}/drawn")
    wrong = sum(int(np.sum(a != b)) for a, b in zip(masks, wanted_masks, strict=True))
    largest = float(np.max(np.abs(noise - wanted)))
    print(f"own draws of {label}: {wrong} entries of masks differ, noise by up to {largest:.1e}")


def main(precision: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        plain = recorded(precision, "plain", Path(directory) / "plain.npz")
        xla = recorded(precision, "xla", Path(directory) / "xla.npz")
    ours = trained_by_jax(precision, plain)
    print(f"{precision}, batch 64")
    print_draws("TensorFlow under XLA", xla, plain)
    print_draws("JAX", ours, plain)
    for label, record in (("TensorFlow", plain), ("TensorFlow, XLA", xla), ("JAX", ours)):
        losses = record[f"{STEPS}/losses/0"]
        print(f"losses of G and D in step {STEPS}, {label}: {losses[0]:.6f} {losses[1]:.6f}")
    print("| after | quantity | JAX: abs | rel | TensorFlow under XLA: abs | rel |")
    print("|---|---|---|---|---|---|")
    for after in (1, STEPS):
        for quantity in QUANTITIES:
            name = f"{after}/{quantity}"
            print(
                f"| {after} | {quantity} | {apart(ours, plain, name)} | {apart(xla, plain, name)} |"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
