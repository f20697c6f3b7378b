from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from ganboard.gan.config import ConfigError
from ganboard.gan.layers import keyed
from ganboard.gan.modeling import losses
from ganboard.gan.modeling.gradients import Shares
from ganboard.gan.rng import philox
from ganboard.gan.training.fit import FitLoop
from ganboard.gan.training.step import Stepper
from tests.unit.gan.devices.test_runtime import python
from tests.unit.gan.modeling import tiny_gan
from tests.unit.gan.modeling.tiny_gan import IMAGES, LABELS, PLAIN, recipe, stepper

EVERYTHING = tiny_gan.with_layers(
    lambda: layers.SpectralNormalization(layers.Conv2D(4, 3, padding="same")),
    lambda: layers.Dropout(0.3),
    lambda: layers.GaussianNoise(0.1),
    lambda: layers.Reshape((16, 4)),
    lambda: keras.Sequential([keras.Input((16, 4)), layers.SpatialDropout1D(0.2)]),
    lambda: layers.Reshape((4, 4, 4)),
    lambda: layers.Conv2D(4, 3, padding="same", groups=2),
    lambda: layers.GroupNormalization(2),
)


def take(made: Stepper, first: int = 0, count: int = 1) -> np.ndarray:
    taken = made.run(philox.order(made.config.seed, 1, len(IMAGES)), first, first, count)
    return np.stack([taken.g_loss, taken.d_loss])


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def found(made: Stepper) -> tuple[Any, Shares]:
    """Draws and shares of the first step, eagerly."""
    own = [tf.constant(IMAGES[:4])]
    if made.config.conditional:
        own.append(tf.constant(LABELS[:4], tf.int32))
    phase = made.recipe.phases[-1]
    draws = made.recipe.draws(phase, own, tf.constant(0, tf.int64), tf.constant(0))
    nets, ones = made.nets, [tf.ones([])] * 2
    state = made.replica.state()
    return draws, made.recipe.shares(nets.generator, nets.discriminator, state, draws, ones, phase)


