"""Evaluates generated images against real ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import Dataset
from ganboard.gan.modeling import samples
from ganboard.gan.quality import classifier, metrics
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.gan.settings.adversarial import AdversarialConfig

MEASURES = tuple(OF_MODEL["dcgan"])
MINIMUM = 200  # real images; the covariance of 64 features needs well more than 64


class Evaluator:
    """See `gan.modeling.recipe.Evaluator`: compares generated images with `config.quality_images`
    real ones, prepared once."""

    def __init__(
        self,
        config: AdversarialConfig,
        dataset: Dataset,
        cache_dir: Path,
        progress: classifier.Progress,
    ) -> None:
        """Find or train the classifier in `cache_dir` (`classifier.obtain` on `progress`), and take
        the features of the real images.

        Give the whole data set, whatever `config.limit`: then all runs on it share one classifier
        and are evaluated against the same images, which are those that the classifier was not
        trained on, and others where these are too few. Call it outside any strategy's scope.

        For `memorization` the training images are the first `config.limit`. A real image that is
        among them is held out by leaving itself out of its neighbours.
        Raises ConfigError when the data have no labels or fewer than MINIMUM images.
        """
        self._config, count, wanted = config, len(dataset.images), config.quality_images
        if dataset.labels is None:
            raise ConfigError(
                f"quality_every needs labelled images, but dataset={config.dataset} has none. Set"
                " quality_every to 0."
            )
        if count < MINIMUM:
            raise ConfigError(
                f"quality_every needs {MINIMUM} real images, but {config.dataset} has {count}. Set"
                " quality_every to 0."
            )
        self._classifier = classifier.obtain(config.dataset, dataset, cache_dir, progress)
        chosen = classifier.order(count)[:wanted]
        features = self._classifier(dataset.images)[0]
        self._real = metrics.sample(features[chosen])
        self._trained = features[: config.limit]  # what the run trains on
        self._held_out = metrics.nearest(features[chosen], self._trained, itself=chosen)
        self.facts: dict[str, Any] = {
            "classifier_accuracy": self._classifier.accuracy,
            "class_shares": self._classifier.shares.tolist(),
        }
        self.remarks = list(self._classifier.remarks)
        if count < wanted:
            self.remarks.append(
                f"quality_images={wanted:,} exceeds the {count:,} images of {config.dataset}: all"
                f" of them are compared with {wanted:,} generated images."
            )

    def __call__(self, generator: keras.Model) -> tuple[dict[str, float], tuple[float, ...]]:
        return self.compare(samples.evaluated(self._config, generator))

    def compare(
        self, images: npt.NDArray[np.float32]
    ) -> tuple[dict[str, float], tuple[float, ...]]:
        """Measures and class shares of generated `images` [n, 28, 28, 1] in [-1, 1], n at least 6.

        They are rounded to grey levels 0 to 255 first, as the real ones are. Where a value is not
        finite all results are NaN.
        """
        classes = len(self._classifier.shares)
        if not np.isfinite(images).all():
            return dict.fromkeys(MEASURES, math.nan), (math.nan,) * classes
        features, seen = self._classifier(
            np.clip(images * 127.5 + 127.5, 0, 255).round().astype(np.uint8)
        )
        shares = metrics.class_shares(seen, classes)
        found = metrics.compare(self._real, metrics.sample(features))
        found["class_distance"] = metrics.class_distance(shares, self._classifier.shares)
        generated = metrics.nearest(features, self._trained)
        found["memorization"] = metrics.memorization(self._held_out, generated)
        return {name: found[name] for name in MEASURES}, tuple(shares.tolist())
