"""Which errors a person can act on. Not in `worker.errors`, since these classes lie beside code
that loads numpy."""

from __future__ import annotations

from ganboard.db.errors import DbError
from ganboard.db.settings import SettingsError
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.config import ConfigError
from ganboard.gan.data import DatasetError
from ganboard.gan.events import TrainingFailed
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.gan.generation.package import VersionError
from ganboard.gan.landscape.geometry import LandscapeError
from ganboard.worker.errors import WorkerError

CLEAR_ERRORS = (
    CheckpointError,
    ConfigError,
    DatasetError,
    DbError,
    LandscapeError,
    SettingsError,
    TrainingFailed,
    VersionError,
    InvalidRequest,
    WorkerError,
)
"""What the command line and the pages catch: the message says it all."""
