"""The layers of a network in words, to be laid beside a printed table."""

from __future__ import annotations

import keras

# ours compute what Keras's do
KINDS = {"SpectralConv2DTranspose": "Conv2DTranspose", "KeyedDropout": "Dropout"}


def describe(network: keras.Model) -> list[str]:
    """Kind and output shape per example of every layer, in order: "Conv2DTranspose 7x7x128"; inputs
    are left out."""
    kept = [layer for layer in network.layers if not isinstance(layer, keras.layers.InputLayer)]
    return [
        f"{KINDS.get(kind := type(layer).__name__, kind)}"
        f" {'x'.join(map(str, layer.output.shape[1:]))}"
        for layer in kept
    ]
