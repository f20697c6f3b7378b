"""What is asked of models that make images from noise: images of a seed, the same ones that grids
and the playground show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import keras
import numpy as np
import tensorflow as tf
from pydantic import BaseModel, ConfigDict, Field

from ganboard.gan import data
from ganboard.gan.data import catalog
from ganboard.gan.generation import labels, paint
from ganboard.gan.generation.generation import MAX_EXAMPLES, Floats
from ganboard.gan.generation.latent_requests import MAX_SEED, InvalidRequest, LatentRequest, Seed
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose
from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.features import qualified
from ganboard.gan.settings.image_metrics import MINIMUM


def draw(generator: keras.Model, config: AdversarialConfig, request: LatentRequest) -> Floats:
    """Images [n, H, W, C] in [-1, 1]. Raises InvalidRequest."""
    if request.energy is not None or request.angle is not None:
        raise InvalidRequest("energy and angle only apply to showers. Remove them.")
    _check_label(config, request.label)
    latents = request.points(partial(paint.normal, width=config.latent_dim))
    return paint.images(generator, labels.joined(latents, config.label_count, request.label))


def _check_label(config: AdversarialConfig, label: int | None) -> None:
    if label is None:
        return
    if not config.label_count:
        raise InvalidRequest(f"label={label} has no meaning: this model has no classes. Remove it.")
    if label >= config.label_count:
        raise InvalidRequest(
            f"label={label} is not allowed: the classes are 0 to {config.label_count - 1}."
        )


class Request(BaseModel):
    """Images `first` to `first` + `count` of a seed."""

    model_config = ConfigDict(extra="forbid")

    seed: Seed
    count: Annotated[int, Field(ge=1, le=MAX_EXAMPLES)] = 1
    first: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    label: Annotated[int, Field(ge=0)] | None = None


class Generation:
    """See `gan.generation.generation.Generation`."""

    request = Request
    output = "images"
    together = 64

    def __init__(self, config: AdversarialConfig) -> None:
        self.config = config

    def signature(self) -> dict[str, Any]:
        return {
            "inputs": Request.model_json_schema()["properties"],
            "outputs": {
                self.output: {
                    "shape": [None, *self.config.picture_shape],
                    "dtype": "float32",
                    "range": [-1, 1],
                }
            },
        }

    def inputs(self, asked: Request) -> Floats:
        _check_label(self.config, asked.label)
        latents = paint.normal(asked.seed, asked.first, asked.count, self.config.latent_dim)
        return labels.joined(latents, self.config.label_count, asked.label)

    def outputs(self, made: Floats) -> Floats:
        return made

    def pictures(self, made: Floats) -> Floats:
        return made

    def probe(self) -> Floats:
        return self.inputs(Request(seed=0))

    def examples(self, data_dir: Path) -> Floats:
        """As many latents as an evaluation while training takes, the same ones."""
        zero, config = tf.constant(0), self.config
        latents: Floats = tf_philox.normal(
            config.seed, Purpose.QUALITY, zero, zero, config.quality_images, config.latent_dim
        ).numpy()
        return labels.joined(latents, config.label_count)

    def compare(
        self, full: Floats, other: Floats, data_dir: Path, cache_dir: Path
    ) -> tuple[dict[str, float], float]:
        """Worse is a higher Frechet distance to the real images, by the features that the run was
        evaluated with; where these are too few, the difference of the images itself."""
        statistics = {
            name: float(f(made))
            for part, made in (("", other), ("_full", full))
            for name, f in ((f"mean{part}", np.mean), (f"spread{part}", np.std))
        }
        real = (
            None
            if catalog.available(data_dir)[self.config.dataset]
            else data.load(self.config.model_copy(update={"limit": None}), data_dir)
        )
        if real is None or len(real.images) < MINIMUM:
            return statistics, 100 * float(np.sqrt(np.square(full - other).mean()) / full.std())
        evaluator = Evaluator(self.config, real, cache_dir, lambda share: None, data_dir=data_dir)
        (own, _), (before, _) = evaluator.compare(other), evaluator.compare(full)
        metrics: dict[str, float] = {}
        for name in ("fid", "kid"):
            said = qualified(name, evaluator.source.name)
            metrics |= {said: own[name], f"{said}_full": before[name]}
        return statistics | metrics, 100 * (own["fid"] / before["fid"] - 1)
