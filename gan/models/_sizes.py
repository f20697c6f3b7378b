"""Sizes of maps in the models of one file, by the side of their pictures. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.problems import problem

KERNEL = 4  # of strided convolutions, so that each output of a stride of 2 sums as many products
SMALLEST = (4, 5, 6, 7)  # sides of the first maps


def halvings(image_size: int) -> int:
    """How often a side can be halved before it has 4 to 7 pixels: 4 for 64. Raises the error of a
    rule between settings."""
    count, side = 0, image_size
    while side > max(SMALLEST):
        if side % 2:
            raise problem(
                f"image_size={image_size} is not 4, 5, 6 or 7 times a power of 2: use 28, 32, 48,"
                " 64, 96, 128 or 256."
            )
        count, side = count + 1, side // 2
    return count


def filters(width: int, level: int) -> int:
    """Filters of the layer whose maps are `level` halvings smaller than the picture, from 1."""
    return width * min(1 << (level - 1), 8)
