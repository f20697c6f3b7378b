"""What the engine's tests share: a process that runs all of them must not keep every graph."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

OURS = "CustomGradient-"


@pytest.fixture(scope="module", autouse=True)
def _forget_gradients() -> Iterator[None]:
    """TensorFlow registers the gradient of each call of a `tf.custom_gradient` that it traces, and
    through it keeps the graph: 10 GB after all modules."""
    yield
    ops = sys.modules.get("tensorflow.python.framework.ops")
    if ops is None:
        return
    registered = ops.gradient_registry._registry
    traced = [name for name in registered if name.startswith(OURS)]
    for name in traced:
        del registered[name]
    if traced:
        gc.collect()
