"""What a command imports before it answers: most of the time of a short one is imports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db import migrate
from ganboard.db.models import Run
from ganboard.worker.context import Context

SCRIPT = """
import json, sys
from ganboard.worker.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as ended:
    print(json.dumps([ended.code or 0, sorted(sys.modules)]), file=sys.stderr)
"""
NEVER = {
    *("tensorflow", "keras", "streamlit", "pandas", "pyarrow", "plotly", "scipy", "sklearn"),
    *("alembic", "mako", "psycopg", "matplotlib"),
}
QUEUE = {"redis", "rq", "opentelemetry"}
ARRAYS = {"numpy", "PIL", "h5py"}
READS = 690  # modules; each further 100 cost about 50 ms
QUEUES = 1055


def modules(*words: str) -> set[str]:
    """Names of all modules that a command has loaded when it ends."""
    command = [sys.executable, "-c", SCRIPT, *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    code, loaded = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0, ran.stderr
    return set(loaded)


@pytest.mark.parametrize(
    ("words", "without", "limit"),
    [
        (["runs"], QUEUE | ARRAYS, READS),
        (["runs", "--json"], QUEUE | ARRAYS, READS),
        (["runs", "--search", "batch_size>=32 -old"], QUEUE | ARRAYS, READS),
        (["runs", "--column", "g_loss / epoch"], QUEUE, 870),
        (["show", "latest"], QUEUE | ARRAYS, READS),
        (["show", "latest", "--metric", "d_loss / g_loss"], QUEUE, 870),
        (["show", "latest", "--metrics"], QUEUE, 870),
        (["tag", "latest", "+x"], QUEUE | ARRAYS, READS),
        (["alerts"], QUEUE | ARRAYS, READS),
        (["stop", "latest"], QUEUE | ARRAYS, READS),
        (["delete", "latest", "--yes"], QUEUE | ARRAYS, READS),
        (["resume", "latest"], set(), QUEUES),
        (["clone", "latest"], set(), QUEUES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_no_more_than_it_needs(
    make_run: Callable[..., Run], words: list[str], without: set[str], limit: int
) -> None:
    make_run(status={"stop": "queued", "resume": "stopped"}.get(words[0], "finished"))
    loaded = modules(*words)
    assert (NEVER | without) & loaded == set()
    assert len(loaded) < limit


def test_an_export_needs_no_queue(make_run: Callable[..., Run], tmp_path: Path) -> None:
    make_run(status="finished")
    assert set() == (NEVER | QUEUE) & modules("export", "latest", str(tmp_path / "exported"))


def test_the_head_is_that_of_the_migrations(context: Context) -> None:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(migrate._config(None))
    revisions = [script.revision for script in scripts.walk_revisions()]
    assert migrate.head() == scripts.get_current_head()
    assert migrate._revisions() == revisions[::-1]
    assert migrate.revision(context.engine) == migrate.head()
