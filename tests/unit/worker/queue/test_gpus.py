"""worker.queue.gpus: whose GPUs a worker uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.queue import gpus


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    """The kernel's list of a machine with two GPUs."""
    for bus in ("0000:17:00.0", "0000:65:00.0"):
        (tmp_path / "gpus" / bus).mkdir(parents=True)
    return tmp_path / "gpus"


def seen(driver: Path, mode: str, **environment: str) -> list[str | None]:
    settings = Settings(home=driver, gpus=mode)
    return [gpus.visible(settings, slot, environment, driver) for slot in (1, 2, 3)]


def test_workers_take_turns_and_share_when_there_are_more(driver: Path) -> None:
    assert seen(driver, "all") == [None, None, None]
    assert seen(driver, "one") == ["0", "1", "0"]


def test_what_the_owner_chose_holds(driver: Path) -> None:
    assert seen(driver, "one", CUDA_VISIBLE_DEVICES="3,GPU-ab") == ["3", "GPU-ab", "3"]
    assert seen(driver, "one", CUDA_VISIBLE_DEVICES="") == [None, None, None]


def test_a_machine_without_gpus_has_none_to_share(driver: Path) -> None:
    settings = Settings(home=driver, gpus="one")
    assert gpus.visible(settings, 1, {}, driver / "none") is None


def test_another_word_is_refused(driver: Path) -> None:
    with pytest.raises(SettingsError, match="GANBOARD_GPUS=two is neither all nor one"):
        seen(driver, "two")
