"""The rights on the state directory."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

log = logging.getLogger(__name__)


def take_rights_of_others(state: Path) -> None:
    """Only from a folder that is ours and holds our state: not from /tmp or ~."""
    found = state.stat()
    mode = stat.S_IMODE(found.st_mode)
    shared = mode & stat.S_ISVTX or Path.home().is_relative_to(state)
    if not mode & 0o077 or found.st_uid != os.geteuid() or shared or not _is_home(state):
        return
    state.chmod(0o700)
    log.warning(
        "The state directory %s was accessible to other users (mode %o); its mode is now 700.",
        state,
        mode,
    )


def _is_home(state: Path) -> bool:
    entries = {entry.name for entry in state.iterdir()} - {"lost+found"}
    return not entries or not entries.isdisjoint({"ganboard.db", "runs"})
