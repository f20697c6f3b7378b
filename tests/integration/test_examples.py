"""The example notebooks of docs/examples, executed by Jupyter; and the dashboard in a cell."""

from __future__ import annotations

import os
import signal
import socket
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.polling import wait_until

FOLDER = Path(__file__).parents[2] / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.ipynb"))
pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.fixture
def kernel_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


def executed(notebook: Any, folder: Path) -> Any:
    """The notebook with its outputs; an error in a cell fails the test."""
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}})
    return client.execute()


def outputs(notebook: Any, cell: str) -> list[dict[str, Any]]:
    (found,) = (one for one in notebook.cells if one.id == cell)
    return [one.get("data", {}) for one in found.outputs]


def test_there_are_two() -> None:
    assert [path.stem for path in EXAMPLES] == ["runs", "script"]
    for path in EXAMPLES:
        notebook = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), "committed without outputs"


@pytest.mark.usefixtures("kernel_environment")
def test_stored_runs_are_compared(tmp_path: Path) -> None:
    done = executed(nbformat.read(FOLDER / "runs.ipynb", as_version=4), tmp_path)
    (table,) = outputs(done, "table")
    assert "batch 32" in table["text/html"]
    for cell in ("losses", "quality"):
        (figure,) = outputs(done, cell)
        assert figure["application/vnd.plotly.v1+json"]["data"]
    assert "image/png" in outputs(done, "images")[0]
    assert "32" in outputs(done, "answer")[0]["text/html"]


@pytest.mark.usefixtures("kernel_environment")
def test_a_script_is_watched(tmp_path: Path) -> None:
    from ganboard.worker.context import open_context

    open_context()  # the script reports to a database that is there
    done = executed(nbformat.read(FOLDER / "script.ipynb", as_version=4), tmp_path)
    state, losses, image = outputs(done, "watch")
    assert "finished" in state["text/html"]
    assert losses["application/vnd.plotly.v1+json"]["data"]
    assert "image/png" in image
    assert outputs(done, "norm")[0]["application/vnd.plotly.v1+json"]["data"]


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.usefixtures("kernel_environment")
def test_the_dashboard_in_a_cell_ends_with_the_kernel(tmp_path: Path, port: int) -> None:
    cells = ["%load_ext ganboard", f"%ganboard {port} 600", "import os; print(os.getpid())"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    address = f"http://127.0.0.1:{port}/"
    with client.setup_kernel():
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
        html = notebook.cells[1].outputs[0]["data"]["text/html"]
        assert f"http://localhost:{port}/?embed=true" in html
        with urllib.request.urlopen(address, timeout=20) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Frame-Options"] is None
        assert "frame-ancestors http://localhost:* " in policy
        os.kill(int(notebook.cells[2].outputs[0]["text"]), signal.SIGKILL)

    def gone() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) != 0

    wait_until(gone, seconds=60, what="the dashboard's end")
