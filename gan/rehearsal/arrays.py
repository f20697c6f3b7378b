"""Arrays as XLA's programs write them: types, sizes and layouts. Free of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil, prod

Array = tuple[str, tuple[int, ...]]  # type, sizes

_WIDTHS = {"pred": 1, "s4": 0.5, "u4": 0.5, "bf16": 2, "f16": 2, "token": 0, "opaque": 0}
# {3,0,2,1:T(8,128)(2,1)}: dimensions from the minor-most on, then the tile of the minor ones
_ARRAY = re.compile(
    r"\b(?P<type>pred|token|bf16|[suf]\d+|c64)\[(?P<sizes>[\d,]*)\]"
    r"(?:\{(?P<order>[\d,]*)(?::T\((?P<tile>[\d,]+)\))?)?"
)


def arrays(text: str) -> list[Array]:
    """The arrays of a type, which may be a tuple."""
    return [
        (array["type"], tuple(int(size) for size in array["sizes"].split(",") if size))
        for array in _ARRAY.finditer(text)
    ]


def size(array: Array) -> float:
    """Bytes of an array."""
    kind, sizes = array
    width = _WIDTHS.get(kind)
    return prod(sizes) * (int(kind[1:]) / 8 if width is None else width)


def tiled(text: str) -> float:
    """Bytes of the arrays of a type in the layout that it names."""
    return sum(size((array["type"], tuple(_whole_tiles(array)))) for array in _ARRAY.finditer(text))


def _whole_tiles(array: re.Match[str]) -> Iterator[int]:
    """Sizes from the minor-most dimension on, those that a tile covers rounded up to it."""
    sizes = [int(size) for size in array["sizes"].split(",") if size]
    order = [int(place) for place in (array["order"] or "").split(",") if place]
    tile = [int(size) for size in reversed((array["tile"] or "").split(",")) if size]
    for number, place in enumerate(order or range(len(sizes))):
        unit = tile[number] if number < len(tile) else 1
        yield ceil(sizes[place] / unit) * unit
