"""The memory of an evaluation beside what was measured."""

from __future__ import annotations

import pytest

from ganboard.gan.costs.evaluation import evaluation_bytes
from ganboard.gan.settings.adversarial import AdversarialConfig

# highest resident memory beyond that of TensorFlow, in MB, for so many pictures of a side
MEASURED = [("encoder", 2_000, 64, 351), ("encoder", 2_000, 128, 751), ("inception", 500, 64, 768)]


@pytest.mark.parametrize(("features", "pictures", "side", "megabytes"), MEASURED)
def test_the_estimate_is_near_what_was_measured(
    features: str, pictures: int, side: int, megabytes: int
) -> None:
    config = AdversarialConfig.model_construct(quality_images=pictures, quality_features=features)
    estimated = evaluation_bytes(config, side * side * 3)
    assert estimated == pytest.approx(megabytes * 1e6, rel=0.25)
