"""The claims of `ganboard selftest`, and why their limits are what they are.

Each claim compares the weights that two trainings end with. Plain SGD shows every wrong factor on a
gradient (0.01 after three steps), Adam and RMSprop nearly cancel it. Rounding errors grow with the
number of steps: an activation that is zero but for rounding can fall on either side of LeakyReLU's
bend (which may move a weight by 3e-4), and Adam, whose update is about lr g / |g|, turns a gradient
of rounding errors into a full step of random sign. So SGD is compared after three steps, and Adam
after twenty with an epsilon that outweighs rounding errors. The limits on a difference are what is
typical of these trainings and seeds, with room; they bound no other training.

Models that declare how (`ModelSpec.equivalence`) are compared after one step of SGD, and the
difference counts as a share of the largest move in that network: a wrong factor would be half of it
or more. 3DGAN and pix2pix need this, since they lift rounding errors within one step: where maps
are nearly empty, batch norm divides by little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.settings import registry

_BATCH = 32
Settings = dict[str, Any]


def _steps(count: int, **changes: Any) -> Settings:
    return {
        "dataset": "digits",
        "batch_size": _BATCH,
        "limit": _BATCH * count,
        "epochs": 1,
        "grid_size": 1,
        **changes,
    }


_SGD = _steps(3, optimizer="sgd", g_learning_rate=0.01, d_learning_rate=0.01)
_ADAM = _steps(20, epsilon=0.01)


@dataclass(frozen=True)
class Training:
    """One training to compare: settings, and a variant of gan.verification.equivalence."""

    settings: Settings
    variant: str = ""

    @property
    def config(self) -> RunConfig:
        return parse(self.settings)


@dataclass(frozen=True)
class Claim:
    """Two trainings whose weights differ by at most `bound`, or, with `start`, by that share of how
    far they have moved from there."""

    name: str
    one: Training
    other: Training
    bound: float
    reason: str  # why the bound is what it is
    start: Training | None = None


def _claim(
    name: str, base: Settings, changes: Settings, bound: float, reason: str, variant: str = ""
) -> Claim:
    return Claim(name, Training(base), Training({**base, **changes}, variant), bound, reason)


_TWO = {"replicas": 2}
_ROUNDING = "float32 rounding in a different summation order"
_OF_USUAL = (
    _claim("2 replicas = 1 replica (SGD)", _SGD, _TWO, 5e-6, _ROUNDING),
    _claim("2 replicas = 1 replica (Adam)", _ADAM, _TWO, 5e-6, _ROUNDING),
    _claim(
        "multi-worker = mirrored (SGD)",
        {**_SGD, **_TWO},
        {"strategy": "multi_worker"},
        5e-6,
        _ROUNDING,
    ),
    _claim(
        "multi-worker = mirrored (Adam)",
        {**_ADAM, **_TWO},
        {"strategy": "multi_worker"},
        5e-6,
        _ROUNDING,
    ),
    _claim("fit = custom loop", _ADAM, {"loop": "fit"}, 0.0, "the same operations"),
    _claim("fit = custom loop on 2 replicas", {**_ADAM, **_TWO}, {"loop": "fit"}, 5e-6, _ROUNDING),
    _claim(
        "4 accumulated parts = 1 batch (no batch norm)",
        {**_SGD, "generator_batch_norm": False},
        {"accumulate": 4},
        5e-6,
        _ROUNDING,
    ),
    _claim("recomputation = kept activations", _SGD, {"recompute": True}, 5e-6, _ROUNDING),
    _claim("one backward pass through D = two", _SGD, {}, 5e-6, _ROUNDING, "two passes"),
    _claim(
        "real and generated images in one call of D = two", _SGD, {}, 5e-6, _ROUNDING, "two calls"
    ),
    _claim(
        "spectral convolution = direct convolution",
        _SGD,
        {"convolution": "direct"},
        2e-5,
        _ROUNDING,
    ),
    _claim("XLA = no XLA", _SGD, {"xla": True}, 5e-6, _ROUNDING),
    _claim(
        "resumed = never stopped",
        _ADAM,
        {},
        0.0,
        "no randomness is stored: identical bits",
        "interrupted",
    ),
)


def small(model: str, **changes: Any) -> Settings:
    return {
        "model": model,
        "batch_size": 4,
        "limit": 4,
        "epochs": 1,
        "grid_size": 1,
        "snapshots": 0,
        **changes,
    }


@cache
def claims() -> tuple[Claim, ...]:
    """Of all models: those of the usual one, then of those that declare how they are compared."""
    declared = (
        claims_of(name) for name, model in registry.models().items() if model.spec.equivalence
    )
    return (*_OF_USUAL, *(claim for some in declared for claim in some))


def claims_of(model: str) -> tuple[Claim, ...]:
    """Of a model that declares how it is compared; else ConfigError."""
    declared = registry.get(model).spec.equivalence
    if declared is None:
        raise ConfigError(
            f"model={model} declares nothing to check. Set `equivalence` in its ModelSpec."
        )
    return tuple(
        compared(model, small(model, **declared.settings), declared.bound, declared.variants)
    )


def compared(
    model: str, base: Settings, bound: float, variants: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Claim]:
    """Of a model that is compared after one step, by shares of its moves."""
    once = {**base, "optimizer": "sgd", "beta_1": 0.0}
    start, longer = Training(once, "untrained"), {**base, "epochs": 3}

    def near(name: str, changes: Settings, variant: str = "", of: Settings = once) -> Claim:
        return Claim(
            f"{model}: {name}",
            Training(of),
            Training({**of, **changes}, variant),
            bound,
            _LIFTED,
            start,
        )

    yield near("2 replicas = 1 replica", _TWO)
    yield near("multi-worker = mirrored", {"strategy": "multi_worker"}, of={**once, **_TWO})
    yield _claim(f"{model}: fit = custom loop", once, {"loop": "fit"}, 0.0, "the same operations")
    if "recompute" in registry.get(model).config.model_fields:
        yield near("recomputation = kept activations", {"recompute": True})
    for name, variant in variants.items():
        yield near(name, {}, variant)
    yield _claim(
        f"{model}: resumed = never stopped",
        longer,
        {},
        0.0,
        "no randomness is stored: identical bits",
        "interrupted",
    )


_LIFTED = "share of the largest move; rounding, lifted by batch norm"


def chosen(text: str | None) -> tuple[Claim, ...]:
    """The claims whose name contains `text`, without regard to case. Raises ConfigError when there
    is none."""
    found = tuple(claim for claim in claims() if (text or "").lower() in claim.name.lower())
    if not found:
        raise ConfigError(
            f"No claim contains {(text or '')[:80]!r}. Available claims:"
            f" {'; '.join(claim.name for claim in claims())}."
        )
    return found
