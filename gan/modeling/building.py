"""Makes a network of a function that a person wrote with plain Keras layers: its weights, names and
precision are a function of the run's configuration, whatever the process built before."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from keras.src.backend.common import global_state

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.layers.substitutes import substitute
from ganboard.gan.rng import philox

NAMES = ("generator", "discriminator")
Build = Callable[[Any], keras.Model]

_GLOBALS = ("object_name_uids", "global_seed_generator")


def network(config: RunConfig, net: int, build: Build) -> keras.Model:
    """The network that `build(config)` returns, `net` 0 for a generator and 1 for a discriminator,
    with layers that keep the promises of a run (`gan.layers.substitutes`).

    Call it inside the strategy's scope. Raises ConfigError.
    """
    name = NAMES[net]
    with _fresh(philox.layer_seed(config.seed, net, 0), config.precision):
        try:
            made = build(config)
        # whatever a person's code raises ends here, in a sentence for its author
        except Exception as error:
            reason = " ".join(str(error).split())[:300].rstrip(".")
            raise ConfigError(
                f"The {name} of model={config.model} cannot be built"
                f" ({type(error).__name__}: {reason}): correct {name}(config)."
            ) from error
    if not isinstance(made, keras.Model):
        raise ConfigError(
            f"{name}(config) of model={config.model} returned {type(made).__name__}: return a"
            " keras.Model."
        )
    if not made.built or not getattr(made, "inputs", None):
        raise ConfigError(
            f"The {name} of model={config.model} has no inputs yet: begin it with keras.Input."
        )
    made.name = name
    substitute(made, config)
    _check_names(config, made)
    return made


@contextmanager
def _fresh(seed: int, precision: str) -> Iterator[None]:
    """Keras as in a new process: initializers without a seed get theirs from Python's generator,
    and layers without a name are numbered from zero. Afterwards all is as before."""
    before = {name: global_state.get_global_attribute(name) for name in _GLOBALS}
    policy = keras.config.dtype_policy()
    python, numpy = random.getstate(), np.random.get_state()
    try:
        global_state.set_global_attribute("object_name_uids", defaultdict(int))
        global_state.set_global_attribute("global_seed_generator", None)
        keras.config.set_dtype_policy(precision)
        random.seed(seed)
        np.random.seed(seed)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        keras.config.set_dtype_policy(policy)
        for name, value in before.items():
            global_state.set_global_attribute(name, value)


def _check_names(config: RunConfig, net: keras.Model) -> None:
    """Checkpoints hold variables by their paths."""
    seen: set[str] = set()
    for variable in net.variables:
        if variable.path in seen:
            raise ConfigError(
                f"Two variables of the {net.name} of model={config.model} are called"
                f" {variable.path!r}: give their layers names of their own."
            )
        seen.add(variable.path)
