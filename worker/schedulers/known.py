"""The schedulers that ganboard can submit runs to."""

from __future__ import annotations

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.schedulers.kubernetes import Kubernetes
from ganboard.worker.schedulers.scheduler import Scheduler
from ganboard.worker.schedulers.slurm import Slurm

ALL: tuple[type[Slurm] | type[Kubernetes], ...] = (Slurm, Kubernetes)
NAMES = tuple(scheduler.name for scheduler in ALL)


def available(settings: Settings) -> list[str]:
    """The names of those that this machine can use."""
    return [one.name for one in ALL if one.available(settings)]


def find(name: str) -> Scheduler:
    """The scheduler of this name. Raises SettingsError where this machine cannot use it."""
    found = next((one for one in ALL if one.name == name), None)
    if found is None:
        raise SettingsError(f"There is no scheduler {name[:40]!r}: choose {' or '.join(NAMES)}.")
    if not found.available(Settings()):
        raise SettingsError(f"{found.title} cannot be used here: {found.missing}.")
    return found()
