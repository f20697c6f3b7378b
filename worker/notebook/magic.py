"""`%load_ext ganboard`, then `%ganboard`: the dashboard below a cell, in Jupyter and Colab."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from typing import Any
from urllib.request import ProxyHandler, build_opener

from ganboard.worker.process.parent_death import environment_for_child

PORT = 8501
HEIGHT = 900  # pixels
START_SECONDS = 120.0
# whose pages may show the dashboard: this machine's, whatever their port, and Colab's
FRAMED_BY = (
    "http://localhost:* http://127.0.0.1:* https://colab.research.google.com"
    " https://*.googleusercontent.com https://*.colab.dev"
)
# ends as on Ctrl-C when the kernel does
_UP = (
    "import signal; from ganboard.worker.process.parent_death import die_with_named_parent;"
    " die_with_named_parent(signal.SIGTERM); from ganboard.worker.cli.main import app;"
    " app(prog_name='ganboard')"
)


def register(shell: Any) -> None:
    """Add the magic to an IPython shell."""
    shell.register_magic_function(dashboard, "line", "ganboard")


def dashboard(line: str = "") -> None:
    """`%ganboard [PORT [HEIGHT]]`: show the dashboard of this machine; starts `ganboard up` on that
    port unless it runs. What it starts ends with the kernel. Raises ValueError and RuntimeError, in
    one sentence."""
    port, height = _numbers(line)
    if not _answers(port):
        _start(port)
    _show(port, height)


def _numbers(line: str) -> tuple[int, int]:
    words = shlex.split(line)
    try:
        port, height = [*map(int, words), *(PORT, HEIGHT)[len(words) :]]
    except ValueError:
        raise ValueError(
            f"%ganboard {line}: specify a port and a height in pixels, such as %ganboard 8501 900."
        ) from None
    return port, height


def _answers(port: int) -> bool:
    """Whether ganboard serves there; a proxy of the environment is not asked."""
    try:
        with build_opener(ProxyHandler({})).open(
            f"http://127.0.0.1:{port}/api/health", timeout=2
        ) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _start(port: int) -> None:
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            [sys.executable, "-c", _UP, "up", "--port", str(port)],
            env=environment_for_child(GANBOARD_FRAMED_BY=FRAMED_BY),
            stdout=said,
            stderr=said,
        )
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if child.poll() is not None:
                said.seek(0)
                last = said.read().strip().splitlines()[-1:]
                raise RuntimeError(f"The dashboard did not start: {last[0] if last else child}.")
            if time.monotonic() > deadline:
                child.terminate()
                raise RuntimeError(f"The dashboard did not answer within {START_SECONDS:.0f} s.")
            time.sleep(0.3)


def _show(port: int, height: int) -> None:
    from IPython.display import IFrame, display

    if "google.colab" in sys.modules:
        from google.colab import output

        output.serve_kernel_port_as_iframe(port, height=height)
        return
    display(IFrame(f"http://localhost:{port}/?embed=true", "100%", height))
