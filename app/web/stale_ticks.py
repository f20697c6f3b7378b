"""Drop timer ticks that the browser sent before it noticed that another page is open.

The browser stops a page's timers once it receives the next page. When a button leads there, a tick
may leave before; Streamlit 1.67 would then announce the page that was left, run nothing of it, and
the browser would empty the page that is open.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData


def of_the_open_page(
    run_script: Callable[[ScriptRunner, RerunData], None],
) -> Callable[[ScriptRunner, RerunData], None]:
    """`ScriptRunner._run_script`, but for ticks of another page than the session's."""

    @wraps(run_script)
    def run(self: ScriptRunner, rerun_data: RerunData) -> None:
        if (
            not rerun_data.is_auto_rerun
            or rerun_data.page_script_hash == self._pages_manager.current_page_script_hash
        ):
            run_script(self, rerun_data)

    return run
