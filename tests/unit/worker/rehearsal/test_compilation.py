"""Compiling one step: the processes, their limits, and what is said when one of them fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from ganboard.gan.config import parse
from ganboard.gan.rehearsal.targets import parse_targets
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.rehearsal import compilation
from ganboard.worker.rehearsal.compilation import Compiler
from tests.unit.worker.rehearsal.compilers import lowered, stand_in

(TARGET,) = parse_targets("v5e-4")


class Compiled:
    """Reports with a compiler that does as it is told, of a step that is lowered already."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, monkeypatch
        monkeypatch.setattr(Compiler, "_lower", lambda *_: lowered(folder))

    def report(self, act: str = "", **changes: Any) -> dict[str, Any]:
        script = stand_in(self.folder, act, **changes)
        self.patch.setattr(compilation, "_COMPILER", script)
        cache, log = self.folder / "cache", self.folder / "log"
        config = TARGET.adapted(parse({"batch_size": 64}))
        with Compiler(Path(sys.executable), cache, log) as compiler:
            return compiler.report(TARGET, config, "step", lambda text: None)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    return Compiled(tmp_path, monkeypatch)


def test_a_report_has_the_compilers_numbers(compiled: Compiled) -> None:
    found = compiled.report()
    assert found["compiles"]
    assert found["memory"]["temporaries"] == 200_000_000
    assert found["programs"][0]["cycles"] == 27_461


def test_a_refusal_is_the_compilers_reason(compiled: Compiled) -> None:
    found = compiled.report(reason="RESOURCE_EXHAUSTED: 17 GB of 16 GB")
    assert not found["compiles"]
    assert found["reason"] == "update of D and G: RESOURCE_EXHAUSTED: 17 GB of 16 GB"


def test_a_compiler_that_dies_is_a_reason(compiled: Compiled) -> None:
    found = compiled.report("os.kill(os.getpid(), 9)")
    assert "the compiler ended (signal 9); its log is" in found["reason"]


def test_a_compiler_that_hangs_is_ended(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "LIMIT_SECONDS", 1.0)
    before = psutil.Process().children()
    found = compiled.report("time.sleep(600)")
    assert "did not finish within" in found["reason"]
    assert psutil.Process().children() == before


def test_too_little_memory_is_said_before_anything_is_compiled(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "memory_limit", lambda: 1_000_000_000)
    with pytest.raises(ServiceFailed, match=r"^1\.0 GB of memory are free and a compiler needs"):
        compiled.report()


def test_temporary_files_are_gone_afterwards(compiled: Compiled) -> None:
    compiled.report()
    assert not list((compiled.folder / "cache").glob("job-*"))


def test_a_lowering_process_that_ends_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "_NICE", ("false",))
    with (
        Compiler(Path(sys.executable), tmp_path / "cache", tmp_path / "log") as compiler,
        pytest.raises(ServiceFailed, match=r"lowers the step ended \(exit code 1\); its log is"),
    ):
        compiler.report(TARGET, TARGET.adapted(parse({})), "step", lambda text: None)
