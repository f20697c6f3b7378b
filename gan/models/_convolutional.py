"""The settings of the built-in models of one file. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models._sizes import halvings
from ganboard.gan.settings.declarations import setting
from ganboard.gan.settings.pictures import PictureConfig


class ConvolutionalConfig(PictureConfig):
    """Networks of convolutions that halve and double the maps."""

    # fmt: off
    width: int = setting(32, "Model",
        "Filters of the largest maps; they double as the maps halve, up to 8 times as many",
        unit="filters", speed=True, identifies=True, ge=4, le=512)
    # fmt: on

    def _check_own(self) -> None:
        super()._check_own()
        halvings(self.image_size)
