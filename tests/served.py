"""Pages run in tests as the server runs them: beside no TensorFlow, which tests of the engine leave
in this process.

After each script Streamlit would collect all garbage and have Keras forget its session, seconds
each in a process of several GB.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.runtime.scriptrunner import script_runner


@pytest.fixture(autouse=True, scope="package")
def as_served() -> Iterator[None]:
    usual = config.get_option("runner.postScriptGC")
    config.set_option("runner.postScriptGC", False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(script_runner, "_clean_problem_modules", lambda: None)
        yield
    config.set_option("runner.postScriptGC", usual)
