"""Data sets that have a name, at the size and in the colours that a model asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ganboard.gan.data import digits, mnist
from ganboard.gan.data.dataset import SIDE, Dataset, Images, Labels
from ganboard.gan.data.pictures import arrays, cifar
from ganboard.gan.data.pictures.labels import Classes

TYPICAL = mnist.COUNT  # pictures of a set that nobody has counted
NAMES = ("digits", "mnist", "fashion_mnist", "cifar10")
_FASHION = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_DIGITS = tuple(map(str, range(10)))


def source(name: str, data_dir: Path) -> arrays.Source:
    """One of NAMES, downloaded into `data_dir` when it is not there yet; to be closed. Raises
    DatasetError."""
    if name == "cifar10":
        return arrays.Source(cifar.Files((data_dir / cifar.obtain(data_dir)).resolve()))
    if name != "digits" and mnist.find(name, data_dir) is None:
        mnist.load(name, data_dir, 1)
    return arrays.Source(_Grey(name, data_dir))


def count(name: str, data_dir: Path) -> int:
    """Training pictures of one of NAMES; of one that is absent, what a download brings. Raises
    DatasetError."""
    if name == "cifar10":
        return cifar.COUNT
    if name == "digits":
        return digits.COUNT
    path = mnist.find(name, data_dir)
    return mnist.count(path) if path else mnist.COUNT


def check(name: str, data_dir: Path) -> None:
    """Raises DatasetError for absent or damaged files, or a download that cannot succeed (3 s at
    most)."""
    if name == "cifar10":
        if cifar.find(data_dir) is None:
            cifar.require_download(data_dir)
    elif name != "digits" and mnist.find(name, data_dir) is None:
        mnist.require_download(name, data_dir)
    count(name, data_dir)


class _Grey:
    """`arrays.Files` of the data sets with 28x28 grey pictures."""

    def __init__(self, name: str, data_dir: Path) -> None:
        self._name = name
        self._data_dir = data_dir
        found = None if name == "digits" else mnist.find(name, data_dir)
        self.path = found or Path(name)

    def shape(self) -> tuple[int, ...]:
        return (count(self._name, self._data_dir), SIDE, SIDE)

    def stamp(self) -> Iterator[str]:
        yield self._name
        if self._name != "digits":
            found = self.path.stat()
            yield f"{found.st_size}\0{found.st_mtime_ns}"

    def labels(self) -> tuple[Labels | None, Classes]:
        return self._data.labels, _FASHION if self._name == "fashion_mnist" else _DIGITS

    def images(self) -> Images:
        return self._data.images

    @cached_property
    def _data(self) -> Dataset:
        if self._name == "digits":
            return digits.load(None)
        return mnist.load(self._name, self._data_dir, None)
