from __future__ import annotations

import pytest

from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process import json_child


def test_the_last_line_is_the_document() -> None:
    code = "print('loading'); print('{\"found\": 1}')"
    assert json_child.ask(["-c", code], 30) == {"found": 1}


def test_a_document_may_have_several_lines() -> None:
    assert json_child.ask(["-c", "print('{\\n \"found\": 1\\n}')"], 30) == {"found": 1}


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("raise SystemExit('no such device\\nE0000 unrelated')", "no such device"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "it was ended by SIGABRT"),
        ("raise SystemExit(3)", "it ended with exit code 3"),
        ("print('[1]')", "it ended without an answer"),
    ],
)
def test_a_failure_says_why(code: str, sentence: str) -> None:
    with pytest.raises(ServiceFailed, match=sentence):
        json_child.ask(["-c", code], 30)


def test_whoever_takes_too_long_is_ended_with_its_children() -> None:
    code = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time;"
        " time.sleep(60)']); time.sleep(60)"
    )
    waited = []
    with pytest.raises(json_child.TimeLimit, match="within 1 s"):
        json_child.run(["-c", code], 1.0, waiting=lambda: waited.append(1))
    assert waited


def test_variables_reach_the_process() -> None:
    code = "import json, os; print(json.dumps({'chips': os.environ['TPU_VISIBLE_CHIPS']}))"
    found = json_child.ask(["-c", code], 30, environment={"TPU_VISIBLE_CHIPS": "0"})
    assert found == {"chips": "0"}
