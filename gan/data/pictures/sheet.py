"""What a network will see of a set of pictures, on one sheet, and what there is to know of it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ganboard.gan.data.dataset import DatasetError, Images
from ganboard.gan.data.pictures import sources
from ganboard.gan.data.pictures.decoder import Decoder
from ganboard.gan.data.pictures.limits import CHANNELS, require_shape, sampled
from ganboard.gan.data.progress import Progress, ignore

COLUMNS = 8
_GAP = 2  # pixels between pictures
_NAMED = 12  # classes, sizes and reasons that a sentence names


@dataclass(frozen=True)
class Sheet:
    """Pictures as the network sees them, evenly over the set."""

    png: bytes
    shown: int
    pictures: int  # in the set
    classes: dict[str, int]  # how many pictures each has; empty: there are none
    looked: int  # pictures that were read for this sheet
    sizes: dict[str, int]  # of those: how many have each size, as "64x48", the most usual first
    unreadable: tuple[str, ...]  # of those: why each cannot be read
    sentences: tuple[str, ...]  # all of this, for a person


def sheet(
    data_dir: Path,
    path: str,
    side: int,
    channels: int,
    *,
    shown: int = 4 * COLUMNS,
    looked: int | None = None,
    light: bool = False,
    progress: Progress = ignore,
) -> Sheet:
    """`shown` pictures of what `path` names in `data_dir`, after reading `looked` of them, by
    default all; both evenly over the set, in the order of the names. With `light` a set that has to
    be in memory for that is refused. Raises DatasetError."""
    require_shape(side, channels)
    with closing(sources.source(data_dir, path)) as source:
        if light and not source.light:
            raise DatasetError(
                f"{path} is one large array. To see what is in it, use `ganboard data show`."
            )
        labels, names = source.labels()
        numbers = sampled(len(source), looked or len(source)).tolist()
        decoder = Decoder(source, side, channels, progress, numbers)
        chosen = {numbers[i] for i in sampled(len(numbers), shown)}
        kept: list[Images] = []
        for pixels in decoder.run():
            new = decoder.kept[len(decoder.kept) - len(pixels) :]
            kept += [one for one, i in zip(pixels, new, strict=True) if i in chosen]
    counts = [] if labels is None else np.bincount(labels, minlength=len(names)).tolist()
    sizes = {f"{width}x{height}": n for (width, height), n in decoder.sizes.most_common()}
    found = Sheet(
        _png(kept, side, channels),
        len(kept),
        len(source),
        dict(zip(names, counts, strict=True)),
        len(numbers),
        sizes,
        tuple(decoder.skipped),
        (),
    )
    return Sheet(**{**vars(found), "sentences": tuple(_sentences(found, path, side, channels))})


def _sentences(found: Sheet, path: str, side: int, channels: int) -> list[str]:
    said = [
        f"{found.pictures:,} pictures in {path}, which a network sees in {CHANNELS[channels]},"
        f" {side}x{side} pixels."
    ]
    if found.classes:
        each = _named([f"{name} {count:,}" for name, count in found.classes.items()])
        said.append(f"{len(found.classes):,} classes: {each}.")
    read = f"all {found.looked:,}" if found.looked == found.pictures else f"{found.looked:,}"
    if len(found.sizes) == 1:
        said.append(f"Size of {read} that were read: {next(iter(found.sizes))}.")
    else:
        each = _named([f"{size} ({count:,})" for size, count in found.sizes.items()])
        said.append(f"{len(found.sizes):,} sizes among {read} that were read: {each}.")
    if found.unreadable:
        said.append(
            f"{len(found.unreadable):,} of {found.looked:,} cannot be read. The first:"
            f" {found.unreadable[0]}"
        )
    return said


def _named(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - _NAMED:,} more" if len(parts) > _NAMED else ""
    return ", ".join(parts[:_NAMED]) + more


def _png(pictures: Sequence[Images], side: int, channels: int) -> bytes:
    """PNG of pictures [side, side, channels] in rows of COLUMNS, on transparent gaps."""
    columns = min(COLUMNS, len(pictures))
    rows = -(-len(pictures) // columns)
    step = side + _GAP
    whole = Image.new("RGBA", (columns * step - _GAP, rows * step - _GAP), (0, 0, 0, 0))
    for number, pixels in enumerate(pictures):
        row, column = divmod(number, columns)
        picture = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
        whole.paste(picture.convert("RGBA"), (column * step, row * step))
    out = io.BytesIO()
    whole.save(out, "PNG")
    return out.getvalue()
