"""The command as a whole: what is refused before anything is compiled, what is stored, and two at
once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from ganboard.db import rehearsals
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.rehearsal import report as reports
from ganboard.gan.rehearsal.targets import parse_targets
from ganboard.worker.context import Context
from ganboard.worker.rehearsal import environment, rehearse
from ganboard.worker.rehearsal.compilation import Compiler
from ganboard.worker.rehearsal.rehearse import Options, Watcher
from tests.polling import wait_until
from tests.unit.gan.rehearsal.test_hlo import LAYERS, program
from tests.unit.gan.rehearsal.test_report import RESULT

FLOAT32 = ("float32",)


class Sentences(Watcher):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, sentence: str) -> None:
        self.said.append(sentence)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """What was compiled, by a compiler that always succeeds: (target, batch)."""
    compiled: list[tuple[str, int]] = []

    def report(_: Any, target: Any, config: Any, form: Any, doing: Callable[[str], None]) -> Any:
        doing("compiling")
        compiled.append((target.name, config.batch_size))
        result = {**RESULT, "temporaries": 4_000_000 * config.batch_size}
        return reports.assemble(target, config, form, [result], [program("v5e-4")], LAYERS)

    monkeypatch.setattr(environment, "python", lambda *_: tmp_path / "python")
    monkeypatch.setattr(Compiler, "report", report)
    return compiled


def test_reports_are_stored_by_what_shapes_the_step(
    context: Context, compiles: list[tuple[str, int]]
) -> None:
    config = parse({"batch_size": 64, "seed": 5})
    options = Options(parse_targets("v5e-1,v3-8"), FLOAT32, largest=False)
    found = rehearse.rehearse(context, config, options, Watcher())
    assert [report["target"] for report in found] == ["v5e-1", "v3-8"]
    stored = rehearsals.of(context.engine, reports.key(parse({"batch_size": 64})))
    assert {report["target"] for report in stored} == {"v3-8", "v5e-1"}
    assert not rehearsals.of(context.engine, reports.key(parse({"batch_size": 32})))


def test_the_largest_batch_is_part_of_a_report(
    context: Context, compiles: list[tuple[str, int]]
) -> None:
    options = Options(parse_targets("v3-8"), FLOAT32)
    (report,) = rehearse.rehearse(context, parse({"batch_size": 64}), options, Watcher())
    found = report["largest_batch"]
    assert 4_000_000 * found["batch"] < report["device_memory"] <= 4_000_000 * found["too_large"]
    assert all(batch % 8 == 0 for _, batch in compiles)
    assert found["compilations"] == len(compiles) - 1


def test_nothing_is_compiled_where_one_target_cannot_be(
    context: Context, compiles: list[tuple[str, int]]
) -> None:
    options = Options(parse_targets("v5e-1,v3-8"), FLOAT32)
    with pytest.raises(ConfigError, match=r"^v3-8: batch_size=20 does not divide"):
        rehearse.rehearse(context, parse({"batch_size": 20}), options, Watcher())
    options = Options(parse_targets("h100,v3-8"), FLOAT32, form="gradients")
    with pytest.raises(ConfigError, match=r"^v3-8: a TPU always compiles the whole step"):
        rehearse.rehearse(context, parse({"batch_size": 64}), options, Watcher())
    assert not compiles


def test_a_second_rehearsal_says_that_it_waits(
    context: Context, compiles: list[tuple[str, int]]
) -> None:
    root = environment.folder(context.settings)
    root.mkdir(parents=True)
    watcher = Sentences()
    options = Options(parse_targets("v5e-1"), FLOAT32, largest=False)
    second = threading.Thread(
        target=rehearse.rehearse, args=(context, parse({}), options, watcher), daemon=True
    )
    with FileLock(root / "rehearse.lock", thread_local=False):
        second.start()
        wait_until(lambda: watcher.said, seconds=10, what="its sentence")
        assert not compiles
    second.join(60)
    assert compiles == [("v5e-1", 64)]
    assert watcher.said == ["Another rehearsal is running here; this one starts when it has ended."]


def test_a_report_replaces_the_former_one(context: Context) -> None:
    rehearsals.store(context.engine, "key", "v5e-1", {"step_seconds": 1.0})
    rehearsals.store(context.engine, "key", "v5e-1", {"step_seconds": 2.0})
    assert rehearsals.of(context.engine, "key") == [{"step_seconds": 2.0}]
