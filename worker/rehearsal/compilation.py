"""One step compiled for one target: lowered by a process with TensorFlow, compiled by one with the
compilers, each a child of ours that ends with us."""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil

from ganboard.gan.config import RunConfig
from ganboard.gan.devices.hardware import memory_limit
from ganboard.gan.rehearsal import report
from ganboard.gan.rehearsal.targets import Form, Target
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process.parent_death import environment_for_child

LIMIT_SECONDS = 3600.0  # of one program; measured: 8 s to 26 min
_NICE = ("nice", "-n", "10")  # training on the same machine comes first
_MEMORY_BYTES = 3_500_000_000  # measured: 0.5 to 3.3 GB
_COMPILER = Path(__file__).with_name("aot.py")


class Compiler(AbstractContextManager["Compiler"]):
    """Compiles steps; `python` is the interpreter of the compilers, results are kept in `cache`."""

    def __init__(self, python: Path, cache: Path, log: Path) -> None:
        self._python, self._cache = python, cache
        self._lowering: subprocess.Popen[str] | None = None
        self._log = log.open("a")
        cache.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        if self._lowering:
            self._lowering.kill()
            with contextlib.suppress(BrokenPipeError), self._lowering:
                pass  # closes its pipes and waits
        self._log.close()

    def report(
        self, target: Target, config: RunConfig, form: Form, doing: Callable[[str], None]
    ) -> dict[str, Any]:
        """The report of `config`, which is adapted to `target`; `doing` gets what is done next.

        Raises ServiceFailed where a process of ours cannot work.
        """
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="job-") as folder:
            doing("lowering")
            lowered = self._lower(target, config, form, folder)
            if "reason" in lowered:
                return report.refused(target, config, form, lowered["reason"])
            programs, texts = [], []
            for number, program in enumerate(lowered["programs"], 1):
                doing(f"compiling {program['name']} ({number} of {len(lowered['programs'])})")
                found, text = self._compile(target, program, folder)
                if "reason" in found:
                    reason = f"{program['name']}: {found['reason']}"
                    return report.refused(target, config, form, reason)
                programs.append({"name": program["name"], "calls": program["calls"], **found})
                texts.append(text)
        return report.assemble(target, config, form, programs, texts, lowered["layers"])

    def _lower(self, target: Target, config: RunConfig, form: Form, folder: str) -> dict[str, Any]:
        process = self._lowering = self._lowering or self._start_lowering()
        assert process.stdin
        assert process.stdout
        asked = {"config": config.model_dump(mode="json"), "kind": target.about.kind, "form": form}
        try:
            process.stdin.write(json.dumps({**asked, "folder": folder}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ServiceFailed(
                "The process that lowers the step ended"
                f" ({_outcome(process.wait())}); its log is {self._log.name}."
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start_lowering(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_NICE, sys.executable, "-m", "ganboard.gan.rehearsal.lowering_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment_for_child(),
        )

    def _compile(
        self, target: Target, program: Mapping[str, Any], folder: str
    ) -> tuple[dict[str, Any], str]:
        """The compiler's result and its optimised program; of a refusal no program."""
        _check_memory()
        job = Path(folder) / "job.json"
        job.write_text(
            json.dumps(
                {
                    "hlo": program["hlo"],
                    "topology": target.topology(),
                    "replicas": target.devices,
                    "cache": str(self._cache),
                }
            )
        )
        tied = [*_NICE, sys.executable, "-m", "ganboard.worker.process.exec_tied"]
        try:
            done = subprocess.run(
                [*tied, str(self._python), str(_COMPILER), str(job)],
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                timeout=LIMIT_SECONDS,
                env=environment_for_child(),
            )
        except subprocess.TimeoutExpired:
            return {
                "reason": f"the compiler did not finish within {LIMIT_SECONDS / 60:.0f} min"
            }, ""
        if done.returncode:
            outcome = _outcome(done.returncode)
            return {"reason": f"the compiler ended ({outcome}); its log is {self._log.name}"}, ""
        result = Path(done.stdout.splitlines()[-1])
        found: dict[str, Any] = json.loads(result.read_text())
        if "reason" in found:
            return found, ""
        with gzip.open(result.with_suffix(".hlo.gz"), "rt") as file:
            return found, file.read()


def _outcome(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _check_memory() -> None:
    free = min(int(psutil.virtual_memory().available), memory_limit())
    if free < _MEMORY_BYTES:
        raise ServiceFailed(
            f"{free / 1e9:.1f} GB of memory are free and a compiler needs up to"
            f" {_MEMORY_BYTES / 1e9:.1f} GB: end other programs, or rehearse on another machine."
        )
