"""A model that there is, and where its parts are. Free of TensorFlow, which the parts import when
they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ganboard.gan.settings import declaring
from ganboard.gan.settings.run_config import RunConfig
from ganboard.gan.settings.specification import ModelSpec

BUILT_IN = Path(__file__).parents[1] / "models"
SHARED = "ganboard.gan.one_file"  # the parts that models of one file have in common
LOADED = "ganboard_models"  # the package of one's own models in sys.modules


@dataclass(frozen=True)
class Model:
    """A model with its name, and where its parts are: in a folder, or shared by all models of one
    file, which has the networks."""

    name: str
    spec: ModelSpec
    package: str  # the folder as a module, or SHARED
    file: Path | None = None  # of a model of one file
    source: str = ""  # digest of a model that does not come with ganboard

    @property
    def built_in(self) -> bool:
        """Whether it comes with ganboard."""
        return not self.source

    @property
    def config(self) -> type[RunConfig]:
        return self.spec.config

    def part(self, name: str) -> Any:
        """A module of the model: `recipe`, `source`, `generation`, `costs`."""
        return import_module(f"{self.package}.{name}")

    def networks(self) -> ModuleType:
        """The file of the model as it is: `generator`, `discriminator`. Imports TensorFlow."""
        assert self.file is not None, "a model in a folder has its own recipe"
        if self.file.parent == BUILT_IN:
            return import_module(f"ganboard.gan.models.{self.name}")
        return declaring.networks(self.file, f"{LOADED}.{self.name}")
