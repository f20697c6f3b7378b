"""What an evaluation of generated pictures takes of the memory, while nothing trains. Free of
TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.features import INCEPTION

# Fitted to the highest resident memory (two CPU cores, TensorFlow 2.21): of the presets that
# evaluate with `estimate._PROCESS` (`python -m tests.scale.memory`), and of evaluators in a process
# of their own. Of these, beyond TensorFlow alone, in MB, measured / estimated: 2,000 pictures of
# 64x64x3 and of 128x128x3 by the encoder 351/362 and 751/763; 500 of 64x64x3 by InceptionV3 768/765
_OWN, _INCEPTION = 220 * 10**6, 730 * 10**6
_VALUE, _PICTURE = 5.4, 4_500  # bytes for each value of a picture that is compared, and beside them


def evaluation_bytes(config: AdversarialConfig, values: int) -> int:
    """Bytes for `config.quality_images` pictures of `values` values each."""
    networks = _INCEPTION if config.quality_features == INCEPTION else _OWN
    return networks + int((_VALUE * values + _PICTURE) * config.quality_images)