def plain(made: Stepper, draws: Any) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Gradients of D and G by Keras's own layers, with a backward pass for each loss."""
    config = made.config
    g, d = tiny_gan.generator(config), tiny_gan.discriminator(config)
    g.set_weights([v.numpy() for v in made.nets.generator.weights])
    d.set_weights([v.numpy() for v in made.nets.discriminator.weights])
    real = tf.cast(draws.images, tf.float32) / 127.5 - 1
    labels = list(draws.labels)

    def call(net: keras.Model, x: tf.Tensor) -> tf.Tensor:
        return net([x, *labels] if labels else x, training=True)

    def squares(at: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as inner:
            inner.watch(at)
            logits = call(d, at)
        return tf.reduce_sum(tf.square(inner.gradient(logits, at)), [1, 2, 3])

    with tf.GradientTape(persistent=True) as tape:
        fake = call(g, draws.noise)
        logits = call(d, real), call(d, fake)
        d_loss = tf.reduce_mean(losses.discriminator(config, *logits))
        g_loss = tf.reduce_mean(losses.generator(config, *logits))
        d_loss += config.r1 / 2 * tf.reduce_mean(squares(real))
        d_loss += config.r2 / 2 * tf.reduce_mean(squares(tf.stop_gradient(fake)))
        if config.loss == "wgan_gp":
            between = draws.mix * real + (1 - draws.mix) * tf.stop_gradient(fake)
            slopes = tf.sqrt(squares(between))
            d_loss += config.gradient_penalty * tf.reduce_mean(tf.square(slopes - 1))
    d_gradients = tape.gradient(d_loss, [v.value for v in d.trainable_variables])
    return d_gradients, tape.gradient(g_loss, [v.value for v in g.trainable_variables])


@pytest.mark.parametrize(
    "changes",
    [
        {"conditional": True},
        {"loss": "hinge"},
        {"loss": "wgan_gp"},
        {"loss": "relativistic"},
        {"loss": "relativistic", "r1": 4.0, "r2": 2.0},
    ],
    ids=str,
)
def test_gradients_are_those_of_plain_keras(changes: dict[str, Any]) -> None:
    made = stepper(**changes)
    draws, ours = found(made)
    for gradients, wanted in zip(
        (ours.d_gradients, ours.g_gradients), plain(made, draws), strict=True
    ):
        largest = max(float(tf.reduce_max(tf.abs(tf.convert_to_tensor(w)))) for w in wanted)
        assert largest > 1e-3
        for gradient, other in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(
                gradient, tf.convert_to_tensor(other), atol=1e-5 * largest, rtol=1e-4
            )


def test_a_step_resumed_in_fresh_networks_gives_equal_bits() -> None:
    straight, first, second = (stepper(EVERYTHING, ema=0.9) for _ in range(3))
    whole = take(straight, 0, 4)
    before = take(first, 0, 2)
    second.nets.assign(first.nets.arrays())
    np.testing.assert_array_equal(whole, np.concatenate([before, take(second, 2, 2)], 1))
    assert equal(straight.nets.arrays(), second.nets.arrays())
    assert not equal(straight.nets.arrays(), first.nets.arrays())


@pytest.mark.thorough
def test_keras_fit_takes_the_same_steps() -> None:
    custom, fitted = stepper(EVERYTHING), stepper(EVERYTHING, loop="fit")
    wanted = take(custom, 0, 3)
    order = philox.order(0, 1, len(IMAGES))
    rates = np.full([3, 2], 1e-4, np.float32)
    reports = list(FitLoop(fitted, lambda count: count).epoch(order, 0, 0, rates))
    losses_ = [np.stack([r.metrics.g_loss, r.metrics.d_loss]) for r in reports]
    np.testing.assert_array_equal(wanted, np.concatenate(losses_, 1))
    assert equal(custom.nets.arrays(), fitted.nets.arrays())


def test_initial_weights_and_names_are_a_function_of_the_configuration() -> None:
    first = stepper(EVERYTHING).nets.arrays()
    keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dropout(0.5)])
    assert equal(first, stepper(EVERYTHING).nets.arrays())
    other = stepper(EVERYTHING, seed=1).nets.arrays()
    assert first.keys() == other.keys()
    kernels = [name for name in first if name.startswith(("gen", "disc")) and "kernel" in name]
    assert len(kernels) >= 8
    assert not any(np.array_equal(first[name], other[name]) for name in kernels)
    shapes = [first[name] for name in kernels]
    assert len({array.tobytes() for array in shapes}) == len(shapes)


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_sixteen_bits_stay_close_to_float32(precision: str) -> None:
    wanted, ours = take(stepper(PLAIN)), take(stepper(PLAIN, precision=precision))
    np.testing.assert_allclose(ours, wanted, atol=0.02)
    assert not np.array_equal(ours, wanted)
    assert np.isfinite(take(stepper(EVERYTHING, precision=precision, r1=1.0), 0, 2)).all()


@pytest.mark.thorough
def test_xla_changes_no_more_than_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ganboard.gan.devices.runtime.compiled", lambda config: config.xla)
    wanted = take(stepper(EVERYTHING, optimizer="sgd"), 0, 2)
    np.testing.assert_allclose(
        take(stepper(EVERYTHING, optimizer="sgd", xla=True), 0, 2), wanted, atol=1e-5
    )


def test_parts_of_a_batch_are_the_batch() -> None:
    """Noise, masks and noise in layers are those of the global rows. The estimate of spectral
    normalisation moves with each part, and is left out."""
    without_norm = SimpleNamespace(
        generator=lambda config: keras.Sequential(
            [
                keras.Input((config.latent_dim,)),
                layers.Dense(8 * 8 * 3, activation="tanh"),
                layers.GaussianDropout(0.2),
                layers.Reshape((8, 8, 3)),
            ]
        ),
        discriminator=tiny_gan.with_layers(
            lambda: layers.Dropout(0.3), lambda: layers.GaussianNoise(0.1)
        ).discriminator,
    )
    wanted = take(stepper(without_norm, optimizer="sgd"))
    ours = take(stepper(without_norm, optimizer="sgd", accumulate=4))
    np.testing.assert_allclose(ours, wanted, rtol=1e-5)


