"""What a training run reports (`Sink`) and how it is controlled (`Control`). Free of
TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Losses = npt.NDArray[np.float32]
else:
    Losses = Any  # numpy is loaded with the first array
PhaseName = Literal[
    "importing", "loading", "building", "compiling", "training", "evaluating", "saving"
]
Outcome = Literal["finished", "stopped", "suspended"]
# by which alerts and `gan.diagnosis` know notes of these kinds: how one on a collapse begins, and
# what those on values that are not finite and on slow replicas contain
COLLAPSE = "Mode collapse: "
NOT_FINITE = " is not finite at "
SLOW_REPLICA = " is slow: "
ControlSignal = Literal["go", "stop", "suspend"]


class TrainingFailed(Exception):
    """A run that cannot continue; the message contains the remedy."""


@dataclass(frozen=True)
class Phase:
    """The run entered another phase; pages show it beside the progress."""

    name: PhaseName


@dataclass(frozen=True)
class PhaseProgress:
    """How far the phase is; the next one replaces it, and so does the next phase."""

    share: float  #: of what is being done
    doing: str
    seconds_left: float | None  #: None where it is unknown


@dataclass(frozen=True)
class Started:
    """Training is about to start, or to resume after `start_step` finished steps."""

    hardware: dict[str, Any]  #: host, cpu, devices, versions: JSON-ready
    examples: int
    steps_per_epoch: int
    start_step: int
    g_parameters: int
    d_parameters: int


@dataclass(frozen=True)
class Steps:
    """Losses of consecutive steps of one epoch; `first` counts from 0 within the epoch."""

    epoch: int
    first: int
    g_losses: Losses  #: [n] float32
    d_losses: Losses  #: [n] float32
    #: further values per step, [n] float32 each: see SERIES
    series: Mapping[str, Losses] = field(default_factory=dict)


@dataclass(frozen=True)
class EpochDone:
    """One finished epoch (counted from 1)."""

    epoch: int
    g_loss: float  #: mean over the steps, summed in float64
    d_loss: float
    seconds: float  #: time of its training steps over all attempts, without tracing and compiling
    #: tracing, compiling and the warm-up step of each attempt that began in this epoch
    compile_seconds: float
    images: int  #: real images seen
    #: seeded random projection of G's weights minus their initial value
    g_path: tuple[float, float]
    d_path: tuple[float, float]
    #: see MEASURES; what was not measured is absent
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Quality:
    """How good what G makes was after an epoch, as the model's evaluator finds it."""

    epoch: int
    seconds: float  #: what this evaluation took
    training_seconds: float  #: training time up to here: the x axis of an honest learning curve
    measures: Mapping[str, float]  #: see `gan.quality.declared`
    #: share of each class among the generated images, as the classifier sees them; empty without
    #: classes
    histogram: tuple[float, ...]
    #: what preparing it took beside `seconds`: the classifier and the real images' features, once
    #: per attempt, before its first evaluation
    preparation_seconds: float = 0.0


@dataclass(frozen=True)
class Facts:
    """Things that hold for the whole run, JSON-ready; later values replace earlier ones of the same
    name. See FACTS."""

    values: Mapping[str, Any]


REAL_IMAGES = -1  # the epoch of a grid of real images


@dataclass(frozen=True)
class Grid:
    """Images generated from the run's fixed latents; epoch 0 is before the first step, REAL_IMAGES
    the first images of the data set."""

    epoch: int
    png: bytes
    rows: int
    columns: int


@dataclass(frozen=True)
class Saved:
    """A checkpoint is on disk, flushed and verified."""

    step: int
    epoch: int  #: finished epochs
    digest: str  #: sha256 of its manifest
    size: int  #: bytes


@dataclass(frozen=True)
class Found:
    """A complete checkpoint that an attempt before has saved, and perhaps could not report."""

    step: int
    attempt: int
    epoch: int
    digest: str  #: as in `Saved`
    size: int


