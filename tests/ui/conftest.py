"""Pages run here as the server runs them: without a full garbage collection after each script, which takes seconds beside TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit import config


@pytest.fixture(autouse=True, scope="package")
def _as_served() -> Iterator[None]:
    usual = config.get_option("runner.postScriptGC")
    config.set_option("runner.postScriptGC", False)
    yield
    config.set_option("runner.postScriptGC", usual)
