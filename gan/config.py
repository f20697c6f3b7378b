"""Configuration of one run: every hyper-parameter with its unit, range, default and reason. Free of
TensorFlow.

The launch form, the command line, presets and every configuration diff are generated from
`RunConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

# in the configuration of every run, however old
ALWAYS = ("dataset", "batch_size", "epochs", "seed", "precision", "xla")
TOLD = 4  # mistakes at a time
GROUPS = (
    "Data",
    "Model",
    "Training",
    "Optimizer",
    "Schedule",
    "Acceleration",
    "Quality",
    "Safety",
    "Output",
)


DATASETS = {
    "dcgan": ("digits", "mnist", "fashion_mnist", "images"),
    "gan3d": ("showers", "hdf5"),
    "pix2pix": ("street", "flow"),
}
GEOMETRIES = {"gan3d": ("25x25x25", "51x51x25"), "pix2pix": ("64x64", "128x128", "256x256")}
FILES = {
    "images": "the folder or zip inside the data directory that holds the pictures",
    "hdf5": "the folder or file inside the data directory that holds the showers",
    "flow": "the folder inside the data directory that `ganboard data flow` has written",
}
DRAWN = ("dcgan", "gan3d")  # models with a latent space, which the playground draws from
# Settings that a model's training does not read
UNREAD = {
    "dcgan": ("geometry",),
    "gan3d": (
        "latent_dim", "table1_literal", "generator_batch_norm", "discriminator_batch_norm", "d_steps", "loss", "gradient_penalty", "r1",
        "label_smoothing", "convolution",
    ),
    "pix2pix": (
        "latent_dim", "table1_literal", "generator_batch_norm", "discriminator_batch_norm", "d_steps", "loss", "gradient_penalty", "r1",
        "label_smoothing", "convolution", "recompute",
    ),
}  # fmt: skip


def model_of(config: Mapping[str, Any]) -> str:
    """The model of a run's stored settings; DCGAN where they name none that is known."""
    return model if (model := config.get("model")) in DATASETS else "dcgan"


class ConfigError(ValueError):
    """A configuration that cannot be run; the message is one sentence for the person who wrote it."""


def setting(default: Any, group: str, why: str, *, unit: str = "", **limits: Any) -> Any:
    """A field of `RunConfig` that the form and `--help` can explain."""
    return Field(
        default, description=why, json_schema_extra={"group": group, "unit": unit}, **limits
    )


