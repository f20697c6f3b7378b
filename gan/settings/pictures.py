"""The settings of models that make pictures of any size: those of one file, built-in ones and one's
own. Free of TensorFlow."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.declarations import setting
from ganboard.gan.settings.problems import problem


def _whole(value: Any) -> Any:
    """The number that a text of digits stands for: a choice of numbers takes no text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 4 else value


class PictureConfig(AdversarialConfig):
    """What every such model reads; a model's own `Config` adds its settings."""

    datasets: ClassVar = {
        "images": "the folder, zip or npz inside the data directory that holds the pictures",
        "digits": "",
        "mnist": "",
        "fashion_mnist": "",
        "cifar10": "",
    }

    # fmt: off
    dataset: str = setting("mnist", "Data",
        "Training pictures, brought to image_size and channels: a folder of your own (images), or"
        " a known set",
        max_length=80, self_explanatory=True,
        study="Different images: losses and images cannot be compared with the study's, seconds"
        " per image can.")
    images_path: str = setting("", "Data",
        "A folder or zip of PNG or JPEG files, with a sub-folder for each class or a labels.csv if"
        " they have labels, or an .npz; relative to the data directory",
        when=("dataset", "images"), max_length=300)
    image_size: int = setting(28, "Data",
        "Side of the square that each picture is cropped and resized to",
        unit="pixels", speed=True, identifies=True, ge=28, le=256,
        study="Another size: nothing can be compared with the study's.")
    channels: Annotated[Literal[1, 3], BeforeValidator(_whole)] = setting(1, "Data",
        "1: grey, 3: colours",
        speed=True, identifies=True,
        study="The study's pictures are grey.")
    flips: bool = setting(False, "Data",
        "Mirror each picture left to right in half of the steps: not for digits or letters")
    augment: str = setting("", "Data",
        "Differentiable augmentation of real and generated pictures for small data, any of color,"
        " translation, cutout (Zhao et al. 2020); empty: none",
        label="DiffAugment", speed=True, max_length=40)

    conditional: bool = setting(False, "Model",
        "Train with labels: both networks get the class of each picture",
        speed=True)
    classes: int = setting(10, "Model",
        "Number of classes",
        when=("conditional", True), ge=2, le=1000)
    # fmt: on

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        return self.image_size, self.image_size, self.channels

    @property
    def label_count(self) -> int:
        return self.classes if self.conditional else 0

    @property
    def augmentations(self) -> tuple[str, ...]:
        """The parts of `augment`."""
        return tuple(part.strip() for part in self.augment.split(",") if part.strip())

    def _check_own(self) -> None:
        super()._check_own()
        known = ("color", "translation", "cutout")
        for part in self.augmentations:
            if part not in known:
                raise problem(
                    f"augment={part[:40]} is not allowed: list any of {', '.join(known)}, or leave"
                    " it empty."
                )
