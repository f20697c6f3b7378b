from __future__ import annotations

import pytest
from streamlit.runtime.state import SafeSessionState, SessionState

from ganboard.app.web import server


def test_what_a_click_changed_is_applied_before_a_newer_request_is_looked_for() -> None:
    assert server.app
    state = SafeSessionState(SessionState(), lambda: pytest.fail("looked for a newer request"))
    state.on_script_will_rerun(None)
