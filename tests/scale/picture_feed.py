"""How much memory and waiting a large set of pictures costs a training: `python -m
tests.scale.picture_feed FOLDER`. See docs/data.md.

The set is synthetic, the steps are those of the platform, on small networks that stand in for any.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

MIB = 2**20
TILE = 1000  # different pictures
MEMORY_GOAL = 1 << 30  # bytes
WAIT_GOAL = 0.02  # of a step


def write(path: Path, examples: int, side: int, channels: int) -> None:
    """Random pictures as the cache has them, [examples, side, side, channels] uint8."""
    tile = np.random.default_rng(0).integers(0, 256, (TILE, side, side, channels), np.uint8)
    with path.open("wb") as file:
        kind = {"descr": "|u1", "fortran_order": False}
        shape = (examples, side, side, channels)
        np.lib.format.write_array_header_1_0(file, {**kind, "shape": shape})
        for first in range(0, examples, TILE):
            file.write(tile[: examples - first].data)
        file.flush()
        os.fsync(file.fileno())


def forget(path: Path) -> None:
    """Let the kernel drop what it holds of a file, so that the disk is read again."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=16, help="filters of the networks")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--strategy", default="auto", help="multi_worker needs TF_CONFIG")
    parser.add_argument("--loop", choices=("custom", "fit"), default="custom")
    parser.add_argument("--in-memory", action="store_true", help="for comparison")
    chosen = parser.parse_args()

    path = chosen.folder / f"{chosen.examples}-{chosen.side}.npy"
    if not path.exists():
        write(path, chosen.examples, chosen.side, 3)
    forget(path)
    measure(path, chosen)


def measure(path: Path, chosen: argparse.Namespace) -> None:
    from ganboard.gan.config import parse
    from ganboard.gan.devices import runtime

    config = parse(
        {
            "dataset": "digits",
            "batch_size": chosen.batch,
            "replicas": chosen.replicas,
            "strategy": chosen.strategy,
            "loop": chosen.loop,
        }
    )
    runtime.prepare(config)

    import keras
    import tensorflow as tf

    from ganboard.gan.data import feed
    from ganboard.gan.data.pictures.rows import Rows
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.models.dcgan import recipe as dcgan
    from ganboard.gan.rng import philox
    from ganboard.gan.training import fit, runner
    from ganboard.gan.training.networks import networks
    from ganboard.gan.training.step import Stepper

    rows = Rows(path)

    class StandIn(dcgan.Recipe):
        """Both nets of a GAN of any size, without dropout."""

        def networks(self) -> tuple[keras.Model, keras.Model]:
            options: dict[str, Any] = {"strides": 2, "padding": "same"}
            width = chosen.width
            eighth = chosen.side // 8
            g = keras.Sequential([keras.Input([config.latent_dim])], name="generator")
            g.add(keras.layers.Dense(eighth**2 * 4 * width))
            g.add(keras.layers.Reshape([eighth, eighth, 4 * width]))
            for filters in (2 * width, width):
                g.add(keras.layers.Conv2DTranspose(filters, 4, **options))
                g.add(keras.layers.LeakyReLU())
            g.add(keras.layers.Conv2DTranspose(3, 4, activation="tanh", **options))
            d = keras.Sequential([keras.Input(rows.shape[1:])], name="discriminator")
            for filters in (width, 2 * width, 4 * width):
                d.add(keras.layers.Conv2D(filters, 4, **options))
                d.add(keras.layers.LeakyReLU())
            d.add(keras.layers.Flatten())
            d.add(keras.layers.Dense(1))
            return g, d

        def columns(self, data: Any) -> list[Any]:
            return feed.columns(data, memory=1 << 40 if chosen.in_memory else 0)

        def rows(self, columns: Sequence[Any], batch: tf.Tensor) -> list[tf.Tensor]:
            return feed.rows(columns, batch, config.batch_size)

        def example(self, count: int) -> list[tf.Tensor]:
            return [tf.zeros([count, *rows.shape[1:]], tf.uint8)]

        def draws(self, phase: Any, own: Any, draw: tf.Tensor, row: tf.Tensor) -> dcgan.Draws:
            return super().draws(phase, own, draw, row)._replace(at_real=[], at_fake=[])

    strategy = distribution.strategy(config)
    keras.utils.set_random_seed(config.seed)
    model = StandIn(config)
    with strategy.scope():
        nets = networks(config, model)
    before = psutil.Process().memory_info().rss
    stepper = Stepper(config, strategy, nets, rows, model)
    steps: runner.Runner = (
        fit.FitLoop(stepper, int) if chosen.loop == "fit" else runner.CustomLoop(stepper, int)
    )
    order = philox.order(config.seed, 1, len(rows))
    steps.warm_up(order)
    rates = np.full([chosen.steps, 2], 1e-4, np.float32)
    waits: list[float] = []
    seconds: list[float] = []
    losses: list[float] = []
    rss = 0
    began = time.monotonic()
    for report in steps.epoch(order, 1, 1, rates):
        rss = max(rss, psutil.Process().memory_info().rss)
        waits += report.metrics.seconds.input.mean(-1).tolist()
        losses += report.metrics.g_loss.tolist()
        seconds += report.metrics.seconds.step.mean(-1).tolist()
    whole = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wait = sum(waits) / sum(seconds)
    print(
        f"{len(rows):,} pictures {'x'.join(map(str, rows.shape[1:]))}, {rows.nbytes / 1e9:.2f} GB,"
        f" batch {chosen.batch}, {chosen.loop}, {chosen.replicas} replicas,"
        f" {'in memory' if chosen.in_memory else 'on disk'}"
    )
    print(f"  step {1000 * sum(seconds) / len(seconds):.1f} ms, {whole:.1f} s for {len(waits)}")
    print(
        f"  input wait {100 * wait:.2f} % (median {1e3 * float(np.median(waits)):.2f} ms, 99 %"
        f" {1e3 * float(np.quantile(waits, 0.99)):.2f} ms, first {1e3 * waits[0]:.2f} ms);"
        f" goal {100 * WAIT_GOAL:.0f} %"
    )
    print(f"  losses {hashlib.sha256(np.array(losses).tobytes()).hexdigest()}")
    print(
        f"  resident {rss / MIB:,.0f} MiB, peak {peak / MIB:,.0f} MiB, before the data"
        f" {before / MIB:,.0f} MiB; goal {MEMORY_GOAL / MIB:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
