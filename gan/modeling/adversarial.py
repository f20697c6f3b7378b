"""The training of any generator and discriminator that Keras can build, as a `Recipe`: both nets
from the same forward pass, after `d_steps - 1` updates of D alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.data import augmentation, feed
from ganboard.gan.data.pictures import Pictures
from ganboard.gan.layers.keyed import Request
from ganboard.gan.modeling import building, losses, samples, simultaneous
from ganboard.gan.modeling.gradients import Shares, State, Tensors, call
from ganboard.gan.modeling.recipe import Evaluator, Phase
from ganboard.gan.modeling.simultaneous import Draws, Parts
from ganboard.gan.modeling.tracing import Trace
from ganboard.gan.rng import streams
from ganboard.gan.rng.philox import LAST_LAYER, Purpose
from ganboard.gan.settings.pictures import PictureConfig

MakeEvaluator = Callable[..., Evaluator]  # as `gan.quality.evaluator.Evaluator`
_LOSSES = ("generator_loss", "discriminator_loss")


class Definition(Protocol):
    """What a model consists of: a module with these functions. It may also have `generator_loss`
    and `discriminator_loss`, both (config, logits of real images [rows, 1], logits of generated
    images [rows, 1]) -> the loss of each example [rows]; then `config.loss` has no effect."""

    @staticmethod
    def generator(config: Any) -> keras.Model:
        """Latents [B, latent_dim], and with labels a second input [B] int32 -> images [B, H, W, C]
        in [-1, 1]."""

    @staticmethod
    def discriminator(config: Any) -> keras.Model:
        """Images [B, H, W, C] in [-1, 1], and with labels a second input [B] int32 -> logits
        [B, 1]."""


class AdversarialRecipe:
    """See `gan.modeling.recipe.Recipe`; the data are images [N, H, W, C] uint8, or have them as
    `images` beside `labels` [N] of classes."""

    terms = ()
    form = "direct convolution"

    def __init__(
        self, config: PictureConfig, definition: Definition, make_evaluator: MakeEvaluator
    ) -> None:
        self.config = config
        self._make_evaluator = make_evaluator
        self.shape = config.picture_shape
        self.classes = config.label_count
        self.phases = simultaneous.phases(config)
        self._definition = definition
        self._losses = self._own_losses()
        self._traces: tuple[Trace, Trace] | None = None
        self._separate = False

    def networks(self) -> tuple[keras.Model, keras.Model]:
        """See Recipe. Raises ConfigError, as the first call of `draws` and `shares` does."""
        nets = (
            building.network(self.config, 0, self._definition.generator),
            building.network(self.config, 1, self._definition.discriminator),
        )
        if self._traces is None:
            self._traces = self._checked(*nets)
            self._separate = self._traces[1].separate()
            self._check_penalty()
        return nets

    def columns(self, data: Any) -> list[feed.Column]:
        return feed.columns(*self._parts(data))

    def rows(self, columns: Sequence[tf.Tensor], batch: tf.Tensor) -> list[tf.Tensor]:
        return feed.rows(columns, batch, self.config.batch_size)

    def pictures(self, examples: Any) -> npt.NDArray[np.uint8]:
        count = self.config.grid_size**2
        if isinstance(examples, Pictures):
            return examples.sample(count)  # of all classes, also where they come one after another
        return np.asarray(getattr(examples, "images", examples)[:count])

    def grid(self, generator: keras.Model, examples: Any) -> npt.NDArray[np.float32]:
        return samples.grid(self.config, generator, self.classes)

    def evaluator(
        self, data: Any, data_dir: Path, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        return self._make_evaluator(self.config, data, cache_dir, progress, data_dir=data_dir)

    def example(self, rows: int) -> list[tf.Tensor]:
        images = [tf.zeros([rows, *self.shape], tf.uint8)]
        return [*images, tf.zeros([rows], tf.int32)] if self.classes else images

    def draws(
        self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor
    ) -> Draws:
        seed, rows = self.config.seed, self.config.micro_batch
        random = streams.of(self.config)
        in_generator, at_real, at_fake = self._numbers(draw, row)
        images, *labels = own
        if self.config.flips:
            images = augmentation.flipped(random, seed, images, draw, row)
        shown: tuple[Any, ...] = ((), ())
        if self.config.augmentations:
            purposes = Purpose.AUGMENT_REAL, Purpose.AUGMENT_FAKE
            shown = tuple(
                augmentation.draws(random, seed, purpose, draw, row, rows) for purpose in purposes
            )
        return Draws(
            images,
            labels,
            random.normal(seed, Purpose.NOISE, draw, row, rows, self.config.latent_dim),
            in_generator,
            at_real,
            at_fake,
            random.uniform(seed, Purpose.PENALTY, draw, row, rows, 1)[:, :, None, None],
            (shown[0], shown[1]),
        )

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Draws,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        parts = Parts(
            partial(call, generator),
            partial(call, discriminator),
            *self._losses,
            self._share,
            self._augmented,
            self._separate,
        )
        return simultaneous.shares(self.config, parts, state, draws, scales, train_g=phase.g)

    def _augmented(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        policy = self.config.augmentations
        return augmentation.apply(images, drawn, policy) if policy else images

    def _share(self, config: PictureConfig, real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor | None:
        """See `losses.generator_share`; None where a logit depends on other images too."""
        own = self._losses == (losses.generator, losses.discriminator)
        return losses.generator_share(config, real, fake) if own and self._separate else None

    def _own_losses(self) -> tuple[simultaneous.Loss, simultaneous.Loss]:
        found = {name: getattr(self._definition, name, None) for name in _LOSSES}
        own = [loss for loss in found.values() if loss is not None]
        if not own:
            return losses.generator, losses.discriminator
        for name, loss in found.items():
            if loss is None:
                raise ConfigError(
                    f"model={self.config.model} has one loss of its own, but no {name}: define"
                    f" {' and '.join(_LOSSES)}, or neither."
                )
            shape = loss(self.config, tf.zeros([2, 1]), tf.zeros([2, 1])).shape
            if shape not in ([2], [2, 1]):
                raise ConfigError(
                    f"{name} of model={self.config.model} returned shape {tuple(shape)} for 2"
                    " images: return the loss of each image, (2,), and no mean."
                )
        return own[0], own[1]

    def _checked(self, generator: keras.Model, discriminator: keras.Model) -> tuple[Trace, Trace]:
        """Both networks in training, of the right inputs and outputs. Raises ConfigError."""
        traces = []
        for net, given, wanted in (
            (generator, (self.config.latent_dim,), self.shape),
            (discriminator, self.shape, (1,)),
        ):
            inputs = [given, ()] if self.classes else [given]
            self._check_inputs(net, inputs)
            kinds = [tf.float32, tf.int32][: len(inputs)]
            traced = Trace(net, inputs, kinds)
            if traced.output != wanted:
                what = "images" if net is generator else "logits"
                raise ConfigError(
                    f"The {net.name} of model={self.config.model} returns {_shape(traced.output)},"
                    f" and {what} of this run are {_shape(wanted)}: correct its last layers."
                )
            traces.append(traced)
        asked = len(traces[0].requests) + 2 * len(traces[1].requests)
        most = LAST_LAYER - Purpose.LAYERS + 1
        if asked > most:
            raise ConfigError(
                f"The layers of model={self.config.model} draw random numbers {asked} times in a"
                f" step, and {most} is the most: use fewer layers of dropout or noise."
            )
        return traces[0], traces[1]

    def _check_inputs(self, net: keras.Model, wanted: Sequence[tuple[int, ...]]) -> None:
        found = [tuple(tensor.shape[1:]) for tensor in net.inputs]
        # Keras gives labels [B] also to an input [B, 1]
        of_labels = all(shape in ((), (1,)) for shape in found[1:])
        if len(found) != len(wanted) or found[0] != wanted[0] or not of_labels:
            labels = "with" if self.classes else "without"
            raise ConfigError(
                f"The {net.name} of model={self.config.model} takes"
                f" {' and '.join(map(_shape, found))}, and a run {labels} labels gives it"
                f" {' and '.join(map(_shape, wanted))}: correct its inputs."
            )

    def _check_penalty(self) -> None:
        if self.config.loss == "wgan_gp" and not self._separate:
            raise ConfigError(
                f"The discriminator of model={self.config.model} mixes the images of a batch, as"
                " BatchNormalization does, and loss=wgan_gp penalises the gradient of each image"
                " alone: use GroupNormalization or LayerNormalization there."
            )

    def _numbers(self, draw: tf.Tensor, row: tf.Tensor) -> list[list[tf.Tensor]]:
        """What the layers of G, and of D at real and at generated images, draw in one
        micro-batch."""
        if self._traces is None:
            self.networks()
        assert self._traces is not None
        of_g, of_d = (trace.requests for trace in self._traces)
        stream = int(Purpose.LAYERS)
        numbers = []
        for requests in (of_g, of_d, of_d):
            numbers.append(
                [self._number(request, stream + i, draw, row) for i, request in enumerate(requests)]
            )
            stream += len(requests)
        return numbers

    def _number(self, request: Request, stream: int, draw: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        seed, rows, width = self.config.seed, self.config.micro_batch, math.prod(request.shape)
        random = streams.of(self.config)
        if request.kind == "keep":
            mask = stream - Purpose.DROPOUT
            found = random.keep(seed, mask, request.rate, draw, row, rows, width)
        else:
            found = random.normal(seed, stream, draw, row, rows, width)
        return tf.reshape(found, [rows, *request.shape])

    def _parts(self, data: Any) -> tuple[Any, npt.NDArray[Any] | None]:
        """Images, and labels where the model has them. Raises ConfigError."""
        images = getattr(data, "images", data)
        if images.shape[1:] != self.shape:
            raise ConfigError(
                f"The images of dataset={self.config.dataset} are {_shape(images.shape[1:])}, and"
                f" model={self.config.model} makes {_shape(self.shape)}: set image_size and"
                " channels."
            )
        if not self.classes:
            return images, None
        labels = getattr(data, "labels", None)
        if labels is None:
            raise ConfigError(
                f"dataset={self.config.dataset} has no labels, which model={self.config.model}"
                " needs: choose labelled data, or conditional=false."
            )
        if (largest := int(np.max(labels))) >= self.classes:
            raise ConfigError(
                f"dataset={self.config.dataset} has label {largest}, and classes={self.classes}"
                f" allows 0 to {self.classes - 1}: set classes={largest + 1}."
            )
        return images, np.asarray(labels)


def _shape(shape: Sequence[int | None]) -> str:
    return "(" + ", ".join("?" if size is None else str(size) for size in shape) + ")"
