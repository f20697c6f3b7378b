"""Predicts frames on several replicas in a process of its own, because logical devices last as long
as the process.

    python -m tests.integration.tiled 2 OUTPUT.npz

Writes what one tile at a time, all on one replica, and shares on all replicas give, with and
without XLA, and how often each was compiled.
"""

from __future__ import annotations

import sys

import numpy as np

from ganboard.gan.config import parse
from ganboard.gan.devices import runtime


def main(replicas: str, output: str) -> None:
    config = parse(
        {
            "model": "pix2pix",
            "dataset": "flow",
            "images_path": "street",
            "geometry": "64x64",
            "strategy": "mirrored",
        }
    )
    config = config.model_copy(update={"replicas": int(replicas)})
    runtime.prepare(config)
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.models.pix2pix.prediction import inference
    from ganboard.gan.models.pix2pix.recipe import Recipe

    # five tiles, which two replicas do not share evenly
    frame = np.random.default_rng(0).normal(size=(64, 320, 4)).astype(np.float32)
    found = {}
    for name, count, options in (
        ("one", 1, {"group": 1}),
        ("grouped", 1, {}),
        ("replicas", int(replicas), {}),
        ("groups", int(replicas), {"group": 1}),
        ("xla", int(replicas), {"xla": True}),
    ):
        strategy = distribution.strategy(config.model_copy(update={"replicas": count}))
        assert strategy.num_replicas_in_sync == count
        with strategy.scope():
            generator, _ = Recipe(config.model_copy(update={"replicas": 1})).networks()
        tiled = inference.Tiled(generator, strategy, **options)
        found[name] = tiled(frame)
        np.testing.assert_array_equal(tiled(frame), found[name])
        found[f"{name} compiled"] = np.int64(tiled.compiled)
    np.savez(output, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
