"""What the parts of a first day share: the machine, the time that is left, the processes that take
steps, and what is found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ganboard.db.models import Calibration
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.devices import capabilities
from ganboard.gan.rehearsal import recognition
from ganboard.gan.rehearsal.targets import Target
from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process import json_child

Status = Literal["ok", "warn", "fail", "not done"]
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
BATCH = 64  # of a replica: the paper's
QUICK_BATCH = 8
STEPS, QUICK_STEPS = 30, 3  # whose losses are compared
TIMED_SECONDS, QUICK_SECONDS = 5.0, 0.5  # that further steps are timed for
_STEPS = ("-m", "ganboard.gan.verification.steps")


@dataclass(frozen=True)
class Options:
    """What the command was asked."""

    minutes: float
    quick: bool = False


@dataclass
class Result:
    """What a part found."""

    status: Status
    text: str  # one sentence
    how: str = ""  # how its numbers were obtained
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    not_done: Sequence[str] = ()  # what the time did not suffice for
    name: str = ""
    title: str = ""
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        return asdict(self)


class Watcher:
    """Receives progress; this one ignores it."""

    def doing(self, part: str, text: str, seconds_left: float) -> None: ...

    def done(self, result: Result) -> None: ...


@dataclass
class Day:
    """One first day; times are in seconds of the monotonic clock."""

    context: Context
    options: Options
    machine: str
    hardware: Mapping[str, Any]
    folder: Path  # for files that end with the day
    ends: float
    watcher: Watcher = field(default_factory=Watcher)
    part: str = ""
    part_ends: float = 0.0
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)
    calibrations: list[Calibration] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)

    @property
    def cores(self) -> int:
        """Cores of the TPU; 0 without one."""
        return len(self.hardware["tpus"])

    @property
    def gpus(self) -> int:
        return len(self.hardware["gpus"])

    @property
    def accelerated(self) -> bool:
        return bool(self.cores or self.gpus)

    @property
    def target(self) -> Target | None:
        """That rehearsals know; None for the CPU and for devices that they do not know."""
        return recognition.target(self.hardware)

    def left(self) -> float:
        """Seconds of the part."""
        return min(self.part_ends, self.ends) - time.monotonic()

    def doing(self, text: str) -> None:
        self.watcher.doing(self.part, text, self.ends - time.monotonic())

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Settings of a training on all cores of the TPU, on one GPU, or on the CPU."""
        batch = QUICK_BATCH if self.options.quick else BATCH
        here: dict[str, Any] = {"dataset": "digits", "batch_size": batch}
        if self.cores:
            here |= {"strategy": "tpu", "replicas": self.cores, "batch_size": batch * self.cores}
        return {**here, **changes}

    def precisions(self) -> list[str]:
        """Those that a training on this machine can have."""
        configs = {name: parse(self.settings(precision=name)) for name in PRECISIONS}
        return [
            name
            for name, config in configs.items()
            if capabilities.check(config, dict(self.hardware)) is None
        ]

    def steps(self, what: str, precision: str = "float32", **changes: Any) -> dict[str, Any]:
        """Losses, memory and step time of a training here, taken once. Raises as `take`."""
        config = parse(self.settings(precision=precision, **changes))
        quick = self.options.quick
        job = {
            "steps": QUICK_STEPS if quick else STEPS,
            "seconds": QUICK_SECONDS if quick else TIMED_SECONDS,
        }
        return self.take(what, config, job)

    def take(
        self,
        what: str,
        config: RunConfig,
        job: Mapping[str, Any],
        *,
        data: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """What `gan.verification.steps` finds in a process of its own. Raises ServiceFailed with
        its reason, TimeLimit when the part's time is over."""
        folder = data or self.context.settings.data
        whole = {**job, "config": config.model_dump(mode="json"), "data_dir": str(folder)}
        key = json.dumps([whole, dict(environment)], sort_keys=True)
        if key not in self.taken:
            found = json_child.ask(
                [*_STEPS, json.dumps(whole)],
                self.time_for(what),
                waiting=lambda: self.doing(what),
                environment=environment,
            )
            if problem := found.get("problem"):
                raise ServiceFailed(str(problem))
            self.taken[key] = found
        return self.taken[key]

    def time_for(self, what: str) -> float:
        """Seconds that a process of this part may take. Raises TimeLimit when there are none."""
        left = self.left()
        if left <= 1:
            raise json_child.TimeLimit(f"the time for {what} is over")
        self.doing(what)
        return left


Run = Callable[[Day], Result]


@dataclass(frozen=True)
class Part:
    """A part of the day: it begins with at least `needs` seconds left and gets at most `share` of
    all of them."""

    name: str
    title: str
    run: Run
    needs: float
    share: float
    quick: bool = True  # also with --quick
