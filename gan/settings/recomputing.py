"""The setting of models that can compute their activations again. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.declarations import setting
from ganboard.gan.settings.run_config import RunConfig


class RecomputingConfig(RunConfig):
    """What `gan.modeling.gradients.forward` reads."""

    # fmt: off
    recompute: bool = setting(False, "Acceleration",
        "Recompute activations in the backward pass: less memory, more time, equal gradients",
        speed=True)
    # fmt: on