LAYERS = {
    "Dropout": lambda: layers.Dropout(0.4),
    "Dropout of maps": lambda: layers.Dropout(0.4, noise_shape=(None, 1, 1, 4)),
    "SpatialDropout2D": lambda: layers.SpatialDropout2D(0.4),
    "GaussianNoise": lambda: layers.GaussianNoise(0.5),
    "GaussianDropout": lambda: layers.GaussianDropout(0.4),
    "TimeDistributed": lambda: layers.TimeDistributed(layers.Dropout(0.4)),
    "attention": lambda: Attention(),
}


class Attention(layers.Layer):
    """Self-attention over places, with dropout inside."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 2, dropout=0.4)

    def build(self, shape: Any) -> None:
        self.attention.build((None, 16, 4), (None, 16, 4))

    def call(self, x: Any) -> Any:
        places = keras.ops.reshape(x, (-1, 16, 4))
        return keras.ops.reshape(self.attention(places, places), (-1, 4, 4, 4))


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_layer_draws_is_a_function_of_seed_step_row_and_call(name: str) -> None:
    made = recipe(tiny_gan.with_layers(LAYERS[name]))
    _, d = made.networks()
    assert not any("seed" in variable.path for variable in d.variables)
    own = [tf.constant(IMAGES[:4])]

    def logits(step: int = 0, **changes: Any) -> np.ndarray:
        other = recipe(tiny_gan.with_layers(LAYERS[name]), **changes)
        draws = other.draws(other.phases[-1], own, tf.constant(step, tf.int64), tf.constant(0))
        assert draws.at_real
        values = []
        for numbers in (draws.at_real, draws.at_fake):
            with keyed.given(numbers):
                values.append(d(tf.zeros([4, 8, 8, 3]) + 1, training=True).numpy())
        return np.concatenate(values, 1)

    first = logits()
    np.testing.assert_array_equal(first, logits())
    assert len(np.unique(first)) > 4  # examples differ, at real and at generated images too
    assert not np.array_equal(first[:, 0], first[:, 1])
    for different in (logits(step=1), logits(seed=1), logits(rng="hash")):
        assert not np.array_equal(different, first)
    quiet = d(tf.zeros([2, 8, 8, 3]) + 1, training=False).numpy()
    # nothing is drawn outside of training; the last bits of rows differ on some processors
    np.testing.assert_allclose(quiet[0], quiet[1], rtol=1e-5)


class Noisy(layers.Layer):
    def call(self, x: Any) -> Any:
        return x + keras.random.normal(keras.ops.shape(x), seed=1)


class Counting(layers.Layer):
    def build(self, shape: Any) -> None:
        self.calls = self.add_weight(shape=(), trainable=False, name="calls")

    def call(self, x: Any) -> Any:
        self.calls.assign_add(1.0)
        return x


class Hidden(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = tf.Variable(1.0)

    def call(self, x: Any) -> Any:
        return x * self.hidden


def _recurrent() -> Any:
    return keras.Sequential(
        [
            keras.Input((4, 4, 4)),
            layers.Reshape((16, 4)),
            layers.GRU(4, return_sequences=True, name="memory"),
            layers.Reshape((4, 4, 4)),
        ]
    )


REFUSED: dict[str, tuple[Any, str]] = {
    "RandomFlip": (
        lambda: layers.RandomFlip(name="x"),
        "Layer 'x' (RandomFlip) draws random numbers that a resumed run cannot repeat: use flips of"
        " the data instead.",
    ),
    "AlphaDropout": (
        lambda: layers.AlphaDropout(0.5, name="x"),
        "Layer 'x' (AlphaDropout) draws random numbers that a resumed run cannot repeat: use"
        " Dropout, GaussianNoise or GaussianDropout as a layer of its own instead.",
    ),
    "GRU": (
        _recurrent,
        "Layer 'memory' (GRU) keeps a state and random numbers that a resumed run cannot repeat:"
        " use convolutions or attention instead.",
    ),
    "random numbers of a layer": (
        lambda: Noisy(name="x"),
        "Layer 'x' (Noisy) draws random numbers that a resumed run cannot repeat: use Dropout,"
        " GaussianNoise or GaussianDropout as a layer of its own instead.",
    ),
    "state": (
        lambda: Counting(name="x"),
        "Layer 'x' (Counting) has variables that are not trained (calls), which cannot be kept"
        " equal in all replicas: make it a constant, or use BatchNormalization.",
    ),
    "hidden state": (
        lambda: Hidden(),
        "Layer 'hidden' (Hidden) has a variable that Keras does not know, which cannot be kept"
        " equal in all replicas: make it a constant, or use BatchNormalization.",
    ),
    "axis": (
        lambda: layers.BatchNormalization(axis=1, name="x"),
        "Layer 'x' (BatchNormalization) normalises axis 1, and only the last one can be normalised"
        " over all replicas: use axis=-1.",
    ),
    "regularizer": (
        lambda: layers.Conv2D(4, 1, kernel_regularizer="l2", name="x"),
        "Layer 'x' (Conv2D) has a regularizer, which the losses of a GAN leave out: remove it, or"
        " add its term in losses of your own.",
    ),
    "constraint": (
        lambda: layers.Conv2D(4, 1, kernel_constraint="max_norm", name="x"),
        "Layer 'x' (Conv2D) has a constraint on its weights, which the optimizers here do not"
        " apply: use SpectralNormalization, or a gradient penalty, instead.",
    ),
    "one mask for all": (
        lambda: layers.Dropout(0.5, noise_shape=(1, 4, 4, 4), name="x"),
        "Layer 'x' (Dropout) has a noise_shape that begins with 1, one mask for several images:"
        " begin it with None.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_layer_that_keeps_no_promise_is_refused(name: str) -> None:
    make, sentence = REFUSED[name]
    with pytest.raises(ConfigError) as refused:
        recipe(tiny_gan.with_layers(make)).networks()
    assert str(refused.value) == sentence


def _wide(config: Any) -> keras.Model:
    return keras.Sequential([keras.Input((8, 8, 3)), layers.Flatten(), layers.Dense(2)])


def _twice(config: Any) -> keras.Model:
    image = keras.Input((8, 8, 3))
    x = image
    for _ in range(2):
        x = keras.Sequential([layers.Dense(3, name="same")], name="block")(x)
    return keras.Model(image, layers.Dense(1)(layers.Flatten()(x)))


def _raises(config: Any) -> keras.Model:
    raise ValueError("no such\nwidth.")


@pytest.mark.parametrize(
    ("parts", "changes", "sentence"),
    [
        (
            {"discriminator": _wide},
            {},
            "The discriminator of model=tiny returns (2), and logits of this run are (1): correct"
            " its last layers.",
        ),
        (
            {},
            {"image_size": 12},
            "The generator of model=tiny returns (8, 8, 3), and images of this run are"
            " (12, 12, 3): correct its last layers.",
        ),
        (
            {"discriminator": _wide},
            {"conditional": True},
            "The discriminator of model=tiny takes (8, 8, 3), and a run with labels gives it"
            " (8, 8, 3) and (): correct its inputs.",
        ),
        (
            {"generator": _raises},
            {},
            "The generator of model=tiny cannot be built (ValueError: no such width): correct"
            " generator(config).",
        ),
        (
            {"generator": lambda config: None},
            {},
            "generator(config) of model=tiny returned NoneType: return a keras.Model.",
        ),
        (
            {"generator": lambda config: keras.Sequential([layers.Dense(3)])},
            {},
            "The generator of model=tiny has no inputs yet: begin it with keras.Input.",
        ),
        (
            {"generator_loss": lambda config, real, fake: -fake},
            {},
            "model=tiny has one loss of its own, but no discriminator_loss: define generator_loss"
            " and discriminator_loss, or neither.",
        ),
        (
            {
                "generator_loss": lambda config, real, fake: tf.reduce_mean(-fake),
                "discriminator_loss": lambda config, real, fake: fake - real,
            },
            {},
            "generator_loss of model=tiny returned shape () for 2 images: return the loss of each"
            " image, (2,), and no mean.",
        ),
        (
            {"discriminator": lambda config: tiny_gan.critic(config, [layers.Dropout(0.1)] * 97)},
            {},
            "The layers of model=tiny draw random numbers 194 times in a step, and 192 is the"
            " most: use fewer layers of dropout or noise.",
        ),
    ],
    ids=range(9),
)
def test_networks_that_do_not_fit_are_refused(
    parts: dict[str, Any], changes: dict[str, Any], sentence: str
) -> None:
    definition = SimpleNamespace(**{**vars(PLAIN), **parts})
    with pytest.raises(ConfigError) as refused:
        recipe(definition, **changes).networks()
    assert str(refused.value) == sentence


def test_a_penalty_at_each_image_alone_needs_images_that_do_not_mix() -> None:
    mixing = tiny_gan.with_layers(layers.BatchNormalization)
    with pytest.raises(ConfigError, match=r"mixes the images of a batch.*use GroupNormalization"):
        recipe(mixing, loss="wgan_gp").networks()
    recipe(mixing, loss="hinge").networks()
    grouped = tiny_gan.with_layers(lambda: layers.GroupNormalization(2))
    recipe(grouped, loss="wgan_gp").networks()


def test_data_that_do_not_fit_are_refused() -> None:
    for data, changes, sentence in (
        (
            IMAGES[:, :4],
            {},
            "The images of dataset=digits are (4, 8, 3), and model=tiny makes (8, 8, 3): set"
            " image_size and channels.",
        ),
        (
            IMAGES,
            {"conditional": True},
            "dataset=digits has no labels, which model=tiny needs: choose labelled data, or"
            " conditional=false.",
        ),
        (
            tiny_gan.LABELLED,
            {"conditional": True, "classes": 2},
            "dataset=digits has label 2, and classes=2 allows 0 to 1: set classes=3.",
        ),
    ):
        with pytest.raises(ConfigError) as refused:
            recipe(**changes).columns(data)
        assert str(refused.value) == sentence


def test_losses_of_ones_own_replace_those_of_the_settings() -> None:
    """Least squares (Mao et al. 2017)."""
    own = SimpleNamespace(
        **vars(PLAIN),
        generator_loss=lambda config, real, fake: tf.square(fake - 1),
        discriminator_loss=lambda config, real, fake: tf.square(real - 1) + tf.square(fake),
    )
    made = stepper(own)
    draws, ours = found(made)
    fake = made.nets.generator(draws.noise, training=True)
    logits = made.nets.discriminator(fake).numpy()
    assert float(ours.metrics[0]) == pytest.approx(np.mean((logits - 1) ** 2), rel=1e-5)


def test_one_backward_pass_serves_both_nets_unless_images_mix() -> None:
    zero = tf.zeros([2, 1])
    for definition, separate in (
        (PLAIN, True),
        (EVERYTHING, True),
        (tiny_gan.with_layers(layers.BatchNormalization), False),
    ):
        made = recipe(definition)
        made.networks()
        assert (made._share(made.config, zero, zero) is not None) == separate


def test_a_grid_has_a_class_in_each_column() -> None:
    made = recipe(conditional=True, grid_size=2)
    generator, _ = made.networks()
    grid = made.grid(generator, None)
    from ganboard.gan.modeling.samples import latents

    labels = tf.constant([0, 1, 0, 1])
    np.testing.assert_array_equal(grid, generator([latents(made.config), labels], training=False))
    assert grid.shape == (4, 8, 8, 3)
    other = generator([latents(made.config), 1 - labels], training=False)
    assert np.abs(grid - other).max() > 1e-4


REPLICAS = """
import json, sys
import numpy as np
from tests.unit.gan.modeling.tiny_gan import Config
replicas = int(sys.argv[1])
config = Config(replicas=replicas, optimizer="sgd")
from ganboard.gan.devices import runtime
runtime.prepare(config)
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.rng import philox
from ganboard.gan.training.step import Stepper, networks
from tests.unit.gan.modeling import tiny_gan
from tests.unit.gan.modeling.test_adversarial import EVERYTHING
made = tiny_gan.recipe(EVERYTHING, replicas=replicas, optimizer="sgd")
strategy = distribution.strategy(config)
with strategy.scope():
    nets = networks(config, made)
stepper = Stepper(config, strategy, nets, tiny_gan.IMAGES, made)
stepper.run(philox.order(0, 1, 16), 0, 0, 3)
print(json.dumps({name: array.tolist() for name, array in nets.arrays().items()}))
"""


@pytest.mark.thorough
def test_two_replicas_train_what_one_trains() -> None:
    one, two = (
        json.loads(python(f"import sys; sys.argv = ['', '{n}']" + REPLICAS).splitlines()[-1])
        for n in (1, 2)
    )
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(two[name], one[name], atol=2e-6, err_msg=name)
