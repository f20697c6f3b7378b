"""A data directory that stays free of other tests' pictures."""

from __future__ import annotations

import pytest
from PIL import Image

from tests.unit.gan.data.pictures.files import encoded


@pytest.fixture(scope="session")
def colours() -> dict[str, bytes]:
    """PNG files by name, each of one colour."""
    shades = {"a.png": (255, 0, 0), "b.png": (0, 255, 0), "c.png": (0, 0, 255)}
    return {name: encoded(Image.new("RGB", (40, 40), shade)) for name, shade in shades.items()}
