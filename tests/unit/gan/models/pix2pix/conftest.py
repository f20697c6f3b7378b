from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.recording import Recording
from tests.unit.gan.models.pix2pix.steps import FLOWS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with five frames of each flow, 72x66 cells."""
    folder = tmp_path_factory.mktemp("data")
    frames.write(folder / "street", Recording(FLOWS, (72, 66), frames=5, discard=300, every=20))
    return folder
