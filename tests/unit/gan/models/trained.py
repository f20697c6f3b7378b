"""What holds of any model's steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ganboard.gan.training.step_metrics import StepMetrics


def assert_both_trained(
    taken: StepMetrics, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """All losses are finite, and every array of both networks has changed."""
    for values in (taken.g_loss, taken.d_loss, *taken.terms.values()):
        assert np.isfinite(values).all()
    assert (taken.bad_tensor == -1).all()
    arrays = [name for name in after if name.startswith(("generator/", "discriminator/"))]
    assert arrays
    assert not [name for name in arrays if np.array_equal(before[name], after[name])]
