"""Which features a run is evaluated with. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError, Labels
from ganboard.gan.quality import inception_weights
from ganboard.gan.settings import registry
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


def obstacle(config: RunConfig, data_dir: Path) -> str | None:
    """Why runs with these settings could not be evaluated, as far as the files' headers tell;
    None if they could. No network is asked. Raises DatasetError for data that cannot be trained
    with either."""
    found, least = catalog.count(config, data_dir), registry.of(config).spec.quality_examples
    if found < least:
        return f"An evaluation needs {least} real examples, but {config.dataset} has {found}."
    features = getattr(config, "quality_features", AUTO)
    if features == INCEPTION and inception_weights.find(data_dir) is None:
        return "The weights of InceptionV3 (quality_features=inception) are not here."
    if features == CLASSIFIER:
        return "Whether the data have classes for quality_features=classifier is not known yet."
    if catalog.available(data_dir).get(config.dataset):
        return None  # it will be downloaded, or the launch is refused
    catalog.check(config.model_copy(update={"quality_every": 0}), data_dir)
    try:
        catalog.check(config.model_copy(update={"quality_every": 1}), data_dir)
    except DatasetError as error:
        return str(error)
    return None


def needs_weights(config: RunConfig) -> bool:
    """Whether a run will be evaluated by InceptionV3."""
    return bool(config.quality_every) and getattr(config, "quality_features", "") == INCEPTION


def _absent(labels: Labels | None) -> str:
    """What is missing for a classifier; empty if nothing is."""
    if labels is None:
        return "no labels"
    return "one class" if labels.min() == labels.max() else ""
