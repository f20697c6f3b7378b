"""How a model of one file is trained."""

from __future__ import annotations

from typing import cast

import keras

from ganboard.gan.costs import measured
from ganboard.gan.modeling.adversarial import AdversarialRecipe, Definition
from ganboard.gan.one_file import measure
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.settings import registry
from ganboard.gan.settings.pictures import PictureConfig


class Recipe(AdversarialRecipe):
    """See `gan.modeling.recipe.Recipe`."""

    def __init__(self, config: PictureConfig) -> None:
        definition = cast(Definition, registry.of(config).networks())
        super().__init__(config, definition, Evaluator)

    def networks(self) -> tuple[keras.Model, keras.Model]:
        nets = super().networks()
        g, d = (measure.costs(net) for net in nets)
        measured.put(self.config, (g, d))
        return nets
