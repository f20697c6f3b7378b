"""What the 3DGAN says of itself. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.metrics import METRICS, MINIMUM
from ganboard.gan.models.gan3d.validation import VALIDATION
from ganboard.gan.settings.specification import Benchmark, Condition, Equivalence, ModelSpec

MODEL = ModelSpec(
    title="3DGAN",
    config=Config,
    metrics=METRICS,
    benchmark=Benchmark(
        batch=16,
        settings={"geometry": "51x51x25"},
        rehearsed={"geometry": "25x25x25"},
        peers={
            "tutorial": "ganboard.gan.models.gan3d.bench.tutorial",
            "pytorch": "ganboard.gan.models.gan3d.bench.pytorch",
        },
    ),
    has_latent_space=True,
    fixed_inputs=("seed", "geometry", "dataset", "images_path", "limit"),
    examples="showers",
    surface_examples=8,
    surface_by_statistics=True,
    equivalence=Equivalence(
        settings={"dataset": "showers", "g_learning_rate": 1e-5, "d_learning_rate": 1e-5},
        bound=0.05,
        variants={
            "folded up-sampling = plain up-sampling": "ganboard.gan.models.gan3d.networks:unfold"
        },
    ),
    validation=VALIDATION,
    conditions=(
        Condition("energy", "Energy, GeV", 2, 500, 100, "Energy of the particle in every shower."),
        Condition(
            "angle",
            "Angle",
            60,
            120,
            90,
            "Angle at which the particle enters.",
            format="%d°",
            when=("geometry", "51x51x25"),  # the network of 25 cells knows no angle
        ),
    ),
    quality_examples=MINIMUM,
    quality=(
        "Evaluated with the 3DGAN validation, without ROOT, for the particles of the last showers"
        " in the data set."
    ),
    losses=(
        "Weighted sums of the cross-entropy of real or generated and of the errors of energy,"
        " angle and cell sum, as means over the batch."
    ),
    request={"energies": [100.0], "seed": 0},
)
