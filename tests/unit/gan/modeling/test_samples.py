from __future__ import annotations

import io

import numpy as np
from PIL import Image

from ganboard.gan.modeling import samples
from ganboard.gan.models.dcgan import networks as dcgan
from ganboard.gan.models.dcgan.config import Config


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


def test_images_lie_row_by_row_and_values_map_to_bytes() -> None:
    images = np.stack(
        [np.full((2, 3, 1), value, np.float32) for value in (-1, 1, 0, -2, 2, np.nan)]
    )
    sheet = pixels(samples.png(images, columns=3))
    assert sheet.shape == (4, 9)
    assert sheet[::2, ::3].tolist() == [[0, 255, 128], [0, 255, 0]]


def test_colour_images_stay_in_colour() -> None:
    assert pixels(samples.png(np.zeros((4, 5, 5, 3), np.float32), columns=2)).shape == (10, 10, 3)


def test_the_grid_is_a_function_of_the_seed() -> None:
    def grid(seed: int) -> bytes:
        config = Config(seed=seed, grid_size=2)
        return samples.png(samples.grid(config, dcgan.generator(config)), config.grid_size)

    assert grid(1) == grid(1) != grid(2)
    assert pixels(grid(1)).shape == (56, 56)


def test_real_images_are_the_first_ones_and_black_where_there_are_no_more() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 1), dtype=np.uint8)
    for size, count in ((2, 4), (3, 5)):
        sheet = pixels(samples.png(samples.real(Config(grid_size=size), images), size))
        tiles = sheet.reshape(size, 4, size, 4).swapaxes(1, 2).reshape(-1, 4, 4)
        assert np.array_equal(tiles[:count], images[:count, ..., 0])
        assert not tiles[count:].any()
