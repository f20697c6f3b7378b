"""The environment, read in one place."""

from ganboard.db.settings.environment import Settings
from ganboard.db.settings.sources import PREFIX, SettingsError

__all__ = ["PREFIX", "Settings", "SettingsError"]
