"""Registered generators: created from a checkpoint, loaded, and used for generation.

`gan/models/<name>/generation.py` has a class `Generation`, which says what requests and answers of
that model are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf
from pydantic import BaseModel, ValidationError

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.generation import labels, quantization
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.gan.generation.package import Manifest, VersionError
from ganboard.gan.generation.quantization import Arrays
from ganboard.gan.generation.restore import Misfit, assign, restore, untrained
from ganboard.gan.settings import registry

Floats = npt.NDArray[np.float32]
Draw = Callable[[Floats], Floats]  # what G is given [n, ...] -> what it makes [n, ...]

MAX_EXAMPLES = 64  # of one request


class Generation(Protocol):
    """What a model's generator is asked, and what its answer means, for one configuration."""

    request: type[BaseModel]  # what a person or a program asks
    output: str  # the name of what comes out
    together: int  # examples of one call when measured or served

    def __init__(self, config: RunConfig) -> None: ...

    def signature(self) -> dict[str, Any]:
        """Names, shapes, types and ranges of "inputs" (of a request) and "outputs"."""

    def inputs(self, asked: Any) -> Floats:
        """What G gets for a `request`, [n, ...]: a row depends on nothing but its own place in the
        request. Raises InvalidRequest."""

    def outputs(self, made: Floats) -> Floats:
        """What G has made, in the units of the signature."""

    def pictures(self, made: Floats) -> Floats:
        """What people look at: [n, H, W, C] in [-1, 1]."""

    def probe(self) -> Floats:
        """What G gets for one example, to see that it works."""

    def examples(self, data_dir: Path) -> Floats:
        """What G gets when two versions are compared, always the same. Raises DatasetError."""

    def compare(
        self, full: Floats, other: Floats, data_dir: Path, cache_dir: Path
    ) -> tuple[dict[str, float], float]:
        """The model's metrics of the outputs of a full and another version for `examples`, and by
        how many percent the other is worse."""


class Generator:
    """A version in memory."""

    def __init__(self, manifest: Manifest, arrays: Arrays) -> None:
        self.manifest, self.config = manifest, parse(manifest.config)
        self.generation = of(self.config)
        network = untrained(self.config)
        try:
            assign(network, quantization.unpack(arrays))
        except Misfit as error:
            raise VersionError(
                f"The weights do not match the generator of this version in {error}. Use the"
                " version that trained them."
            ) from None
        shape = tuple(network.inputs[0].shape[1:])
        if labels.is_labelled(network):
            shape = (shape[0] + 1,)

        def called(points: tf.Tensor) -> tf.Tensor:
            return network(labels.inputs(network, points), training=False)

        self._network = network  # its variables live as long as the function
        self._function = tf.function(
            called, [tf.TensorSpec([None, *shape], tf.float32)], autograph=False
        )
        self._rows = self._that_round_alike(shape)

    def tensors(self) -> dict[str, Any]:
        """Shape and type of what the network itself takes and makes; the first axis is the
        batch."""
        ends = {"input": self._network.inputs[0], "output": self._network.outputs[0]}
        return {name: {"shape": list(end.shape), "dtype": end.dtype} for name, end in ends.items()}

    def _that_round_alike(self, shape: tuple[int, ...]) -> int:
        """The most rows of a call, a power of two, that have the bits of each row alone. It depends
        on the processor's instructions, so it is measured: with AVX-512 all powers of two do, with
        AVX2 even a row's place in a call decides, and the answer is 1."""
        rows = self.generation.together
        inputs = np.random.default_rng(0).normal(size=(rows, *shape)).astype(np.float32)
        if labels.is_labelled(self._network):
            inputs[:, -1] = 0
        alone, alike = self._in_calls_of(1, inputs), 1
        while alike < rows and np.array_equal(self._in_calls_of(2 * alike, inputs), alone):
            alike *= 2
        return alike

    def _in_calls_of(self, most: int, inputs: Floats) -> Floats:
        """Outputs for `inputs` in calls of a power of two of rows, `most` at most."""
        first, made = 0, []
        while left := len(inputs) - first:
            rows = min(most, 1 << (left.bit_length() - 1))
            made.append(self._function(inputs[first : first + rows]).numpy())
            first += rows
        return np.concatenate(made)

    def __call__(self, inputs: Floats) -> Floats:
        """What G makes of `inputs` [n, ...]. A row's bits depend on no other row."""
        return self._in_calls_of(self._rows, inputs)


def of(config: RunConfig) -> Generation:
    """The generation of `config.model`."""
    found: Generation = registry.of(config).part("generation").Generation(config)
    return found


def extract(config: RunConfig, directory: Path, step: int) -> Arrays:
    """The variables of the generator whose images the checkpoint of `step` shows, by path. Raises
    CheckpointError."""
    generator = restore(config, directory, step)
    return {variable.path: variable.numpy() for variable in generator.variables}


def kernels(config: RunConfig) -> Mapping[str, int]:
    """The axis of the output channels of each kernel of the generator, by path."""
    transposed = keras.layers.Conv2DTranspose  # [height, width, out, in]
    layers = untrained(config).layers
    return {
        v.path: -2 if isinstance(layer, transposed) else -1
        for layer in layers
        for v in layer.trainable_variables
        if v.name == "kernel"
    }


def read(generation: Generation, document: Mapping[str, Any]) -> Floats:
    """What G gets for a request as it came. Raises InvalidRequest in one sentence."""
    try:
        asked = generation.request.model_validate(dict(document))
    except ValidationError as error:
        first = error.errors()[0]
        name, given = ".".join(map(str, first["loc"])) or "the request", str(first["input"])[:80]
        raise InvalidRequest(
            f"{name[:80]}={given} is invalid: {first['msg'][0].lower()}{first['msg'][1:]}."
        ) from None
    return generation.inputs(asked)


def likeness(full: Floats, other: Floats) -> dict[str, float]:
    """How far two versions' outputs for the same inputs are apart: `psnr` in dB of the full one's
    range, differences in its units."""
    apart = other.astype(np.float64) - full
    mean_square, spread = float(np.square(apart).mean()), float(full.max() - full.min())
    psnr = 10 * math.log10(spread**2 / mean_square) if mean_square and spread else math.inf
    metrics = {
        "root_mean_square_difference": math.sqrt(mean_square),
        "largest_difference": float(np.abs(apart).max()),
    }
    return metrics | ({"psnr": psnr} if math.isfinite(psnr) else {})


def require_finite(arrays: Arrays, what: str) -> None:
    """Raises VersionError where a value is not finite."""
    if bad := next((name for name, array in arrays.items() if not np.isfinite(array).all()), None):
        raise VersionError(
            f"{what} has non-finite values in {bad}. Choose an epoch before training diverged."
        )
