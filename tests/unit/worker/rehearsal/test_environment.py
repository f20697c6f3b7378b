"""The compilers' environment: made once, and refused in a sentence without disk or network."""

from __future__ import annotations

import subprocess
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from ganboard.db.settings import Settings
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.rehearsal import environment

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def said() -> list[str]:
    return []


def test_the_lock_has_only_hashed_packages_and_no_host() -> None:
    text = environment.LOCK.read_text()
    assert "://" not in text
    packages = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert all("==" in line for line in packages)
    assert text.count("--hash=sha256:") >= len(packages)
    assert {"jax", "jaxlib", "libtpu", "jax-cuda12-plugin"} <= {
        line.partition("==")[0] for line in packages
    }


def test_an_environment_is_made_once(
    settings: Settings, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(environment, "_install", lambda path: (path.mkdir(), made.append(path)))
    former = environment.folder(settings) / "environment-of-an-older-lock"
    former.mkdir(parents=True)
    first = environment.python(settings, said.append)
    assert environment.python(settings, said.append) == first == made[0] / "bin" / "python"
    assert (len(made), len(said)) == (1, 1)
    assert "1.8 GB on disk" in said[0]
    assert not former.exists()


def test_too_little_disk_is_a_sentence_and_leaves_nothing(
    settings: Settings, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: Usage(10, 9, 2_000_000_000))
    with pytest.raises(ServiceFailed, match=r"has 2\.0 GB free and the compilers need 3\.4 GB: "):
        environment.python(settings, said.append)
    assert not said
    assert not list(environment.folder(settings).glob("environment-*"))


def test_no_network_is_a_sentence_and_leaves_nothing(
    settings: Settings, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is a closed port of this machine."""
    for name in ("PIP_INDEX_" + "URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(
        ServiceFailed, match=r"^The compilers could not be installed \(.+\)\. Check"
    ):
        environment.python(settings, said.append)
    assert not list(environment.folder(settings).glob("environment-*/*"))


def test_a_failed_command_is_told_by_its_last_line(tmp_path: Path) -> None:
    assert environment._run(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path) == "two"
    assert environment._run(["sh", "-c", "exit 3"], tmp_path) == "exit code 3"
    assert environment._run(["true"], tmp_path) is None


def test_downloads_go_beside_the_environment(tmp_path: Path) -> None:
    place = tmp_path / "of its own"
    assert (
        environment._run(["sh", "-c", 'test "$TMPDIR" = "$0" -a -d "$0"', str(place)], place)
        is None
    )


def test_without_tensorflow_nothing_is_installed(
    settings: Settings, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(ServiceFailed, match=r"^TensorFlow, which lowers .* service `worker`\.$"):
        environment.python(settings, said.append)
    assert not said


def test_commands_run_without_a_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(
        subprocess, "run", lambda command, **options: (seen.append(options), done)[1]
    )
    environment._run(["true"], tmp_path)
    assert "shell" not in seen[0]
