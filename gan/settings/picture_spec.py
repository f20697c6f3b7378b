"""The specification of a model that makes pictures from noise. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.image_metrics import METRICS, MINIMUM
from ganboard.gan.settings.specification import Benchmark, ModelSpec

QUALITY = (
    "Copies of 100 training images reach a low FID, so also check Memorization (0.5: as novel"
    " as real images, 1: copies), Recall and Coverage."
)


def picture_spec(
    title: str,
    config: type[AdversarialConfig],
    *,
    batch: int = 64,
    benchmark: Mapping[str, Any] | None = None,
    peers: Sequence[str] = (),
    usual: bool = False,
) -> ModelSpec:
    """A specification with what all such models have in common; `batch`, the settings `benchmark`
    and `peers` are for `ganboard bench`."""
    return ModelSpec(
        title=title,
        config=config,
        metrics=METRICS,
        benchmark=Benchmark(
            batch, benchmark or {}, peers={name: f"ganboard.gan.bench.{name}" for name in peers}
        ),
        has_latent_space=True,
        request={"seed": 0, "count": 4},
        usual=usual,
        quality_examples=MINIMUM,
        quality=QUALITY,
    )
