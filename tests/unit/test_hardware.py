from __future__ import annotations

import json
import subprocess
import sys

from gan import hardware


def test_the_module_prints_one_json_document() -> None:
    output = subprocess.run([sys.executable, "-m", "gan.hardware"], capture_output=True, text=True, check=True, timeout=120).stdout
    found = json.loads(output)
    assert output.count("\n") == 1
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 2**28
    assert {"host", "cpu", "cpu_flags", "gpus", "tpus", "versions"} <= set(found)
    assert set(found["versions"]) == {"python", "tensorflow", "keras", "numpy"}


def test_versions_need_no_tensorflow() -> None:
    code = "import sys; from gan import hardware; hardware.versions(); assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert hardware.versions()["tensorflow"].startswith("2.")
