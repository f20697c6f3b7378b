"""DCGAN's training step on Keras 3's JAX backend, as one pure function of state, images and step.

It reads ganboard's description of the layers and computes what `ganboard.gan.training.replica` and
`ganboard.gan.models.dcgan.recipe` do with the default losses and Adam. `compare.py` runs it beside
them, `estimate.py` compiles it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras
import numpy as np
import philox
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ganboard.gan import architecture as layers
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan.architecture import DROPOUT, MASKS, SHAPE
from ganboard.gan.rng.philox import Purpose

_SLOPE = 0.3  # of LeakyReLU
_LEAST = 1e-20  # of sigmoid, where it is divided by
_MAX_PHASES = 16  # draws of one step, as ganboard numbers them
Arrays = list[jax.Array]


class Net(NamedTuple):
    """All variables of one network, in Keras's order."""

    weights: Arrays
    statistics: Arrays
    optimizer: Arrays


class State(NamedTuple):
    g: Net
    d: Net


class Draws(NamedTuple):
    """What a step is made of, as `ganboard.gan.models.dcgan.recipe.Draws`."""

    images: Any
    noise: Any
    real_masks: Any
    fake_masks: Any


class Gradients(NamedTuple):
    metrics: jax.Array  # loss of G, loss of D, D's mean opinion of real and of generated images
    g: Arrays
    d: Arrays
    g_statistics: Arrays


