"""`ganboard selftest`: proves here and now that different ways of computing a training compute the
same training.

Each claim compares the weights that two trainings end with. Plain SGD shows every wrong factor on a gradient (0.01 after three steps), Adam
and RMSprop nearly cancel it. Rounding errors grow with the number of steps: an activation that is zero but for rounding can fall on either
side of LeakyReLU's bend (which may move a weight by 3e-4), and Adam, whose update is about lr g / |g|, turns a gradient of rounding errors
into a full step of random sign.
So SGD is compared after three steps, and Adam after twenty with an epsilon that outweighs rounding
errors. The limits on a difference are what is typical of these trainings and seeds, with room; they
bound no other training.

3DGAN and pix2pix lift rounding errors within one step: where maps are nearly empty, batch norm
divides by little. They are compared after one step of SGD, and the difference counts as a share of
the largest move in that network: a wrong factor would be half of it or more.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ganboard.gan.checkpoint.store import Arrays
from ganboard.gan.config import UNREAD, ConfigError, RunConfig, parse
from ganboard.gan.models.pix2pix import frames
from ganboard.gan.models.pix2pix.obstacle import Obstacle
from ganboard.gan.models.pix2pix.recording import Case, Recording
from ganboard.gan.verification import equivalence
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.training.process_group import ProcessGroup

_BATCH = 32
_FLOW = "flow"  # the folder of pix2pix's frames
RECORDING = Recording((Case(Obstacle("circle", 6), 60),), (72, 66), frames=9, discard=300, every=20)
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


@dataclass(frozen=True)
class Result:
    """A claim and the largest difference of any weight, or share of a move; `problem` when a
    training failed."""

    claim: Claim
    difference: float | None
    problem: str | None = None

    @property
    def holds(self) -> bool:
        return self.difference is not None and self.difference <= self.claim.bound


def _claim(
    name: str, base: Settings, changes: Settings, bound: float, reason: str, variant: str = ""
) -> Claim:
    return Claim(name, Training(base), Training({**base, **changes}, variant), bound, reason)


_TWO = {"replicas": 2}
_ROUNDING = "float32 rounding in another order of sums"
_OF_DCGAN = (
    _claim("2 replicas = 1 replica (SGD)", _SGD, _TWO, 2e-6, _ROUNDING),
    _claim("2 replicas = 1 replica (Adam)", _ADAM, _TWO, 2e-6, _ROUNDING),
    _claim(
        "multi-worker = mirrored (SGD)",
        {**_SGD, **_TWO},
        {"strategy": "multi_worker"},
        2e-6,
        _ROUNDING,
    ),
    _claim(
        "multi-worker = mirrored (Adam)",
        {**_ADAM, **_TWO},
        {"strategy": "multi_worker"},
        2e-6,
        _ROUNDING,
    ),
    _claim("fit = custom loop", _ADAM, {"loop": "fit"}, 0.0, "the same operations"),
    _claim("fit = custom loop on 2 replicas", {**_ADAM, **_TWO}, {"loop": "fit"}, 2e-6, _ROUNDING),
    _claim(
        "4 accumulated parts = 1 batch (no batch norm)",
        {**_SGD, "generator_batch_norm": False},
        {"accumulate": 4},
        2e-6,
        _ROUNDING,
    ),
    _claim("recomputation = kept activations", _SGD, {"recompute": True}, 2e-6, _ROUNDING),
    _claim("one backward pass through D = two", _SGD, {}, 2e-6, _ROUNDING, "two passes"),
    _claim(
        "spectral convolution = direct convolution",
        _SGD,
        {"convolution": "direct"},
        1e-5,
        _ROUNDING,
    ),
    _claim("XLA = no XLA", _SGD, {"xla": True}, 2e-6, _ROUNDING),
    _claim(
        "resumed = never stopped",
        _ADAM,
        {},
        0.0,
        "nothing random is saved: the same bits",
        "interrupted",
    ),
)


def _small(model: str, **changes: Any) -> Settings:
    return {
        "model": model,
        "batch_size": 4,
        "limit": 4,
        "epochs": 1,
        "grid_size": 1,
        "snapshots": 0,
        **changes,
    }


def _claims(model: str, base: Settings, bound: float) -> Iterator[Claim]:
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
    if "recompute" not in UNREAD[model]:
        yield near("recomputation = kept activations", {"recompute": True})
    if model == "gan3d":
        yield near("folded up-sampling = plain up-sampling", {}, "plain up-sampling")
    yield _claim(
        f"{model}: resumed = never stopped",
        longer,
        {},
        0.0,
        "nothing random is saved: the same bits",
        "interrupted",
    )


_LIFTED = "share of the largest move; rounding, lifted by batch norm"
_SHOWERS = _small("gan3d", dataset="showers", g_learning_rate=1e-5, d_learning_rate=1e-5)
_FRAMES = _small(
    "pix2pix",
    dataset="flow",
    images_path=_FLOW,
    geometry="64x64",
    g_learning_rate=1e-3,
    d_learning_rate=1e-3,
)
CLAIMS = (*_OF_DCGAN, *_claims("gan3d", _SHOWERS, 0.05), *_claims("pix2pix", _FRAMES, 0.005))


def chosen(text: str | None) -> tuple[Claim, ...]:
    """The claims whose name contains `text`, without regard to case. Raises ConfigError when there
    is none."""
    found = tuple(claim for claim in CLAIMS if (text or "").lower() in claim.name.lower())
    if not found:
        raise ConfigError(
            f"No claim contains {(text or '')[:80]!r}; the claims are:"
            f" {'; '.join(claim.name for claim in CLAIMS)}."
        )
    return found


@dataclass
class Selftest:
    """Trains what the claims need, each training once."""

    claims: tuple[Claim, ...] = CLAIMS
    _states: dict[str, Arrays] = field(default_factory=dict)

    def run(self, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
        """One result after the other; `progress` hears what is being trained."""
        with tempfile.TemporaryDirectory(prefix="ganboard-selftest-") as name:
            directory = Path(name)
            if any(claim.one.config.dataset == "flow" for claim in self.claims):
                progress("computing a flow")
                frames.write(directory / _FLOW, RECORDING)
            for number, claim in enumerate(self.claims, 1):
                progress(f"{number} of {len(self.claims)}: {claim.name}")
                try:
                    one, other = (
                        self._state(training, directory) for training in (claim.one, claim.other)
                    )
                    start = self._state(claim.start, directory) if claim.start else None
                except ServiceFailed as error:
                    yield Result(claim, None, str(error))
                else:
                    yield Result(
                        claim, difference(one, other) if start is None else share(one, other, start)
                    )

    def _state(self, training: Training, directory: Path) -> Arrays:
        key = json.dumps([training.settings, training.variant], sort_keys=True)
        if key not in self._states:
            run_dir = directory / str(len(self._states))
            _train(training, run_dir, directory)
            self._states[key] = equivalence.state(run_dir)
        return self._states[key]


def difference(one: Arrays, other: Arrays) -> float:
    """Largest absolute difference of any weight or moving statistic of two states; infinite when a
    network is missing from one."""
    return _apart(one, other, "generator/", "discriminator/")


def share(one: Arrays, other: Arrays, start: Arrays) -> float:
    """The difference of two states as a share of how far `one` has moved from `start`: of either
    network, the larger."""
    moves = {net: _apart(one, start, net) for net in ("generator/", "discriminator/")}
    return max(
        _apart(one, other, net) / move if move else float("inf") for net, move in moves.items()
    )


def _apart(one: Arrays, other: Arrays, *nets: str) -> float:
    names = [{name for name in state if name.startswith(nets)} for state in (one, other)]
    if names[0] != names[1] or not names[0]:
        return float("inf")
    return max(float(np.abs(one[name].astype(np.float64) - other[name]).max()) for name in names[0])


def _train(training: Training, run_dir: Path, data_dir: Path) -> None:
    """Raises ServiceFailed with the last line that a failed training wrote."""
    config, output = training.config, run_dir.with_suffix(".log")
    processes = config.replicas if config.effective_strategy == "multi_worker" else 1
    with output.open("w+") as log:
        command = [
            sys.executable,
            "-m",
            "ganboard.gan.verification.equivalence",
            json.dumps(training.settings),
            str(run_dir),
            str(data_dir),
            training.variant,
        ]
        with ProcessGroup(command, processes, output=log, TF_CPP_MIN_LOG_LEVEL="3") as group:
            ended = group.wait()
        if ended.code:
            log.seek(0)
            last = (log.read().strip().splitlines() or ["it said nothing"])[-1]
            raise ServiceFailed(f"the training failed: {last[:300]}")
