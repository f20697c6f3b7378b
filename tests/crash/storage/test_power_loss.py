"""A power cut at any moment costs at most the checkpoint that was just being saved: a sample;
`python -m tests.crash.power` tries all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ganboard.gan import files
from ganboard.gan.checkpoint import store
from ganboard.gan.events import Saved
from tests.crash import power


def test_a_sample_of_all_disks_after_power_cuts(tmp_path: Path) -> None:
    found = power.cuts(tmp_path)
    assert len(found) >= 2000
    assert list(power.faults(power.sample(found, 300, seed=0))) == []


def without_file_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "flush", lambda file: file.flush())


def without_directory_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "flush_directory", lambda path: None)


def without_flush_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "flush_above", lambda path: None)


def with_the_flush_before_the_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.flush_directory
    monkeypatch.setattr(
        files, "flush_directory", lambda path: real(path) if path.suffix == ".tmp" else None
    )


def with_old_ones_pruned_before_the_new_one_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = store.save

    def save(directory: Path, *arguments: Any, **options: Any) -> Saved:
        saved = real(directory, *arguments, **options)
        store.prune(directory, power.KEEP)
        return saved

    monkeypatch.setattr(store, "save", save)


SABOTAGES = (
    without_file_flush,
    without_directory_flush,
    without_flush_above,
    with_the_flush_before_the_rename,
    with_old_ones_pruned_before_the_new_one_is_listed,
)


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.__name__)
def test_a_weaker_protocol_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sabotage: Callable[..., None]
) -> None:
    sabotage(monkeypatch)
    saves = power.KEEP + 1 if sabotage is with_old_ones_pruned_before_the_new_one_is_listed else 1
    assert next(power.faults(power.cuts(tmp_path, saves)), None)


ONE_SAVE = """
import sys
from pathlib import Path
import numpy as np
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
state = {"generator/kernel": np.ones(99)}
store.save(Path(sys.argv[1]), state, Progress(7, 1), digest="c", attempt=1)
"""


def test_the_kernel_is_asked_to_flush_before_and_after_the_rename(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: it shows what the kernel is asked for")
    log, directory = tmp_path / "log", tmp_path / "checkpoints"
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2"
    command = [
        "strace",
        "-f",
        "-y",
        "-o",
        str(log),
        "-e",
        calls,
        sys.executable,
        "-c",
        ONE_SAVE,
        str(directory),
    ]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=Path(power.__file__).parents[2],
        env={**os.environ},
        check=False,
    )
    if "ptrace" in result.stderr:
        pytest.skip(f"this machine lets nobody trace: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    asked = [
        f"{'flush' if 'sync' in match[1] else 'rename'} {Path(match[2]).name}"
        for line in log.read_text().splitlines()
        if (match := re.search(r"(\w+)\(.*?([^<>\"]*checkpoints[^<>\"]*)[\">]", line))
    ]
    made = "ckpt-7-1.tmp"
    assert asked == [
        "flush state.npz",
        "flush manifest.json",
        f"flush {made}",
        f"rename {made}",
        "flush checkpoints",
    ]
