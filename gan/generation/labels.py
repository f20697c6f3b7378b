"""Networks that get the class of an image beside its latents, called with one array for both."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

Floats = npt.NDArray[np.float32]


def joined(latents: Floats, classes: int, label: int | None = None) -> Floats:
    """Latents [n, latent_dim], with the class as a last column where there are `classes`: `label`,
    or one after the other."""
    if not classes:
        return latents
    count = len(latents)
    chosen = np.full(count, label) if label is not None else np.arange(count) % classes
    return np.concatenate([latents, chosen[:, None]], 1, dtype=np.float32)


def inputs(network: keras.Model, points: Any) -> Any:
    """What `network` takes, of points [n, latent_dim] or those that `joined` made."""
    masks = [None] * (len(network.inputs) - 1)  # of dropout, which inference has none of
    if not masks:
        return points
    if not is_labelled(network):
        return [points, *masks]
    return [points[:, :-1], tf.cast(tf.round(points[:, -1]), tf.int32)]


def is_labelled(network: keras.Model) -> bool:
    """Whether it takes a class beside the latents."""
    return len(network.inputs) == 2 and "int" in str(network.inputs[1].dtype)
