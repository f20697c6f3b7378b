"""What tables over devices compile: each built-in model as its benchmark trains it. Free of
TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.settings import registry


def benchmark_configs() -> Iterator[RunConfig]:
    """Each built-in model at the batch of `ganboard bench`, with the generator of random numbers
    that is meant for accelerators."""
    for name, model in registry.models().items():
        if model.built_in:
            usual = model.spec.benchmark
            settings = {**usual.settings, **usual.rehearsed}
            values = {"model": name, "batch_size": usual.batch, "rng": "hash", **settings}
            yield parse(values)
