"""Evaluates generated images against real ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import SIDE, Dataset, Images
from ganboard.gan.modeling import samples
from ganboard.gan.quality import (
    classifier,
    encoder,
    extract,
    inception,
    metrics,
    picture_classifier,
)
from ganboard.gan.quality.cache import kept
from ganboard.gan.quality.choice import choose
from ganboard.gan.quality.classifier import Classifier
from ganboard.gan.quality.encoder import Encoder
from ganboard.gan.quality.extract import Features, Progress, Rows, Singles
from ganboard.gan.quality.inception import Inception
from ganboard.gan.quality.picture_classifier import PictureClassifier
from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.features import CLASSIFIER, ENCODER, FACT, Source
from ganboard.gan.settings.image_metrics import METRICS, MINIMUM

MEASURES = tuple(metric.name for metric in METRICS)
OF_CLASSES = ("class_distance",)  # those of MEASURES that need classes


class Evaluator:
    """See `gan.modeling.recipe.Evaluator`: compares generated images with `config.quality_images`
    real ones, prepared once."""

    def __init__(
        self,
        config: AdversarialConfig,
        dataset: Dataset,
        cache_dir: Path,
        progress: Progress,
        *,
        features: str | None = None,
        data_dir: Path | None = None,
    ) -> None:
        """Find the `features` (see `quality.choice`; by default `config.quality_features`) in
        `cache_dir` or make them, which may take a minute (`progress`: see `encoder.obtain`), and
        take those of the real images. The weights of InceptionV3 are also looked for in `data_dir`.

        Give the whole data set, whatever `config.limit`: then all runs on it share one classifier
        and are evaluated against the same images, which are those that the classifier was not
        trained on, and others where these are too few. Its images may lie on disk: a few are in
        memory at a time. Call it outside any strategy's scope.

        For `memorization` the training images are the first `config.limit`, or as many of them,
        spread evenly, as `features.bound` says. A real image that is among them is held out by
        leaving itself out of its neighbours.
        Raises ConfigError when the data have fewer than MINIMUM images, and as `choose` and
        `inception.obtain` do.
        """
        self._config, count, wanted = config, len(dataset.images), config.quality_images
        if count < MINIMUM:
            raise ConfigError(
                f"quality_every needs {MINIMUM} real images, but {config.dataset} has {count}. Set"
                " quality_every to 0."
            )
        name = choose(features or config.quality_features, dataset.labels)
        self._features = _obtain(name, config.dataset, dataset, cache_dir, data_dir, progress)
        chosen = extract.order(count)[:wanted]
        trained = _trained(min(config.limit or count, count), self._features.bound)
        needed = np.union1d(chosen, trained)
        found = _taken(self._features, dataset.images, needed, cache_dir, progress)
        self._trained = found[np.searchsorted(needed, trained)]  # what the run trains on
        real = found[np.searchsorted(needed, chosen)]
        self._real = metrics.sample(real)
        self._held_out = metrics.nearest(real, self._trained, itself=_places(chosen, trained))
        self.facts: dict[str, Any] = {FACT: self._features.source.fact, **_facts(self._features)}
        self.remarks = list(self._features.remarks)
        if name != CLASSIFIER:  # logs and terminals do not show facts beside numbers
            self.remarks.insert(0, self.source.description)
        if count < wanted:
            self.remarks.append(
                f"quality_images={wanted:,} exceeds the {count:,} images of {config.dataset}: all"
                f" of them are compared with {wanted:,} generated images."
            )

    @property
    def source(self) -> Source:
        """Which features it compares."""
        return self._features.source

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what `compare` measures."""
        known = self._classes()
        return tuple(name for name in MEASURES if known or name not in OF_CLASSES)

    def __call__(self, generator: keras.Model) -> tuple[dict[str, float], tuple[float, ...]]:
        return self.compare(samples.evaluated_portions(self._config, generator))

    def compare(
        self, images: npt.NDArray[np.float32] | Iterable[npt.NDArray[np.float32]]
    ) -> tuple[dict[str, float], tuple[float, ...]]:
        """Measures and class shares (none without classes) of generated `images` [n, H, W, C] in
        [-1, 1], n at least 6, or of portions of them.

        They are rounded to grey levels 0 to 255 first, as the real ones are. Where a value is not
        finite all results are NaN.
        """
        features: list[Singles] = []
        classes: list[npt.NDArray[np.int64]] = []
        for part in [images] if isinstance(images, np.ndarray) else images:
            if not np.isfinite(part).all():
                nothing = dict.fromkeys(self.measures, math.nan)
                return nothing, (math.nan,) * self._classes()
            pixels = np.clip(part * 127.5 + 127.5, 0, 255).round().astype(np.uint8)
            if isinstance(self._features, Classifier | PictureClassifier):
                seen, its = self._features.classify(pixels)
                classes.append(its)
            else:
                seen = self._features(pixels)
            features.append(seen)
        return self._compare(np.concatenate(features), classes)

    def _compare(
        self, features: Singles, classes: list[npt.NDArray[np.int64]]
    ) -> tuple[dict[str, float], tuple[float, ...]]:
        found = metrics.compare(self._real, metrics.sample(features))
        if isinstance(self._features, Inception):
            found["kid"] = metrics.kernel_distance(self._real.features, features)
        generated = metrics.nearest(features, self._trained)
        found["memorization"] = metrics.memorization(self._held_out, generated)
        histogram: tuple[float, ...] = ()
        if isinstance(self._features, Classifier | PictureClassifier):
            shares = metrics.class_shares(np.concatenate(classes), self._classes())
            found["class_distance"] = metrics.class_distance(shares, self._features.shares)
            histogram = tuple(shares.tolist())
        return {name: found[name] for name in self.measures}, histogram

    def _classes(self) -> int:
        """How many classes are distinguished; 0 without a classifier."""
        if isinstance(self._features, Classifier | PictureClassifier):
            return len(self._features.shares)
        return 0


