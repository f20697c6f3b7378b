"""Showers, and files of them in both layouts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.gan.models.gan3d.data.layouts import LAYOUTS, Layout
from ganboard.gan.models.gan3d.data.sampler import Sampler, Shower
from ganboard.gan.models.gan3d.data.writer import write
from tests.unit.gan.models.gan3d.data.shower_files import EVENTS


@pytest.fixture(scope="session")
def showers() -> list[Shower]:
    return list(Sampler(seed=9).events(EVENTS))


@pytest.fixture(scope="session")
def originals(showers: list[Shower], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("showers")
    paths = {name: folder / f"Ele_{name}.h5" for name in LAYOUTS}
    for name, layout in LAYOUTS.items():
        write(paths[name], layout, showers, EVENTS)
    return paths


@pytest.fixture
def copy(originals: dict[str, Path], tmp_path: Path) -> Callable[[Layout], Path]:
    def make(layout: Layout) -> Path:
        path = tmp_path / originals[layout.name].name
        path.write_bytes(originals[layout.name].read_bytes())
        return path

    return make
