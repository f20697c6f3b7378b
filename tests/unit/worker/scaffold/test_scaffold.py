"""The model that `ganboard new` writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.settings import making
from ganboard.gan.settings.making import Candidate
from ganboard.worker.scaffold import scaffold


def test_what_is_written_is_a_model_with_a_test(tmp_path: Path) -> None:
    folder = scaffold.model("mygan", tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["mygan.py", "test_mygan.py"]
    found = making.model(Candidate("mygan", folder / "mygan.py"))
    config = found.config()
    assert (config.model, config.beta_1, config.model_dump()["width"]) == ("mygan", 0.5, 32)
    for path in folder.glob("*.py"):
        ast.parse(path.read_text())
        assert "NAME" not in path.read_text()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("My GAN", "'My GAN' cannot be a model's name"),
        ("dcgan", "There already is a model called dcgan"),
        ("there", "exists already"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ConfigError, match=sentence):
        scaffold.model(name, tmp_path)
    assert list((tmp_path / "there").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        scaffold.model("mygan", tmp_path / "file")
