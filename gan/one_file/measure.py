"""Reads costs off the networks of the configurations on stdin, one in each line: `python -m
ganboard.gan.one_file.measure`. Its last lines are the answers in JSON: the layers, or a sentence
where the networks cannot be built."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from math import prod
from typing import TYPE_CHECKING, Any

from ganboard.gan.costs.layer import LayerCost

if TYPE_CHECKING:
    import keras


def costs(network: keras.Model) -> tuple[LayerCost, ...]:
    """Of each layer that computes something, in order; numbers are for one image.

    A kernel meets each place of the smaller map once, so that zeros of padding and stride are
    skipped, as in `gan.architecture`.
    """
    return tuple(_cost(layer) for layer in _leaves(network))


def _leaves(network: Any) -> Iterator[Any]:
    for layer in network.layers:
        if hasattr(layer, "layers"):
            yield from _leaves(layer)
        elif type(layer).__name__ not in _FREE:
            yield layer


# they compute nothing that the backward pass waits for
_FREE = ("InputLayer", "Reshape", "Flatten", "Permute", "ZeroPadding2D", "Cropping2D", "Add")


def _cost(layer: Any) -> LayerCost:
    entering = sum(prod(shape) for shape in _shapes(layer.input))
    leaving = sum(prod(shape) for shape in _shapes(layer.output))
    sizes = [prod(variable.shape) for variable in layer.trainable_variables]
    kernels = [prod(v.shape) for v in layer.trainable_variables if len(v.shape) > 1]
    name = type(layer).__name__
    if name == "Embedding":
        kernels = []  # a row is looked up
    channels = (_shapes(layer.output)[0] or (1,))[-1]
    incoming = (_shapes(layer.input)[0] or (1,))[-1]
    places = min(entering // incoming, leaving // channels) if kernels else 0
    return LayerCost(
        layer.name,
        macs=max(places, 1) * sum(kernels) if kernels else 0,
        parameters=sum(sizes),
        entering=entering,
        leaving=leaving,
        norm="Normalization" in name and "Spectral" not in name,
        masked="Dropout" in name,
    )


def _shapes(tensors: Any) -> list[tuple[int, ...]]:
    """Without the batch."""
    found = tensors if isinstance(tensors, list | tuple) else [tensors]
    return [tuple(tensor.shape[1:]) for tensor in found]


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    answers = [_answer(json.loads(line)) for line in sys.stdin]
    sys.stdout.write("".join(f"\n{json.dumps(answer)}" for answer in answers) + "\n")


def _answer(config: Any) -> Any:
    import tensorflow as tf

    from ganboard.gan.config import parse
    from ganboard.gan.modeling import recipe

    try:
        networks = recipe.make(parse(config)).networks()
    except Exception as error:  # a model is anybody's code
        return f"{type(error).__name__}: {error}"
    answer = [[asdict(layer) for layer in costs(network)] for network in networks]
    tf.keras.backend.clear_session()
    return answer


if __name__ == "__main__":
    main()
