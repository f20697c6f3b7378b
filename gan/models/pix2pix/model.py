"""What pix2pix says of itself. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.metrics import METRICS
from ganboard.gan.settings.specification import Benchmark, ModelSpec

MODEL = ModelSpec(
    title="pix2pix",
    config=Config,
    metrics=METRICS,
    benchmark=Benchmark(batch=16, settings={"geometry": "64x64"}),
    examples="pairs",
    surface_examples=8,
)
