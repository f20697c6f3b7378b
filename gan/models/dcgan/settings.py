"""The settings that a DCGAN reads."""

from __future__ import annotations

from ganboard.gan.settings.declarations import ModelSettings

SETTINGS = ModelSettings(
    datasets=("digits", "mnist", "fashion_mnist", "images"),
    paths={"images": "the folder or zip inside the data directory that holds the pictures"},
    reads=(
        "latent_dim",
        "table1_literal",
        "generator_batch_norm",
        "discriminator_batch_norm",
        "d_steps",
        "loss",
        "gradient_penalty",
        "r1",
        "r2",
        "label_smoothing",
        "convolution",
        "recompute",
    ),
    has_latent_space=True,
)
