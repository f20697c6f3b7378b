"""What tables over devices compile: models as their benchmarks train them. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.settings import registry


def benchmark_configs(names: Iterable[str] = ()) -> list[RunConfig]:
    """Each of these models, or each built-in one, at the batch of `ganboard bench`, with the
    generator of random numbers that is meant for accelerators.

    Raises ConfigError for an unknown name.
    """
    wanted = list(names) or [name for name, model in registry.models().items() if model.built_in]
    return [_benchmark_config(name) for name in wanted]


def _benchmark_config(name: str) -> RunConfig:
    usual = registry.get(name).spec.benchmark
    values = {"model": name, "batch_size": usual.batch, "rng": "hash"}
    return parse({**values, **usual.settings, **usual.rehearsed})
