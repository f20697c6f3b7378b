"""Which features a run is evaluated with. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.data.dataset import Labels
from ganboard.gan.quality import inception_weights
from ganboard.gan.settings.features import AUTO, CHOICES, CLASSIFIER, ENCODER, INCEPTION


def choose(asked: str, labels: Labels | None) -> str:
    """The features that `quality_features=asked` means for data with `labels` [N]: those of a
    classifier where there are two classes or more, else those of an encoder, unless it names them
    itself.

    Raises ConfigError for a classifier without classes, and for names that do not exist.
    """
    if asked not in CHOICES:
        raise ConfigError(
            f"quality_features={asked} does not exist. Choose from {', '.join(CHOICES)}."
        )
    absent = _absent(labels)
    if asked == AUTO:
        return ENCODER if absent else CLASSIFIER
    if asked == CLASSIFIER and absent:
        raise ConfigError(
            f"quality_features=classifier needs images of two classes or more, but the data have"
            f" {absent}. Set quality_features=encoder."
        )
    return asked


def check(config: RunConfig, data_dir: Path) -> None:
    """Raises ConfigError for an evaluation that lacks weights which cannot be downloaded either
    (3 s at most)."""
    if needs_weights(config):
        inception_weights.check(data_dir)


def needs_weights(config: RunConfig) -> bool:
    """Whether a run will be evaluated by InceptionV3."""
    return bool(config.quality_every) and getattr(config, "quality_features", "") == INCEPTION


def _absent(labels: Labels | None) -> str:
    """What is missing for a classifier; empty if nothing is."""
    if labels is None:
        return "no labels"
    return "one class" if labels.min() == labels.max() else ""
