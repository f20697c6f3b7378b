"""The networks of a run as files of other programs: Keras's own, TensorFlow's SavedModel, ONNX.

Our layers compute as Keras's do with the same weights, in other ways: they become Keras's, in
float32 and for inference, so that the files need no ganboard. Whatever layer is a model's own stays
as it is; its `.keras` file needs the code of that layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.generation.formats import KERAS, NAMES, ONNX, SAVED_MODEL
from ganboard.gan.generation.restore import alone, load
from ganboard.gan.layers.in_keras import in_keras
from ganboard.gan.layers.masked_dropout import MaskedDropout
from ganboard.gan.modeling import recipe

SUFFIXES = {KERAS: ".keras", SAVED_MODEL: "", ONNX: ".onnx"}
ROWS = 2  # of the inputs that both forms are compared on
_MASK = "keep_"  # inputs for dropout's masks, see `gan.layers.factory`
_PLACEHOLDERS = ("keras_tensor", "input_layer")  # names that Keras invents
Arrays = list[npt.NDArray[Any]]


class NotExported(Exception):
    """A network that cannot be written; the message is one sentence."""


@dataclass(frozen=True)
class Port:
    """An input or the output of a network; the first axis is the batch."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Written:
    """A file, or for a SavedModel a folder."""

    path: Path
    network: str  # one of NAMES
    format: str
    inputs: list[Port]
    output: Port
    # largest difference from the network as ganboard computes it, as a share of its largest output
    difference: float
    foreign: list[str]  # layers that are not Keras's: a .keras file needs their code


def write(
    config: RunConfig,
    checkpoints: Path,
    step: int,
    folder: Path,
    *,
    formats: Sequence[str],
    names: Sequence[str] = NAMES,
    average: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Written]:
    """Write networks as they were after `step` into `folder`, in some of FORMATS; ONNX needs the
    packages of the extra `onnx`. A generator with `ema` has its average weights, without `average`
    those that were trained. Raises NotExported, CheckpointError and OSError."""
    pair = dict(zip(NAMES, recipe.make(alone(config)).networks(), strict=True))
    written = []
    for name in names:
        progress(f"reading the {name}")
        network = pair[name]
        load(network, config, checkpoints, step, name=name, average=average)
        plain = in_keras_layers(network, name)
        difference = _difference(network, plain)
        for one in formats:
            progress(f"writing the {name} as {one}")
            path = folder / f"{name}{SUFFIXES[one]}"
            _save(plain, path, one)
            written.append(
                Written(
                    path,
                    name,
                    one,
                    [Port(i.name, tuple(i.shape), str(i.dtype)) for i in plain.inputs],
                    Port("output", tuple(plain.outputs[0].shape), str(plain.outputs[0].dtype)),
                    difference,
                    foreign(plain),
                )
            )
    return written


def in_keras_layers(network: keras.Model, name: str) -> keras.Model:
    """The same function of named inputs in Keras's own layers as far as it has them, in float32 and
    without dropout."""
    weighted: list[tuple[Any, list[Any]]] = []

    def made(layer: Any) -> Any:
        if not isinstance(layer, keras.layers.Layer) or isinstance(layer, MaskedDropout):
            return layer
        weighted.append(in_keras(layer))
        return weighted[-1][0]

    def called(layer: Any, *given: Any, **named: Any) -> Any:
        return given[0][0] if isinstance(layer, MaskedDropout) else layer(*given, **named)

    inputs = [
        keras.Input(tensor.shape[1:], dtype=tensor.dtype, name=given)
        if given
        else keras.Input(tensor.shape[1:], dtype=tensor.dtype, optional=True)
        for tensor, given in zip(network.inputs, _input_names(network, name), strict=True)
    ]
    if isinstance(network, keras.Sequential):
        clone = keras.models.clone_model(network, inputs, clone_function=made)
    else:
        given = keras.tree.pack_sequence_as(network.input, inputs)
        clone = keras.models.clone_model(network, given, clone_function=made, call_function=called)
    for layer, weights in weighted:
        layer.set_weights([one.numpy() for one in weights])
    kept = [tensor for tensor in inputs if not tensor.name.startswith(_PLACEHOLDERS)]
    outputs = clone.outputs
    return keras.Model(
        kept if len(kept) > 1 else kept[0], outputs if len(outputs) > 1 else outputs[0], name=name
    )


def foreign(network: keras.Model) -> list[str]:
    """Names of the classes of layers that are not Keras's, in models within models too."""
    return sorted(
        {
            type(layer).__name__
            for layer in network._flatten_layers(include_self=False)
            if not type(layer).__module__.startswith("keras.")
        }
    )


def _input_names(network: keras.Model, name: str) -> list[str]:
    """A name for each input, empty for those of dropout's masks."""
    names = []
    for place, tensor in enumerate(network.inputs):
        if tensor.name.startswith(_MASK):
            names.append("")
        elif "int" in str(tensor.dtype):
            names.append("label")
        elif not tensor.name.startswith(_PLACEHOLDERS):
            names.append(tensor.name)
        elif place == 0:
            names.append("latent" if name == NAMES[0] and len(tensor.shape) == 2 else "image")
        else:
            names.append(f"input_{place}")
    return names


def probes(network: keras.Model) -> Arrays:
    """Inputs with any values, those of dropout's masks left out."""
    random = np.random.default_rng(0)
    return [
        np.zeros((ROWS, *tensor.shape[1:]), str(tensor.dtype))
        if "int" in str(tensor.dtype)
        else random.normal(size=(ROWS, *tensor.shape[1:])).astype(np.float32)
        for tensor in network.inputs
        if not tensor.name.startswith(_MASK)
    ]


def _difference(network: keras.Model, plain: keras.Model) -> float:
    given = probes(network)
    masks = [None] * (len(network.inputs) - len(given))
    ours = _called(network, [*given, *masks])
    difference = float(np.abs(_called(plain, given) - ours).max())
    return difference / max(float(np.abs(ours).max()), 1e-30)


def _called(network: keras.Model, given: list[Any]) -> npt.NDArray[Any]:
    one = isinstance(network, keras.Sequential)
    out = network(
        given[0] if one else keras.tree.pack_sequence_as(network.input, given), training=False
    )
    return np.asarray(out[0] if isinstance(out, list | tuple) else out, np.float32)


def _save(network: keras.Model, path: Path, form: str) -> None:
    try:
        if form == KERAS:
            network.save(path)
        elif form == SAVED_MODEL:
            network.export(str(path), format="tf_saved_model", verbose=False)
        else:
            network.export(str(path), format="onnx", verbose=False)
            import onnx

            onnx.checker.check_model(str(path))  # what cannot be converted is only logged
    except OSError:
        raise
    except Exception as error:  # converters raise many undocumented exceptions
        if path.is_file():  # nobody should take it for a network
            path.unlink()
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise NotExported(f"The {network.name} cannot be written as {form}: {first}") from None
