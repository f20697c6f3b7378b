from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ganboard.gan.devices import hardware


@pytest.mark.thorough
def test_the_module_prints_one_json_document() -> None:
    output = subprocess.run(
        [sys.executable, "-m", "ganboard.gan.devices.hardware"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    found = json.loads(output)
    assert output.count("\n") == 1
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 2**28
    assert {"host", "cpu", "cpu_flags", "gpus", "tpus", "versions"} <= set(found)
    assert set(found["versions"]) == {"python", "tensorflow", "keras", "numpy"}


def test_versions_need_no_tensorflow() -> None:
    code = (
        "import sys; from ganboard.gan.devices import hardware; hardware.versions(); assert"
        " 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert hardware.versions()["tensorflow"].startswith("2.")


GIB = 2**30


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/app/web", {"sys/fs/cgroup/app/web/memory.max": f"{GIB}"}, GIB),
        # the group above
        (
            "0::/app/web",
            {"sys/fs/cgroup/app/web/memory.max": "max", "sys/fs/cgroup/app/memory.max": f"{GIB}"},
            GIB,
        ),
        ("0::/", {"sys/fs/cgroup/memory.max": f"{GIB}"}, GIB),  # inside a container
        (
            "3:cpu:/a\n4:cpuacct,memory:/a",
            {"sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{GIB}"},
            GIB,
        ),
        # the host's path, seen from inside
        ("4:memory:/docker/0123", {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}"}, GIB),
        ("4:memory:/", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("0::/", {"sys/fs/cgroup/memory.max": "max"}, None),
        ("0::/a:b", {}, None),
    ],
)
def test_memory_is_what_the_control_group_leaves(
    groups: str, files: dict[str, str], expected: int | None, tmp_path: Path
) -> None:
    write(tmp_path, {"proc/self/cgroup": groups, **files})
    assert hardware.memory_limit(tmp_path) == (expected or psutil.virtual_memory().total)


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/app/web", {"sys/fs/cgroup/app/web/memory.events.local": "oom 4\noom_kill 3"}, 3),
        ("0::/", {"sys/fs/cgroup/memory.events.local": "oom_kill 2"}, 2),  # inside a container
        (
            "4:memory:/a\n0::/",
            {"sys/fs/cgroup/memory/a/memory.oom_control": "under_oom 0\noom_kill 1"},
            1,
        ),
        # the machine counts others' too
        ("0::/app", {"sys/fs/cgroup/app/memory.events.local": "oom_kill 0"}, 0),
        ("0::/", {}, 7),  # in no group
    ],
)
def test_kills_for_want_of_memory_are_the_control_groups_own(
    groups: str, files: dict[str, str], expected: int, tmp_path: Path
) -> None:
    write(tmp_path, {"proc/self/cgroup": groups, "proc/vmstat": "pgfault 12\noom_kill 7", **files})
    assert hardware.oom_kills(tmp_path) == expected


def test_kills_are_none_where_nobody_counts(tmp_path: Path) -> None:
    assert hardware.oom_kills(tmp_path) == 0


def test_memory_without_control_groups_is_the_machines(tmp_path: Path) -> None:
    assert hardware.memory_limit(tmp_path) == psutil.virtual_memory().total
