"""Classes of pictures: by the sub-folder that each lies in, or by a table `labels.csv`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np

from ganboard.gan.data.dataset import DatasetError, Labels

TABLE = "labels.csv"
MAX_TABLE = 64 << 20  # bytes
MAX_CLASSES = 10_000

Classes = tuple[str, ...]


def of_folders(names: Sequence[str]) -> tuple[Labels | None, Classes]:
    """Labels [n] by the first sub-folder of each picture, numbered in the order of their names, as
    PyTorch's ImageFolder has it. Folders around everything are no classes, and where pictures lie
    beside the sub-folders, or in one only, there are none."""
    parents = [name.split("/")[:-1] for name in names]
    depth = 0
    while all(len(parts) > depth for parts in parents):
        classes = sorted({parts[depth] for parts in parents})
        if len(classes) > 1:
            number = {name: i for i, name in enumerate(classes)}
            found = [number[parts[depth]] for parts in parents]
            return np.array(found, np.int64), _printable(classes)
        depth += 1
    return None, ()


def of_table(text: bytes, names: Sequence[str], where: str) -> tuple[Labels, Classes]:
    """Labels [n] of the pictures `names` by a table of two columns: file name, as seen from the
    folder of the table, and label. A first line that names no file is a heading.

    Classes are numbered by value where all labels are whole numbers, else by name. Raises
    DatasetError when a picture has no label, a label no picture, or a picture two.
    """
    known = set(names)
    found: dict[str, str] = {}
    for number, row in enumerate(_lines(text, where), 1):
        if len(row) != 2:
            raise DatasetError(
                f"Line {number:,} of {where} has {len(row)} columns: it must have two, a file name"
                " and a label."
            )
        name, label = (part.strip() for part in row)
        if name in found:
            raise DatasetError(
                f"{where} names {name!r} a second time in line {number:,}: keep one line for each"
                " picture."
            )
        if name not in known and number == 1:
            continue
        if name not in known:
            raise DatasetError(
                f"{where} names {name!r} in line {number:,}, which is not among the"
                f" {len(names):,} pictures: take the line out, or add the picture."
            )
        if not label:
            raise DatasetError(f"{where} has no label for {name!r} in line {number:,}: enter one.")
        found[name] = label
    if missing := [name for name in names if name not in found]:
        raise DatasetError(
            f"{where} has no label for {len(missing):,} of {len(names):,} pictures, the first"
            f" {missing[0]!r}: add a line for each, or take {TABLE} out."
        )
    numeric = all(re.fullmatch(r"-?\d{1,18}", label) for label in found.values())
    classes = sorted(set(found.values()), key=int if numeric else None)
    require_few(classes, where)
    number_of = {label: i for i, label in enumerate(classes)}
    return np.array([number_of[found[name]] for name in names], np.int64), _printable(classes)


def require_few(classes: Sequence[object], where: str) -> None:
    """Raises DatasetError for more classes than any model here can tell apart."""
    if len(classes) > MAX_CLASSES:
        raise DatasetError(
            f"{where} has {len(classes):,} different labels, more than the {MAX_CLASSES:,} allowed:"
            " labels are classes, not measurements."
        )


def _printable(classes: Sequence[str]) -> Classes:
    """What classes are called: names of files need not be text."""
    return tuple("".join(c if c.isprintable() else "\ufffd" for c in name) for name in classes)


def _lines(text: bytes, where: str) -> list[list[str]]:
    try:
        decoded = text.decode("utf-8-sig")
        return [row for row in csv.reader(io.StringIO(decoded), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(
            f"{where} cannot be read ({error}): save it as text in UTF-8 with commas between file"
            " name and label."
        ) from error
