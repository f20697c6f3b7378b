"""Changes to files of showers, and what a refusal of one must say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import pytest

from ganboard.gan.data.dataset import DatasetError

EVENTS = 40


def replace(path: Path, name: str, values: Any, **how: Any) -> None:
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        if values is not None:
            file.create_dataset(name, data=values, **how)


def put(path: Path, name: str, where: Any, value: float) -> None:
    with h5py.File(path, "a") as file:
        file[name][where] = value


def one_sentence(error: pytest.ExceptionInfo[DatasetError], path: Path) -> None:
    text = str(error.value)
    assert str(path) in text
    assert text.endswith(".")
    assert "\n" not in text
    assert ":" in text  # and then the remedy
