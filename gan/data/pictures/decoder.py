"""All pictures of a source, decoded by as many threads as there are processors.

Pillow gives the interpreter free while it decodes and scales: two threads made 3,790 icons a second
where one made 1,990, and two processes 1,750, since they have to start and send the pixels back.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ganboard.gan.data.dataset import DatasetError, Images
from ganboard.gan.data.decoding import quiet
from ganboard.gan.data.images import nothing
from ganboard.gan.data.pictures.sources import Source
from ganboard.gan.data.progress import Progress
from ganboard.gan.devices.runtime import cores

_TOGETHER = 32  # pictures of one task
_AHEAD = 4  # tasks of each thread, so that memory stays bounded
_SIZES = 10_000  # different sizes that are distinguished


class _Portion(NamedTuple):
    pixels: Images  # [n, side, side, C]
    kept: list[int]
    sizes: list[tuple[int, int]]
    skipped: list[str]


class Decoder:
    """Decodes `source`, or `numbers` of it, once. Afterwards `kept` has the numbers of the pictures
    that can be read, `skipped` says why each of the others cannot, and `sizes` counts the originals
    by width and height in pixels."""

    def __init__(
        self,
        source: Source,
        side: int,
        channels: int,
        progress: Progress,
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.source = source
        self._numbers = range(len(source)) if numbers is None else numbers
        self.shape = (side, side, channels)
        self.kept: list[int] = []
        self.skipped: list[str] = []
        self.sizes: Counter[tuple[int, int]] = Counter()
        self._progress = progress

    def run(self) -> Iterator[Images]:
        """The pictures in their order, portion by portion, each [n, side, side, C]. Raises
        DatasetError when none can be read."""
        began = time.monotonic()
        count = len(self._numbers)
        tasks = [self._numbers[first : first + _TOGETHER] for first in range(0, count, _TOGETHER)]
        workers = cores()
        done = 0
        with quiet(), ThreadPoolExecutor(workers, thread_name_prefix="decoder") as pool:
            waiting: deque[Future[_Portion]] = deque()
            try:
                for task in tasks[: workers * _AHEAD]:
                    waiting.append(pool.submit(self._portion, task))
                for number in range(len(tasks)):
                    portion = waiting.popleft().result()
                    if number + workers * _AHEAD < len(tasks):
                        task = tasks[number + workers * _AHEAD]
                        waiting.append(pool.submit(self._portion, task))
                    self._add(portion)
                    yield portion.pixels
                    done += len(tasks[number])
                    seconds = time.monotonic() - began
                    self._progress(done / count, "decoding", seconds / done * (count - done))
            finally:
                for future in waiting:
                    future.cancel()
        if not self.kept:
            raise DatasetError(f"{nothing(count, self.source.path)} The first: {self.skipped[0]}")

    def _add(self, portion: _Portion) -> None:
        self.kept += portion.kept
        self.skipped += portion.skipped
        for size in portion.sizes:
            if size in self.sizes or len(self.sizes) < _SIZES:
                self.sizes[size] += 1

    def _portion(self, numbers: Sequence[int]) -> _Portion:
        pixels = np.empty([len(numbers), *self.shape], np.uint8)
        kept: list[int] = []
        sizes: list[tuple[int, int]] = []
        skipped: list[str] = []
        side, _, channels = self.shape
        for i in numbers:
            try:
                picture = self.source.picture(i, side, channels)
            except DatasetError as error:
                skipped.append(str(error))
                continue
            pixels[len(kept)] = picture.pixels
            kept.append(i)
            sizes.append(picture.size)
        return _Portion(pixels[: len(kept)], kept, sizes, skipped)
