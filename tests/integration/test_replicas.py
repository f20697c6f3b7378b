"""n replicas compute what one computes, at the same global batch; each case in a process of
its own.

With SGD the weights agree to float32 rounding for some steps, until an activation that is zero but
for rounding falls on the other side of LeakyReLU's bend. Adam's update is about lr * g / |g|, so
where a gradient is itself little more than rounding error the update has full size and a random
sign. So SGD is held to rounding for 3 steps, in which a wrong factor moves weights by 0.01, Adam
for 20 with an epsilon that outweighs rounding errors, and for 20 with the usual one to equal losses
and to weights nearly all of which are within half an update.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording

pytestmark = pytest.mark.slow

STEPS = 20
RATE = 1e-4
Arrays = dict[str, np.ndarray[Any, Any]]


def take(directory: Path, *changes: dict[str, Any], steps: int = STEPS) -> list[Arrays]:
    """What each configuration comes to, all in one process."""
    configs = json.dumps([{"batch_size": 32, **one} for one in changes])
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.steps", configs, str(steps), str(directory)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [dict(np.load(directory / f"{number}.npz")) for number in range(len(changes))]


def on_one_and_two(directory: Path, *, steps: int = STEPS, **changes: Any) -> list[Arrays]:
    return take(directory, *({**changes, "replicas": n} for n in (1, 2)), steps=steps)


def distance(a: Arrays, b: Arrays, *parts: str) -> float:
    """Largest difference of any variable of `parts`."""
    names = [name for name in a if name.startswith(parts)]
    assert a.keys() == b.keys()
    assert names
    return max(float(np.abs(a[name].astype(np.float64) - b[name]).max()) for name in names)


def moved(after: Arrays, net: str) -> float:
    """Largest change of any weight of `net`; moving statistics, which no rate holds back, left
    out."""
    return max(
        float(np.abs(after[f"initial/{name}"] - after[name]).max())
        for name in after
        if name.startswith(net) and "moving_" not in name
    )


WEIGHTS = ("generator/", "discriminator/")  # moving statistics included


@pytest.mark.thorough
# The bound: 2.3e-6 was seen on one kind of processor, in a bias that moved by 2.6e-3, and a wrong
# factor shows as the latter. With batch norm in D the game is so unsteady that rounding errors grow
# tenfold every few steps: a smaller rate and a wider bound there.
@pytest.mark.parametrize(
    ("rate", "bound", "changes"),
    [
        (0.01, 5e-6, {}),
        (0.01, 5e-6, {"rng": "hash"}),
        (0.001, 2e-5, {"discriminator_batch_norm": True, "d_steps": 2}),
    ],
)
def test_two_replicas_equal_one_with_sgd(
    tmp_path: Path, rate: float, bound: float, changes: dict[str, Any]
) -> None:
    # large enough for a wrong factor to show
    rates = {"g_learning_rate": rate, "d_learning_rate": rate}
    one, two = on_one_and_two(tmp_path, steps=3, optimizer="sgd", **rates, **changes)
    assert distance(one, two, *WEIGHTS) < bound
    assert distance(one, two, "g_losses", "d_losses") < 10 * bound


@pytest.mark.thorough
def test_own_batch_norms_keep_the_mean_of_their_statistics(tmp_path: Path) -> None:
    """The mean over a batch is that of its halves; variances of halves leave out how their means
    differ, so they are smaller."""
    one, two = on_one_and_two(tmp_path, steps=1, optimizer="sgd", sync_batch_norm=False)
    assert distance(one, two, "generator/generator/norm_0/moving_mean") < 2e-6
    names = [name for name in one if name.endswith("moving_variance") and "initial" not in name]
    assert names
    assert all(two[name].mean() < one[name].mean() for name in names)
    assert distance(one, two, *WEIGHTS) > 1e-5  # the networks do not see the same


@pytest.mark.thorough
def test_two_replicas_equal_one_with_adam(tmp_path: Path) -> None:
    one, two = on_one_and_two(tmp_path, epsilon=1e-2)
    assert distance(one, two, *WEIGHTS) < 1e-6
    assert distance(one, two, "g_losses", "d_losses") < 1e-5


@pytest.mark.thorough
def test_two_replicas_with_adams_usual_epsilon_stay_close(tmp_path: Path) -> None:
    one, two = on_one_and_two(tmp_path, g_learning_rate=RATE, d_learning_rate=RATE)
    apart = np.concatenate(
        [np.abs(one[name] - two[name]).ravel() for name in one if name.startswith(WEIGHTS)]
    )
    print(
        f"median {np.median(apart):.1e}, 99 % {np.quantile(apart, 0.99):.1e}, largest"
        f" {apart.max():.1e}"
    )
    assert np.quantile(apart, 0.99) < RATE / 2
    assert apart.max() < STEPS * RATE
    assert distance(one, two, "g_losses", "d_losses") < 1e-3


SHOWERS = {
    "model": "gan3d",
    "dataset": "showers",
    "batch_size": 4,
    "optimizer": "sgd",
    "beta_1": 0.0,
}


@pytest.mark.thorough
@pytest.mark.parametrize("network", [{}, {"network": "compact", "r1": 1.0}], ids=["", "compact"])
def test_two_replicas_of_3dgan_move_as_one(tmp_path: Path, network: dict[str, Any]) -> None:
    """Its maps are nearly empty, so batch norm divides by little and lifts rounding errors: to two
    hundredths of a move (a change of every weight by 1e-7 of itself comes to one half of a
    hundredth), where a wrong factor would be half of it or more."""
    rates = {"g_learning_rate": 1e-5, "d_learning_rate": 1e-5}
    one, two = on_one_and_two(tmp_path, steps=1, **SHOWERS, **network, **rates)
    for net in WEIGHTS:
        assert distance(one, two, net) < 0.05 * moved(one, net)
    for losses in ("g_losses", "d_losses"):
        np.testing.assert_allclose(one[losses], two[losses], rtol=2e-4)


STREET = {
    "model": "pix2pix",
    "dataset": "flow",
    "images_path": "street",
    "geometry": "64x64",
    "batch_size": 8,
    "optimizer": "sgd",
    "beta_1": 0.0,
}


@pytest.mark.thorough
def test_two_replicas_of_pix2pix_move_as_one(tmp_path: Path) -> None:
    recording = Recording(
        (Case(Obstacle("circle", 6), 60),), (72, 66), frames=9, discard=300, every=20
    )
    frames.write(tmp_path / "street", recording)
    rates = {"g_learning_rate": 1e-3, "d_learning_rate": 1e-3}
    one, two = on_one_and_two(tmp_path, steps=1, **STREET, **rates)
    for net in WEIGHTS:
        # a wrong factor would be half of it or more
        assert distance(one, two, net) < 5e-3 * moved(one, net)
    for losses in ("g_losses", "d_losses"):
        np.testing.assert_allclose(one[losses], two[losses], rtol=1e-5)


@pytest.mark.thorough
def test_xla_on_cpu_leaves_two_replicas_equal_to_one(tmp_path: Path) -> None:
    one, two = on_one_and_two(tmp_path, steps=3, optimizer="sgd", xla=True)
    assert distance(one, two, *WEIGHTS) < 2e-6


@pytest.mark.thorough
def test_float16_runs_on_two_replicas(tmp_path: Path) -> None:
    changes = {"precision": "mixed_float16", "replicas": 2, "batch_size": 8}
    [half] = take(tmp_path, changes, steps=3)
    assert any("dynamic_scale" in name for name in half)
    assert np.isfinite(half["g_losses"]).all()
    assert half["g_losses"][0] == pytest.approx(math.log(2), rel=0.05)