class RunConfig(BaseModel):
    """All that determines a run. Equal configurations give equal losses on equal hardware."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False)

    # fmt: off
    dataset: Literal["digits", "mnist", "fashion_mnist", "images", "showers", "hdf5", "street", "flow"] = setting("mnist", "Data", "What the generator learns to imitate; digits is always there, offline; showers (sampled) and hdf5 (CERN's files) are for model=gan3d, street (computed once) and flow (your own) for model=pix2pix")
    images_path: str = setting("", "Data", "For dataset=images a folder or zip of PNG or JPEG files, for dataset=hdf5 a folder or file of showers, for dataset=flow a folder of frames, relative to the data directory", max_length=300)
    skip_unreadable: bool = setting(False, "Data", "For dataset=images: leave out pictures that cannot be read instead of refusing the folder; the run says how many")
    limit: int | None = setting(None, "Data", "Use only the first examples: shorter epochs for a first look", unit="images", ge=1, le=10_000_000)

    model: Literal["dcgan", "gan3d", "pix2pix"] = setting("dcgan", "Model", "The networks: DCGAN of the study's Table 1, the 3DGAN of calorimeter showers, or pix2pix, which learns the next picture of a flow")
    geometry: Literal["25x25x25", "51x51x25", "64x64", "128x128", "256x256"] = setting("25x25x25", "Model", "For model=gan3d the cells of a shower: 25x25x25 at a fixed angle (EcalEnergyGan), or 51x51x25 with the angle as a condition (AngleArch3dGAN); for model=pix2pix the window of a frame: 64x64, 128x128 or 256x256", unit="cells")
    latent_dim: int = setting(100, "Model", "Length of the noise vector z (the study: 100)", unit="values", ge=1, le=4096)
    table1_literal: bool = setting(False, "Model", "Read Table 1 to the letter: an extra 7x7 transposed convolution in G")
    generator_batch_norm: bool = setting(True, "Model", "Batch norm in G (Table 1); off makes every image independent of its batch")
    discriminator_batch_norm: bool = setting(False, "Model", "Batch norm in D: the study's text has it, its Table 1 does not")

    batch_size: int = setting(64, "Training", "Global batch over all replicas; the study sweeps 32 to 512", unit="images", ge=1, le=65_536)
    accumulate: int = setting(1, "Training", "Add up the gradients of so many equal parts of the batch before each update: large batches in little memory", unit="parts", ge=1, le=1024)
    epochs: int = setting(30, "Training", "Passes over the data (the study: 30)", unit="epochs", ge=1, le=100_000)
    d_steps: int = setting(1, "Training", "Discriminator updates per generator update (k of the study's Eq. 4)", ge=1, le=16)
    loss: Literal["non_saturating", "saturating", "hinge", "wgan_gp"] = setting("non_saturating", "Training", "What G minimises: -log D(G(z)), Eq. 5's log(1 - D(G(z))), the hinge, or the Wasserstein critic with gradient penalty")
    gradient_penalty: float = setting(10.0, "Training", "Weight of the penalty of loss=wgan_gp (Gulrajani et al. 2017: 10)", ge=0, le=1000)
    r1: float = setting(0.0, "Training", "Weight gamma of the R1 penalty on D's gradient at real images (Mescheder et al. 2018: 10; 0 is off)", ge=0, le=1000)
    label_smoothing: float = setting(0.0, "Training", "D's target for real images is 1 minus this (Salimans et al. 2016: 0.1; 0 is off)", ge=0, lt=0.5)
    ema: float = setting(0.0, "Training", "Decay of a moving average of G's weights; grids and quality come from it (0 is off, 0.999 is usual)", ge=0, lt=1)
    seed: int = setting(0, "Training", "Same seed, same run: weights, order, noise and dropout all follow from it", ge=0, le=2**31 - 1)

    optimizer: Literal["adam", "sgd", "rmsprop"] = setting("adam", "Optimizer", "Update rule of both networks (Table 1: Adam)")
    g_learning_rate: float = setting(1e-4, "Optimizer", "Learning rate of G (Table 1: 1e-4); unequal rates are TTUR (Heusel et al. 2017)", gt=0, le=10)
    d_learning_rate: float = setting(1e-4, "Optimizer", "Learning rate of D (Table 1: 1e-4)", gt=0, le=10)
    beta_1: float = setting(0.9, "Optimizer", "Adam's first-moment decay, or SGD's momentum; 0.5 steadies GANs", ge=0, lt=1)
    beta_2: float = setting(0.999, "Optimizer", "Adam's second-moment decay", ge=0, lt=1)
    rho: float = setting(0.9, "Optimizer", "RMSprop's decay of the mean square", ge=0, lt=1)
    epsilon: float = setting(1e-7, "Optimizer", "What Adam and RMSprop add to the root of the mean square", gt=0, le=1)
    clip_norm: float = setting(0.0, "Optimizer", "Scale each network's whole gradient, summed over all replicas, down to this norm (0 is off)", ge=0, le=1e6)

    schedule: Literal["constant", "cosine_restart", "cyclic"] = setting("constant", "Schedule", "How the learning rates move over the epochs: not at all, down a cosine with restarts (SGDR), or up and down (Fig. 9)")
    schedule_for: Literal["both", "generator", "discriminator"] = setting("both", "Schedule", "Whose rate moves; the other stays")
    schedule_period: float = setting(17.0, "Schedule", "Epochs from restart to restart, or from minimum to minimum (Fig. 9: 17)", unit="epochs", gt=0, le=100_000)
    schedule_minimum: float = setting(7.0, "Schedule", "Epoch of the first minimum of schedule=cyclic (Fig. 9: 7)", unit="epochs", ge=0, le=100_000)
    schedule_depth: float = setting(0.9, "Schedule", "How far a rate falls below its value, as a share of it", ge=0, le=1)
    warmup_epochs: float = setting(0.0, "Schedule", "Rates rise from zero over so many first epochs (Goyal et al. 2017)", unit="epochs", ge=0, le=100_000)
    lr_scaling: Literal["none", "linear", "sqrt"] = setting("none", "Schedule", "Multiply the rates by batch_size / lr_base_batch, or by its root, so that large batches move as far")
    lr_base_batch: int = setting(64, "Schedule", "The batch for which the learning rates were chosen", unit="images", ge=1, le=65_536)

    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = setting("float32", "Acceleration", "Number format of the products; weights, logits and losses stay float32")
    xla: bool = setting(False, "Acceleration", "Compile the gradient function with XLA: pays on GPU and TPU, often not on CPU")
    strategy: Literal["auto", "default", "mirrored", "multi_worker", "tpu"] = setting("auto", "Acceleration", "How replicas are spread: over devices of one process, over processes, or over TPU cores; auto: mirrored when replicas > 1")
    replicas: int = setting(1, "Acceleration", "Copies of the networks, each taking an equal share of the batch; with multi_worker one process each", unit="replicas", ge=1, le=1024)
    loop: Literal["custom", "fit"] = setting("custom", "Acceleration", "Hand-written training loop, or Keras fit with its own train_step")
    convolution: Literal["auto", "direct", "spectral"] = setting("auto", "Acceleration", "How G's largest convolution is computed: directly, or by Fourier transforms with a tenth of the products; auto: spectral on CPU")
    recompute: bool = setting(False, "Acceleration", "Forget activations and compute them again for the gradient: less memory, more time, equal gradients")

    quality_every: int = setting(0, "Quality", "Evaluate the generator every so many epochs and after the last (0: never); needs labelled images, showers, or flows that are held out", unit="epochs", ge=0, le=10_000)
    quality_images: int = setting(2000, "Quality", "How many generated and how many real images, showers or pairs are compared", unit="images", ge=200, le=50_000)

    on_non_finite: Literal["stop", "roll_back"] = setting("stop", "Safety", "When a loss, gradient or weight is not finite: end the run, or once go back to the last checkpoint and on with half the rates")
    stall_seconds: int = setting(600, "Safety", "Say so, with every thread's stack in the log, when no step ends for so long, and after twice as long start again from the last checkpoint (0 is never)", unit="seconds", ge=0, le=86_400)

    max_minutes: float = setting(0.0, "Safety", "Stop with a checkpoint after so many minutes of training in one go (0 is never); resume goes on", unit="minutes", ge=0, le=1_000_000)

    grid_every: int = setting(1, "Output", "Draw the fixed-latent image grid every so many epochs (first and last always)", unit="epochs", ge=1, le=10_000)
    grid_size: int = setting(8, "Output", "Images per side of the grid", unit="images", ge=1, le=16)
    checkpoint_every: int = setting(1, "Output", "Save a checkpoint every so many epochs (also on stop and every five minutes)", unit="epochs", ge=1, le=10_000)
    keep_checkpoints: int = setting(3, "Output", "How many newest checkpoints to keep", ge=1, le=100)
    snapshots: int = setting(10, "Output", "How often, evenly over the run, the weights are kept (for DCGAN 5 MB each) for its path on a loss surface (0 is never)", ge=0, le=200)
    # fmt: on

    @model_validator(mode="after")
    def _fits_together(self) -> RunConfig:
        learns = DATASETS[self.model]
        if self.dataset not in learns:
            raise problem(
                f"model={self.model} does not learn from dataset={self.dataset}: choose one of"
                f" {', '.join(learns)}."
            )
        if self.geometry not in GEOMETRIES.get(self.model, (self.geometry,)):
            raise problem(
                f"model={self.model} has no geometry={self.geometry}: choose one of"
                f" {', '.join(GEOMETRIES[self.model])}."
            )
        for name in UNREAD[self.model]:
            value, default = getattr(self, name), type(self).model_fields[name].default
            if value != default:
                raise problem(
                    f"{name}={value} has no meaning for model={self.model}: leave it at {default}."
                )
        if self.dataset in FILES and not self.images_path:
            raise problem(f"dataset={self.dataset} needs images_path: {FILES[self.dataset]}.")
        if self.dataset not in FILES and self.images_path:
            raise problem(
                f"images_path={self.images_path!r} is only used with dataset={' or '.join(FILES)}:"
                " set that, or leave images_path empty."
            )
        if self.skip_unreadable and self.dataset != "images":
            raise problem(
                "skip_unreadable=true is only used with dataset=images, and"
                f" dataset={self.dataset}: set it to false."
            )
        if self.strategy == "default" and self.replicas != 1:
            raise problem(
                f"replicas={self.replicas} needs strategy=mirrored or auto: strategy=default runs"
                " on one device."
            )
        if self.strategy == "multi_worker" and self.replicas < 2:
            raise problem(
                "replicas=1 is too few for strategy=multi_worker: set replicas to the number of"
                " processes, 2 or more."
            )
        parts, names = self.replicas * self.accumulate, f"replicas={self.replicas}"
        if self.accumulate > 1:
            names += f" times accumulate={self.accumulate}"
        if self.batch_size % parts:
            lower = self.batch_size // parts * parts
            raise problem(
                f"batch_size={self.batch_size} does not divide among {names}: "
                f"use a multiple of {parts}, such as {lower or parts} or {lower + parts}."
            )
        if self.schedule != "constant":
            for name in (
                "schedule_period",
                *(["schedule_minimum"] if self.schedule == "cyclic" else []),
            ):
                if getattr(self, name) > self.epochs:
                    raise problem(
                        f"{name}={getattr(self, name):g} is beyond the run's end: lower it to"
                        f" epochs={self.epochs} or less."
                    )
        if self.warmup_epochs > self.epochs:
            raise problem(
                f"warmup_epochs={self.warmup_epochs:g} is beyond the run's end: lower it to"
                f" epochs={self.epochs} or less."
            )
        if self.label_smoothing and self.loss not in ("non_saturating", "saturating"):
            raise problem(
                f"label_smoothing={self.label_smoothing:g} has no meaning for loss={self.loss},"
                " which has no labels: set it to 0."
            )
        if self.loss == "wgan_gp" and self.discriminator_batch_norm:
            raise problem(
                "loss=wgan_gp penalises the gradient of each image alone: set"
                " discriminator_batch_norm to false."
            )
        if self.recompute and (self.r1 or self.loss == "wgan_gp"):
            penalty = f"r1={self.r1:g}" if self.r1 else "loss=wgan_gp"
            raise problem(
                f"recompute=true cannot be combined with {penalty}, which needs gradients of"
                " gradients: set recompute to false."
            )
        if self.quality_every and self.dataset == "images":
            raise problem(
                "quality_every needs labelled images and dataset=images has none: set quality_every"
                " to 0."
            )
        if self.limit is not None and self.limit < self.batch_size:
            raise problem(
                f"batch_size={self.batch_size} is larger than limit={self.limit}: lower batch_size"
                " or raise limit."
            )
        return self

    @property
    def effective_strategy(self) -> str:
        """The strategy that `auto` stands for."""
        return (
            ("mirrored" if self.replicas > 1 else "default")
            if self.strategy == "auto"
            else self.strategy
        )

    @property
    def per_replica_batch(self) -> int:
        return self.batch_size // self.replicas

    @property
    def micro_batch(self) -> int:
        """Images that one replica passes through the networks at a time."""
        return self.per_replica_batch // self.accumulate


@dataclass(frozen=True)
class Plan:
    """What a configuration amounts to on a data set of known size."""

    examples: int
    steps_per_epoch: int
    total_steps: int
    per_replica_batch: int
    dropped_per_epoch: int


def plan(config: RunConfig, available: int) -> Plan:
    """Steps that `config` takes on a data set of `available` images; the incomplete last batch of
    an epoch is dropped.

    Raises ConfigError when the batch is larger than the data set.
    """
    examples = min(available, config.limit or available)
    steps = examples // config.batch_size
    if not steps:
        raise ConfigError(
            f"batch_size={config.batch_size} is larger than the data set ({examples} images of"
            f" {config.dataset}): use {examples} or less."
        )
    return Plan(
        examples,
        steps,
        steps * config.epochs,
        config.per_replica_batch,
        examples - steps * config.batch_size,
    )


def parse(values: Mapping[str, Any]) -> RunConfig:
    """Validate `values` (strings from a command line are fine); raises ConfigError with one
    sentence for each of the first mistakes."""
    try:
        return RunConfig.model_validate(dict(values))
    except ValidationError as error:
        said = list(dict.fromkeys(_sentence(e) for e in error.errors()))
        more = [f"And {len(said) - TOLD} more."] if len(said) > TOLD else []
        raise ConfigError(" ".join(said[:TOLD] + more)) from None


def parse_value(name: str, value: Any) -> Any:
    """The value of one setting with its type, by itself: only `parse` can say whether it suits the
    others. Raises ConfigError."""
    if name not in RunConfig.model_fields:
        parse({name: value})  # refuses it
    try:
        return getattr(_alone(name).model_validate({name: _unless_none(name, value)}), name)
    except ValidationError as error:
        raise ConfigError(_sentence(error.errors()[0])) from None


@cache
def _alone(name: str) -> type[BaseModel]:
    field = RunConfig.model_fields[name]
    fields: Any = {name: (field.annotation, field)}
    made: type[BaseModel] = create_model(name, __config__=RunConfig.model_config, **fields)
    return made


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`["batch_size=128", "limit=none"]` as a mapping; raises ConfigError for text that is not
    `key=value`."""
    values: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"{text[:80]!r} is not of the form key=value, such as batch_size=128."
            )
        values[key.strip()] = _unless_none(key.strip(), value.strip())
    return values