@dataclass(frozen=True)
class OnDisk:
    """All checkpoints that are there when an attempt begins: others that were reported are gone, or
    were set aside."""

    checkpoints: tuple[Found, ...]


@dataclass(frozen=True)
class Note:
    """Something a person should read on the run's page."""

    level: Literal["info", "warning", "error"]
    text: str


Event = (
    Phase
    | PhaseProgress
    | Started
    | Steps
    | EpochDone
    | Quality
    | Facts
    | Grid
    | Saved
    | OnDisk
    | Note
)

# Names and what they mean, with units: pages and documents take their labels from here.
SERIES = {
    "g_rate": "Learning rate of G, as scheduled",
    "d_rate": "Learning rate of D, as scheduled",
    "g_effective": "Effective rate of G: RMS of the update / RMS of the gradient",
    "d_effective": "Effective rate of D: RMS of the update / RMS of the gradient",
}
MEASURES = {
    "input_seconds": "Waiting for images",
    "compute_seconds": "Forward, backward and update",
    "reduce_seconds": "All-reduce of the gradients",
    "host_seconds": "Python, logging, grids and checkpoints between the calls",
    "step_p50": "Median seconds per step",
    "step_p95": "95th percentile of the seconds per step",
    "step_max": "Longest step, in seconds",
    "gflops": "GFLOP/s achieved in convolutions and products",
    "peak_share": "Share of this machine's measured peak",
    "reduce_bytes": "Bytes each replica sends per step in the all-reduce",
    "peak_memory_bytes": "Peak memory of the trainer so far (GPU memory if there is a GPU)",
    "d_real": "Mean output of D for real images (1: all real)",
    "d_fake": "Mean output of D for generated images (1: all real)",
    "overflows": "Infinite or NaN values in the 16-bit gradients",
    "underflows": "Zero values in the 16-bit gradients",
    "skipped_steps": "Updates skipped because a scaled gradient overflowed (mixed_float16)",
    "loss_scale": "Loss scale at the end of the epoch (mixed_float16)",
}
FACTS = {
    "kernels_before": "Operations before XLA's fusion",
    "kernels_after": "Kernels after it",
    "off_accelerator": "Operations of the training step that are not placed on the accelerator",
    "step_gflop": "GFLOP of convolutions and products in one step",
    "peak_gflops": "Best measured peak of this machine in this precision, GFLOP/s",
    "estimated_memory_bytes": "Memory estimated before the start",
    "measured_memory_bytes": "Memory measured in the first steps",
    "largest_batch": "Largest global batch that fits, by the estimate",
    "reduce_bytes": "Bytes each replica sends per step in the all-reduce",
    "forked_from": "Run and step that it was forked from",
    "start_from": "Where the first weights come from",
    "model_source": "SHA-256 of the source of a model that does not come with ganboard",
    "data_revision": "Revision of the sampled data; other revisions contain other examples",
    "skipped_pictures": "Pictures skipped because they cannot be read (skip_unreadable)",
    "quality_features": "Features that quality is evaluated with, and what they were made of",
    "encoder_accuracy": "Rotations that the encoder used for evaluation tells right",
    "class_shares": "Share of each class in the data, as that classifier sees it",
    "classifier_accuracy": "Test accuracy of the classifier used for evaluation",
    "generator_layers": "Layers of G: kind and output",
    "discriminator_layers": "Layers of D",
    "generator_summary": "Layers of G: name, kind, output, parameters, trainable parameters",
    "discriminator_summary": "Layers of D",
    "form": "How the step is computed on this device",
    "validation": "Generated and real showers at the last evaluation",
}
# facts that are drawn and not listed
UNLISTED = frozenset({"validation", "generator_summary", "discriminator_summary"})


class Sink(Protocol):
    """Receives every event in order; an exception it raises ends the run's process."""

    def __call__(self, event: Event) -> None: ...


class Control(Protocol):
    """Asked after every call of the training step; must answer at once."""

    def __call__(self) -> ControlSignal: ...
