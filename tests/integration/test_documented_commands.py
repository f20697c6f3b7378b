"""Every command in a block of README.md and the documentation is executed, or checked and listed
with the reason why not; those in sentences are checked."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from ganboard.db.settings import Settings
from tests.documented import execution, home, table
from tests.documented.blocks import Block, blocks, joined
from tests.documented.execution import fitting
from tests.documented.home import Prepared
from tests.documented.session import Session

BLOCKS = blocks()
SHELL = [block for block in BLOCKS if block.kind == "shell"]
SENTENCES = joined([block for block in BLOCKS if block.kind == "sentence"])
LONG_TOO = pytest.mark.skipif(
    os.environ.get("GANBOARD_DOCUMENTED") != "all", reason="half an hour: make documented"
)
LATER = (*table.SERVERS, *table.THOROUGH, *table.UNEXECUTED)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Prepared]:
    """A working directory with a state directory as one would have it after some weeks."""
    folder = tmp_path_factory.mktemp("prepared")
    with home.receiver() as address, pytest.MonkeyPatch.context() as patched:
        execution.enter(folder, patched)
        yield home.prepare(migrated_file, folder, address)


@pytest.fixture
def there(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """A copy of it, which is the working directory."""
    folder = tmp_path / "there"
    shutil.copytree(prepared.folder, folder, symlinks=True)
    execution.enter(folder, monkeypatch)
    return Prepared(folder, prepared.words)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_quick_commands_run(block: Block, there: Prepared) -> None:
    for call in execution.called(block, there):
        execution.check(call.words)
        rule = fitting(LATER, call.words)
        assert rule or call.words[0] == "ganboard", f"add {call.words[0]} to tests.documented.table"
        if not rule:
            execution.run_here(call, there)


def test_each_is_known_and_every_rule_is_needed(there: Prepared) -> None:
    used = set()
    for block in (*SHELL, *SENTENCES):
        for call in execution.called(block, there):
            execution.check(execution.real(call.words, there.words))
            rules = [fitting(some, call.words) for some in (LATER, table.CHANGED, table.CODES)]
            assert rules[0] or call.words[0] == "ganboard", f"{block}: no rule for {call.words}"
            used.update(rules)
    assert {*LATER, *table.CHANGED, *table.CODES} - used == set()


PYTHON = [block for block in BLOCKS if block.kind == "python"]


def begins(block: Block, rules: Collection[str]) -> str | None:
    return next((rule for rule in rules if block.text.startswith(rule)), None)


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block: Block, there: Prepared) -> None:
    code = compile(block.text, str(block), "exec")
    if begins(block, table.COMPILED) or begins(block, table.THOROUGH_PYTHON):
        return
    names: dict[str, object] = {}
    exec(table.NAMES.get(block.page, ""), names)
    exec(code, names)


@LONG_TOO
@pytest.mark.thorough
@pytest.mark.parametrize(
    "block", [one for one in PYTHON if begins(one, table.THOROUGH_PYTHON)], ids=str
)
def test_python_with_tensorflow_runs(block: Block) -> None:
    exec(compile(block.text, str(block), "exec"), {})


def test_other_blocks_are_documents_or_listed() -> None:
    others = [block for block in BLOCKS if block.kind == "other"]
    unknown = [str(block) for block in others if not begins(block, table.OTHER)]
    assert not unknown, "neither a command, Python, JSON nor YAML: add them to table.OTHER"
    texts = [block.text for block in BLOCKS]
    for rule in (*table.OTHER, *table.COMPILED, *table.THOROUGH_PYTHON):
        assert any(text.startswith(rule) for text in texts), f"{rule} is in no page"


def test_every_variable_in_a_block_is_one_of_the_settings() -> None:
    known = {name.upper() for name in Settings.model_fields} | {
        "MODELS",
        "HOSTS",
        "STORE_CREDENTIALS",
    }  # of gan, app and compose
    for block in BLOCKS:
        for name in re.findall(r"\bGANBOARD_([A-Z_]+?)(?:_FILE)?=", block.text):
            assert name in known, f"{block}: GANBOARD_{name}"


@pytest.fixture(scope="module")
def trained(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """A copy of the working directory, with runs and models that TensorFlow has made."""
    from tests.documented import training  # loads TensorFlow

    folder = tmp_path_factory.mktemp("trained") / "there"
    shutil.copytree(prepared.folder, folder)
    with pytest.MonkeyPatch.context() as patched:
        execution.enter(folder, patched)
        yield training.trained(Prepared(folder, prepared.words))


def is_long(block: Block) -> bool:
    """Whether it has a command that the quick test leaves out."""
    rules = "|".join(map(re.escape, (*table.SERVERS, *table.THOROUGH)))
    return bool(re.search(rf"(^|; |&& |[A-Z_]=\S+ )({rules})", block.text, re.MULTILINE))


LONG = [block for block in SHELL if is_long(block)]


@LONG_TOO
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", LONG, ids=str)
def test_long_commands_run(
    block: Block, trained: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "there"
    shutil.copytree(trained.folder, folder)
    execution.enter(folder, monkeypatch)
    there = Prepared(folder, trained.words)
    with Session(there) as session:
        for call in execution.called(block, there):
            rule = fitting(LATER, call.words)
            if rule in table.UNEXECUTED:
                continue
            if rule:
                session.run(call)
            else:
                execution.run_here(call, there)
