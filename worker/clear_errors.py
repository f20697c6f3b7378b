"""Which errors a person can act on. Not in `worker.errors`, since these classes lie beside code that loads numpy."""

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
from worker.errors import WorkerError

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
