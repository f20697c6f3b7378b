"""What pix2pix says of itself. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.small import FOLDER
from ganboard.gan.models.pix2pix.metrics import METRICS
from ganboard.gan.settings.specification import Benchmark, Equivalence, ModelSpec

MODEL = ModelSpec(
    title="pix2pix",
    config=Config,
    metrics=METRICS,
    benchmark=Benchmark(
        batch=16,
        settings={"geometry": "64x64"},
        peers={
            "tutorial": "ganboard.gan.models.pix2pix.bench.tutorial",
            "pytorch": "ganboard.gan.models.pix2pix.bench.pytorch",
        },
    ),
    fixed_inputs=("dataset", "images_path", "geometry", "history", "limit", "grid_size"),
    examples="pairs",
    surface_examples=8,
    surface_by_statistics=True,
    analyses={"prediction": "ganboard.worker.models.pix2pix.predictions:answer"},
    equivalence=Equivalence(
        settings={
            "dataset": "flow",
            "images_path": FOLDER,
            "geometry": "64x64",
            "g_learning_rate": 1e-3,
            "d_learning_rate": 1e-3,
        },
        bound=0.005,
        data="ganboard.gan.models.pix2pix.flow.small:write",
    ),
    quality=(
        "Evaluated as the mean absolute difference of fields in units of the inlet speed, on"
        " windows that are the same for all runs."
    ),
    losses=(
        "Mean cross-entropy over patches, G's times adversarial_weight, plus l1_weight times the L1"
        " distance from the real picture. A D that only guesses has ln 2."
    ),
)