class MaskedDropout(keras.layers.Layer):  # type: ignore[misc]
    """Dropout by a mask that the caller draws."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Any) -> Any:
        values, keep = inputs
        return keras.ops.where(keep, values * (1 / (1 - self.rate)), 0)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape[0]


def made(layer: layers.Layer, policy: str) -> Any:
    """The Keras layer of a described one."""
    options: dict[str, Any] = {"dtype": policy, "name": layer.name}
    if isinstance(layer, layers.Weighted):
        options["use_bias"] = layer.bias
    match layer:
        case layers.Dense():
            options["dtype"] = "float32" if layer.float32 else policy
            return keras.layers.Dense(layer.filters, **options)
        case layers.ConvTranspose():
            window = (layer.filters, layer.kernel, layer.strides, layer.padding)
            return keras.layers.Conv2DTranspose(*window, **options)
        case layers.Conv():
            window = (layer.filters, layer.kernel, layer.strides, layer.padding)
            return keras.layers.Conv2D(*window, **options)
        case layers.Norm():
            return keras.layers.BatchNormalization(epsilon=layer.epsilon, **options)
        case layers.Leaky():
            return keras.layers.LeakyReLU(_SLOPE, **options)
        case layers.Dropout():
            return MaskedDropout(layer.rate, **options)
        case layers.Output():
            return keras.layers.Activation(layer.function, dtype="float32", name=layer.name)
        case layers.Reshape():
            return keras.layers.Reshape(layer.shape, **options)
        case layers.Flatten():
            return keras.layers.Flatten(**options)
        case _:
            raise TypeError(f"{layer} is of no known kind")


class Step:
    """The networks and optimizers; every method is pure."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        policy = config.precision
        described = architecture.generator(config, on_cpu=False)
        self.generator = keras.Sequential(
            [keras.Input((config.latent_dim,)), *(made(layer, policy) for layer in described)]
        )

        image = keras.Input(SHAPE)
        keeps = [keras.Input(shape, dtype="bool") for shape in MASKS]
        left, x = iter(keeps), image
        for layer in architecture.discriminator(config, on_cpu=False):
            inputs = [x, next(left)] if isinstance(layer, layers.Dropout) else x
            x = made(layer, policy)(inputs)
        self.discriminator = keras.Model([image, *keeps], x)

        self.g_optimizer = self._adam(self.generator, config.g_learning_rate)
        self.d_optimizer = self._adam(self.discriminator, config.d_learning_rate)

    def _adam(self, net: keras.Model, rate: float) -> keras.optimizers.Optimizer:
        config = self.config
        adam = keras.optimizers.Adam(rate, config.beta_1, config.beta_2, config.epsilon)
        adam.build(net.trainable_variables)
        return adam

    def initial(self) -> State:
        def values(variables: Any) -> Arrays:
            return [variable.value for variable in variables]

        return State(
            *(
                Net(
                    values(net.trainable_variables),
                    values(net.non_trainable_variables),
                    values(optimizer.variables),
                )
                for net, optimizer in (
                    (self.generator, self.g_optimizer),
                    (self.discriminator, self.d_optimizer),
                )
            )
        )

    def draws(self, images: jax.Array, step: jax.Array) -> Draws:
        """The same numbers as ganboard's, of the whole batch."""
        config, draw = self.config, step * _MAX_PHASES
        rows = config.batch_size
        noise = philox.normal(config.seed, Purpose.NOISE, draw, 0, rows, config.latent_dim)
        masks = philox.masks(config.seed, DROPOUT, draw, 0, rows, MASKS * 2)
        return Draws(images, noise, masks[: len(MASKS)], masks[len(MASKS) :])

    def gradients(self, state: State, draws: Draws) -> Gradients:
        """One forward pass of each network; one backward pass of D serves both losses, whose
        gradients at a generated image differ by a factor."""
        real = draws.images.astype(jnp.float32) / 127.5 - 1

        def generate(weights: Arrays) -> Any:
            return self.generator.stateless_call(
                weights, state.g.statistics, draws.noise, training=True
            )

        def discriminate(weights: Arrays, images: jax.Array, masks: Any) -> jax.Array:
            logits, _ = self.discriminator.stateless_call(
                weights, state.d.statistics, [images, *masks], training=True
            )
            return logits  # type: ignore[no-any-return]

        fake, back_to_g, g_statistics = jax.vjp(generate, state.g.weights, has_aux=True)
        real_logits, back_real = jax.vjp(
            lambda w: discriminate(w, real, draws.real_masks), state.d.weights
        )
        fake_logits, back_fake = jax.vjp(
            lambda w, x: discriminate(w, x, draws.fake_masks), state.d.weights, fake
        )

        opinion = jax.nn.sigmoid(fake_logits)
        from_real = -jax.nn.sigmoid(-real_logits) / len(real)
        from_fake = jnp.maximum(opinion, _LEAST) / len(real)
        (d_real,) = back_real(from_real)
        d_fake, pull = back_fake(from_fake)
        share = (opinion - 1) / jnp.maximum(opinion, _LEAST)
        (g_gradients,) = back_to_g(pull * share[:, :, None, None])
        d_gradients = [a + b for a, b in zip(d_real, d_fake, strict=True)]

        g_loss = jax.nn.softplus(-fake_logits).mean()
        d_loss = (jax.nn.softplus(-real_logits) + jax.nn.softplus(fake_logits)).mean()
        opinions = [jax.nn.sigmoid(real_logits).mean(), opinion.mean()]
        metrics = jnp.stack([g_loss, d_loss, *opinions])
        return Gradients(metrics, g_gradients, d_gradients, g_statistics)

    def update(self, state: State, draws: Draws) -> tuple[State, jax.Array]:
        """The state after the step, and its report: metrics, squared norms of gradients and
        updates, and elements of gradients that are not finite or zero."""
        found = self.gradients(state, draws)
        g_weights, g_adam = self.g_optimizer.stateless_apply(
            state.g.optimizer, found.g, state.g.weights
        )
        d_weights, d_adam = self.d_optimizer.stateless_apply(
            state.d.optimizer, found.d, state.d.weights
        )
        every = [*found.d, *found.g]
        report = [
            _square(found.g),
            _square([a - b for a, b in zip(g_weights, state.g.weights, strict=True)]),
            _square(found.d),
            _square([a - b for a, b in zip(d_weights, state.d.weights, strict=True)]),
            sum((~jnp.isfinite(g)).sum(dtype=jnp.float32) for g in every),
            sum((g == 0).sum(dtype=jnp.float32) for g in every),
        ]
        after = State(
            Net(g_weights, found.g_statistics, g_adam), Net(d_weights, state.d.statistics, d_adam)
        )
        return after, jnp.concatenate([found.metrics, jnp.stack(report)])

    def whole(self, state: State, images: jax.Array, step: jax.Array) -> tuple[State, jax.Array]:
        """A step with its draws."""
        return self.update(state, self.draws(images, step))


def _square(tensors: Arrays) -> Any:
    return sum(jnp.sum(jnp.square(tensor)) for tensor in tensors)


def lowered(precision: str, devices: list[Any]) -> Any:
    """The whole step for one or several devices, each with its part of the batch; XLA inserts the
    exchange, and batch norm takes the statistics of the whole batch."""
    config = parse({"precision": precision})
    step = Step(config)
    mesh = Mesh(np.array(devices), ("batch",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    rows = NamedSharding(mesh, PartitionSpec("batch"))
    take = jax.jit(
        step.whole,
        in_shardings=(everywhere, rows, everywhere),
        out_shardings=everywhere,
        donate_argnums=0,
    )
    state = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), step.initial())
    images = jax.ShapeDtypeStruct((config.batch_size, *SHAPE), jnp.uint8)
    return take.lower(state, images, jax.ShapeDtypeStruct((), jnp.uint32))
