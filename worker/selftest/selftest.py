"""`ganboard selftest`: proves here and now that different ways of computing a training compute the
same training."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ganboard.gan.checkpoint.reader import Arrays
from ganboard.gan.settings import references, registry
from ganboard.gan.verification import equivalence
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.selftest.claims import Claim, Training
from ganboard.worker.training.process_group import ProcessGroup


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


@dataclass
class Selftest:
    """Trains what the claims need, each training once."""

    claims: tuple[Claim, ...]
    _states: dict[str, Arrays] = field(default_factory=dict)

    def run(self, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
        """One result after the other; `progress` is called with what is being trained."""
        with tempfile.TemporaryDirectory(prefix="ganboard-selftest-") as name:
            directory = Path(name)
            for model in dict.fromkeys(claim.one.config.model for claim in self.claims):
                compared = registry.get(model).spec.equivalence
                if compared and compared.data:
                    progress(f"computing data for {model}")
                    references.resolve(compared.data)(directory)
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
            last = (log.read().strip().splitlines() or ["no output"])[-1]
            raise ServiceFailed(f"the training failed: {last[:300]}")
