"""What a model says of itself: `MODEL` in `model.py` of its folder, or in its one file. Free of
TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ganboard.gan.settings.metric import Metric
from ganboard.gan.settings.run_config import RunConfig
from ganboard.gan.settings.validation import ValidationSpec


@dataclass(frozen=True)
class Benchmark:
    """How `ganboard bench` and tables over devices train the model."""

    batch: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    rehearsed: Mapping[str, Any] = field(default_factory=dict)  #: changes of them for a rehearsal
    #: modules that train the same networks for `ganboard bench`, by the kind of loop
    peers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """What the playground gives to a generator beside noise, the same for all images."""

    name: str  #: in requests and addresses
    label: str
    low: int
    high: int
    usual: int
    help: str
    format: str = "%d"
    when: tuple[Any, ...] = ()  #: (setting, values...) with which alone the network knows it


@dataclass(frozen=True)
class Equivalence:
    """How `ganboard selftest` and a first day on a device train the model, to hold one way of
    computing it against another."""

    settings: Mapping[str, Any]
    bound: float  #: of a difference after one step of SGD, as a share of a network's largest move
    #: reference of the function that writes the data of `settings` into a data directory, once
    data: str = ""
    #: by claim, the reference of a function that makes this process compute the model that way
    variants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelSpec:
    """A model, for everything outside of its folder."""

    title: str  #: its name in sentences
    config: type[RunConfig]
    metrics: tuple[Metric, ...]  #: of quality, the headline first
    benchmark: Benchmark
    has_latent_space: bool = False  #: which the playground explores
    #: the settings that decide what the images of a run's grids are made from: runs that agree in
    #: them, and in the classes of their labels, have the same latents
    fixed_inputs: tuple[str, ...] = ("seed", "latent_dim")
    examples: str = "images"  #: what a batch is made of
    #: the examples of one point of a loss surface: no more are needed, or each costs too much
    surface_examples: int = 4096
    #: what a registered version is asked for as an example, for those who look at its signature
    request: Mapping[str, Any] | None = None
    quality_examples: int = 1  #: that the data must have at least to evaluate a run
    #: captions of charts: how quality is measured, and what the losses are where they are part of
    #: the method
    quality: str = ""
    losses: str = ""
    #: whether a point of a loss surface needs the moving statistics of the run's end, since the
    #: recipe generates by them
    surface_by_statistics: bool = False
    #: by kind of request, the function that answers it in the analysis worker, as a reference for
    #: `references.resolve`: (context, run, options, on_progress) -> (result, facts)
    analyses: Mapping[str, str] = field(default_factory=dict)
    equivalence: Equivalence | None = None
    validation: ValidationSpec | None = None  #: of its fact `validation`, if its evaluator has it
    #: what the playground asks for beside noise; without any, the class of a model with labels
    conditions: tuple[Condition, ...] = ()
    usual: bool = False  #: of configurations that name no model, as the first ones did
