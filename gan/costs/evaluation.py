"""What an evaluation of generated pictures takes of the memory, while nothing trains. Free of
TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.features import INCEPTION

# Classifier and encoder: fitted with `estimate._PROCESS` to the highest resident memory of whole
# trainings of DCGAN. InceptionV3: that of an evaluator in a process of its own, beyond TensorFlow
# alone and the pictures (two CPU cores, TensorFlow 2.21, 500 of 64x64x3).
_OWN, _INCEPTION = 280 * 10**6, 750 * 10**6
_COMPARED = 11.1  # bytes for each value of the pictures that are compared; fitted in the same way


def evaluation_bytes(config: AdversarialConfig, values: int) -> int:
    """Bytes for `config.quality_images` pictures of `values` values each."""
    networks = _INCEPTION if config.quality_features == INCEPTION else _OWN
    return networks + int(_COMPARED * values * config.quality_images)
