"""A folder of written frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan.models.pix2pix.flow.frames import write
from tests.unit.gan.models.pix2pix.flow.recordings import RECORDING


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "streets", RECORDING)
    return tmp_path / "streets"
