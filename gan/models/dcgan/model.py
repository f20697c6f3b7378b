"""What DCGAN says of itself. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.settings.image_metrics import METRICS
from ganboard.gan.settings.specification import Benchmark, ModelSpec

MODEL = ModelSpec(
    title="DCGAN",
    config=Config,
    metrics=METRICS,
    benchmark=Benchmark(batch=256),
    has_latent_space=True,
    request={"seed": 0, "count": 4},
)