def _obtain(
    name: str,
    called: str,
    dataset: Dataset,
    cache_dir: Path,
    data_dir: Path | None,
    progress: Progress,
) -> Classifier | PictureClassifier | Encoder | Inception:
    images, labels = dataset.images, dataset.labels
    if name == CLASSIFIER:
        assert labels is not None
        if images.shape[1:] == (SIDE, SIDE, 1):
            whole = Dataset(np.asarray(images), labels, source="")  # from the disk, if it is there
            return classifier.obtain(called, whole, cache_dir, progress)
        return picture_classifier.obtain(called, images, labels, cache_dir, progress)
    if name == ENCODER:
        return encoder.obtain(called, images, cache_dir, progress)
    return inception.obtain(data_dir)


def _trained(count: int, bound: int | None) -> npt.NDArray[np.int32]:
    """The rows, ascending, of the first `count` images that a run's copies are looked for in."""
    return np.sort(extract.order(count)[:bound])


def _places(rows: Rows, among: Rows) -> npt.NDArray[np.int64]:
    """Where each of `rows` [n] is in `among` [m], ascending; m for those that are not there."""
    at = np.searchsorted(among, rows)
    inside = at < len(among)
    inside[inside] = among[at[inside]] == rows[inside]
    return np.where(inside, at, len(among))


def _taken(
    features: Features, images: Images, rows: Rows, cache_dir: Path, progress: Progress
) -> Singles:
    """The features of real images; those of InceptionV3, which take minutes, are kept in
    `cache_dir`."""
    if not isinstance(features, Inception):
        return extract.taken(features, images, rows)
    digest = extract.digest(features.source.fact, images, rows)
    path = cache_dir / f"inception-{digest}.npz"
    arrays, remarks = kept(
        path, lambda: {"features": extract.taken(features, images, rows, progress)}
    )
    features.remarks += remarks
    found: Singles = arrays["features"]
    return found


def _facts(features: Features) -> dict[str, Any]:
    if isinstance(features, Classifier | PictureClassifier):
        return {"classifier_accuracy": features.accuracy, "class_shares": features.shares.tolist()}
    if isinstance(features, Encoder):
        return {"encoder_accuracy": features.accuracy}
    return {}
