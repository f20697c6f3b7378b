from __future__ import annotations

import pytest

from tests.unit.worker.firstday.days import Steps


@pytest.fixture(autouse=True)
def _no_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody trains on the frames that pix2pix would need."""
    monkeypatch.setattr("ganboard.gan.models.pix2pix.flow.frames.write", lambda *_: None)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)