def _unless_none(name: str, value: Any) -> Any:
    """None for the words, where a setting may be None."""
    field = RunConfig.model_fields.get(name)
    optional = field is not None and NoneType in get_args(field.annotation)
    return (
        None if optional and isinstance(value, str) and value.lower() in ("none", "all") else value
    )


def foreign(stored: Mapping[str, Any]) -> str | None:
    """Why nothing can be shown of a stored configuration, in a sentence; None where each setting
    has its type and none of ALWAYS is missing.

    Names that this version does not know are no reason, nor are rules between settings, which may
    be newer than the run.
    """
    try:
        RunConfig.model_validate(
            {name: value for name, value in stored.items() if name in RunConfig.model_fields},
            strict=True,
        )
    except ValidationError as error:
        if wrong := next((one for one in error.errors() if one["type"] != "ganboard"), None):
            return _sentence(wrong)
    missing = next((name for name in ALWAYS if name not in stored), None)
    return missing and f"{missing} is missing."


def diff(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings in which two stored configurations differ, as name -> (a, b)."""
    return {key: (a.get(key), b.get(key)) for key in {**a, **b} if a.get(key) != b.get(key)}


def fields_by_group() -> dict[str, dict[str, FieldInfo]]:
    """The fields of RunConfig in the order of GROUPS, for forms and help."""
    grouped: dict[str, dict[str, FieldInfo]] = {group: {} for group in GROUPS}
    for name, field in RunConfig.model_fields.items():
        grouped[_extra(field)["group"]][name] = field
    return grouped


def unit(field: FieldInfo) -> str:
    """Unit of a field, or an empty text."""
    return str(_extra(field)["unit"])


def _extra(field: FieldInfo) -> dict[str, Any]:
    assert isinstance(field.json_schema_extra, dict)
    return field.json_schema_extra


def problem(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("ganboard", "{sentence}", {"sentence": sentence})


_WANTED = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "literal_error": "one of {expected}",
    "string_type": "text",
    "string_too_long": "at most {max_length} characters",
}


def _sentence(error: ErrorDetails) -> str:
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "ganboard":
        return str(error["msg"])
    if error["type"] == "extra_forbidden":
        return (
            f"{name[:80]!r} is not a setting; the settings are {', '.join(RunConfig.model_fields)}."
        )
    wanted = _WANTED.get(error["type"])
    if wanted is None:
        return f"{name}: {error['msg']}."
    field = RunConfig.model_fields[name]
    return (
        f"{name}={_legible(error['input'])} is not allowed: it must be"
        f" {wanted.format(**error.get('ctx', {}))} (default {field.default})."
    )


def _legible(value: Any) -> str:
    """The beginning of a value, on one line and without what a terminal or a log should not get."""
    try:
        given = str(value)
    except ValueError:  # Python writes out no more than 4,300 digits
        return "a number of thousands of digits"
    short = given if len(given) <= 60 else given[:60] + "..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)
