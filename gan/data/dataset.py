"""What a loaded data set is, and the one error all loaders raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIDE = 28  # pixels, as MNIST

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


class DatasetError(ValueError):
    """Data that cannot be used; the message is one sentence that names the file, what is wrong and
    the remedy."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images with grey levels 0 (black) to 255 (white)."""

    images: Images  # [N, 28, 28, 1]
    labels: Labels | None  # [N]
    source: str  # one sentence: what the images are and where they were read
    skipped: tuple[str, ...] = ()  # why each picture that cannot be read was left out

    def first(self, limit: int | None) -> Images:
        """The first `limit` images, or all."""
        return self.images[:limit]


@contextmanager
def reading(what: object, remedy: str) -> Iterator[None]:
    """Turns whatever a parser raises on a damaged file into one DatasetError that names `what` and
    the `remedy`."""
    try:
        yield
    except DatasetError:
        raise
    except PermissionError as error:
        raise DatasetError(
            f"{what} cannot be read. Grant read permission to the user who runs ganboard."
        ) from error
    # Parsers of third-party formats raise many undocumented exceptions: each means that the file
    # cannot be used.
    except Exception as error:
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise DatasetError(f"{what} cannot be read ({reason}): {remedy}.") from error
