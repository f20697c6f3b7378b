"""Errors that a person reads as one sentence; everything else is a defect.

WorkerError
|- BadName           a run's name cannot be used
|- AlreadyRunning    another ganboard holds this HOME, or the port
|- QueueUnreachable  Redis does not answer
|  '- QueueRefuses   it answers, and takes no commands
'- ServiceFailed     a process of ours could not be started
"""

from __future__ import annotations

from db.errors import DbError
from db.settings import SettingsError
from gan.checkpoints import CheckpointError
from gan.config import ConfigError
from gan.data import DatasetError
from gan.events import TrainingFailed
from gan.landscape import LandscapeError
from gan.latent import WishError
from gan.package import VersionError


class WorkerError(Exception):
    """Base class; the message is one sentence for a person."""


class BadName(WorkerError):
    pass


class AlreadyRunning(WorkerError):
    pass


class QueueUnreachable(WorkerError):
    pass


class QueueRefuses(QueueUnreachable):
    pass


class ServiceFailed(WorkerError):
    pass


CLEAR_ERRORS = (
    CheckpointError,
    ConfigError,
    DatasetError,
    DbError,
    LandscapeError,
    SettingsError,
    TrainingFailed,
    VersionError,
    WishError,
    WorkerError,
)
"""What the command line and the pages catch: the message says it all."""
