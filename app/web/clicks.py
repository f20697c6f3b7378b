"""Lose no click when the next one follows at once.

Before Streamlit 1.67 applies what a click changed, it looks for a newer request, and then goes on
with that alone: the first click's callback never runs. Applied first, it only ends the script.
(With `fastReruns` the newer click would end it before that: see .streamlit/config.toml.)
"""

from __future__ import annotations

from typing import Any

from streamlit.runtime.state import SafeSessionState


def apply_first(self: SafeSessionState, *states: Any, **replayed: Any) -> None:
    """`SafeSessionState.on_script_will_rerun` without its look for a newer request."""
    with self._lock:
        self._state.on_script_will_rerun(*states, **replayed)
