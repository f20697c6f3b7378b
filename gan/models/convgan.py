"""DCGAN for pictures of any size and number of colours (Radford, Metz and Chintala 2016,
"Unsupervised representation learning with deep convolutional generative adversarial networks").

Strided convolutions instead of pooling, batch norm except in G's last and D's first layer, ReLU in
G, LeakyReLU of slope 0.2 in D, and weights from N(0, 0.02), as in its section 3. Kernels are 4x4 as
in the authors' code, so that each output of a stride of 2 sums as many products. The paper has
`width` 128; Adam at 0.0002 with beta_1 0.5.
"""

from __future__ import annotations

from typing import Any

import keras

KERNEL = 4


def halvings(image_size: int) -> int:
    """How often a side can be halved before it has 4 to 7 pixels: 4 for 64. Raises ValueError."""
    count, side = 0, image_size
    while side > 7:
        if side % 2:
            raise ValueError(
                f"image_size={image_size} is not 4, 5, 6 or 7 times a power of 2: use 28, 32, 48,"
                " 64, 96, 128 or 256"
            )
        count, side = count + 1, side // 2
    return count


def filters(width: int, level: int) -> int:
    """Filters of the layer whose maps are `level` halvings smaller than the picture, from 1."""
    return width * min(1 << (level - 1), 8)


def generator(config: Any) -> keras.Model:
    """Latents [B, latent_dim] -> pictures [B, H, W, C]."""
    latents = keras.Input((config.latent_dim,))
    levels = halvings(config.image_size)
    side = config.image_size >> levels
    x = keras.layers.Dense(side * side * filters(config.width, levels), **_options())(latents)
    x = keras.layers.Reshape((side, side, -1))(x)
    x = _active(x)
    for level in range(levels - 1, 0, -1):
        number = filters(config.width, level)
        x = keras.layers.Conv2DTranspose(number, KERNEL, 2, "same", **_options())(x)
        x = _active(x)
    x = keras.layers.Conv2DTranspose(config.channels, KERNEL, 2, "same", **_options(bias=True))(x)
    return keras.Model(latents, keras.layers.Activation("tanh", dtype="float32")(x))


def discriminator(config: Any) -> keras.Model:
    """Pictures [B, H, W, C] -> logits [B, 1]."""
    picture = keras.Input((config.image_size, config.image_size, config.channels))
    x: Any = picture
    for level in range(1, halvings(config.image_size) + 1):
        norm = level > 1 and config.discriminator_batch_norm
        number = filters(config.width, level)
        x = keras.layers.Conv2D(number, KERNEL, 2, "same", **_options(bias=not norm))(x)
        if norm:
            x = _norm(x)
        x = keras.layers.LeakyReLU(0.2)(x)
    x = keras.layers.Flatten()(x)
    logits = keras.layers.Dense(1, dtype="float32", **_options(bias=True))(x)
    return keras.Model(picture, logits)


def _options(bias: bool = False) -> dict[str, Any]:
    return {"kernel_initializer": keras.initializers.RandomNormal(0, 0.02), "use_bias": bias}


def _norm(x: Any) -> Any:
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def _active(x: Any) -> Any:
    return keras.layers.ReLU()(_norm(x))
