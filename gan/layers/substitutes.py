"""Makes the layers of any Keras model keep what a run promises: equal bits after a resume and, up
to rounding, on any number of replicas.

Layers whose calls read or move a state of their own become layers of `gan.layers` in place: a copy
of the model would need the configuration of every layer, which layers that people write often lack.
What cannot be kept is refused in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

import keras

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.devices import runtime
from ganboard.gan.layers import keyed
from ganboard.gan.layers.grouped_convolution import GroupedConv2D
from ganboard.gan.layers.normalization import BatchNormalization, synchronized
from ganboard.gan.layers.spectral_normalization import SpectralNormalization

_KEYED: Mapping[type, type] = {
    keras.layers.Dropout: keyed.Dropout,
    keras.layers.SpatialDropout1D: keyed.SpatialDropout1D,
    keras.layers.SpatialDropout2D: keyed.SpatialDropout2D,
    keras.layers.GaussianNoise: keyed.GaussianNoise,
    keras.layers.GaussianDropout: keyed.GaussianDropout,
}
# their own non-trainable variables are functions of the weights and the batch alone
_PURE_STATE = (BatchNormalization, SpectralNormalization)


def substitute(net: keras.Model, config: RunConfig) -> None:
    """Exchange the layers of `net`, also within models, wrappers and other layers, and refuse those
    that keep no promise. Raises ConfigError."""
    for layer in net._flatten_layers(include_self=False):
        _substitute(layer, config)
        _check(layer)


def _substitute(layer: keras.Layer, config: RunConfig) -> None:
    kind = type(layer)
    if kind in _KEYED:
        layer.__class__ = _KEYED[kind]
        if layer._seed_generators:
            del layer.seed_generator
            layer._seed_generators.clear()
        if (getattr(layer, "noise_shape", None) or [None])[0] is not None:
            raise ConfigError(
                f"{_named(layer)} has a noise_shape that begins with {layer.noise_shape[0]}, one"
                " mask for several images: begin it with None."
            )
    elif kind is keras.layers.SpectralNormalization:
        layer.__class__ = SpectralNormalization
    elif kind is keras.layers.BatchNormalization:
        layer.__class__ = BatchNormalization
        layer.synchronized = synchronized(config)
        _check_axis(layer)
    elif kind is keras.layers.Conv2D and layer.groups > 1 and not runtime.accelerated():
        layer.__class__ = GroupedConv2D


def _check_axis(layer: keras.layers.BatchNormalization) -> None:
    if (spec := layer.input_spec) is not None and layer.axis not in (-1, spec.ndim - 1):
        raise ConfigError(
            f"{_named(layer)} normalises axis {layer.axis}, and only the last one can be"
            " normalised over all replicas: use axis=-1."
        )


def _check(layer: keras.Layer) -> None:
    if isinstance(layer, keras.layers.RNN):
        raise ConfigError(
            f"{_named(layer)} keeps a state and random numbers that a resumed run cannot repeat:"
            " use convolutions or attention instead."
        )
    if layer._seed_generators:
        raise ConfigError(unrepeatable(layer))
    if layer._non_trainable_variables and not isinstance(layer, _PURE_STATE):
        state = ", ".join(variable.name for variable in layer._non_trainable_variables)
        raise ConfigError(stateful(layer, f"variables that are not trained ({state})"))
    if layer.activity_regularizer is not None or any(
        v.regularizer for v in layer._trainable_variables
    ):
        raise ConfigError(
            f"{_named(layer)} has a regularizer, which the losses of a GAN leave out: remove it,"
            " or add its term in losses of your own."
        )
    if any(v.constraint for v in layer._trainable_variables):
        raise ConfigError(
            f"{_named(layer)} has a constraint on its weights, which the optimizers here do not"
            " apply: use SpectralNormalization, or a gradient penalty, instead."
        )


def unrepeatable(layer: keras.Layer) -> str:
    """Why a layer that draws numbers of its own is refused, in a sentence."""
    pictures = type(layer).__module__.startswith("keras.src.layers.preprocessing")
    remedy = (
        "use flips of the data instead"
        if pictures
        else "use Dropout, GaussianNoise or GaussianDropout as a layer of its own instead"
    )
    return f"{_named(layer)} draws random numbers that a resumed run cannot repeat: {remedy}."


def stateful(layer: keras.Layer, state: str) -> str:
    """Why a layer with `state` beside its weights is refused, in a sentence."""
    return (
        f"{_named(layer)} has {state}, which cannot be kept equal in all replicas: make it a"
        " constant, or use BatchNormalization."
    )


def _named(layer: keras.Layer) -> str:
    return f"Layer {layer.name!r} ({type(layer).__name__})"
