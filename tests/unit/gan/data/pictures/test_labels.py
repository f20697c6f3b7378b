"""Classes by folder and by table."""

from __future__ import annotations

import pytest

from ganboard.gan.data import DatasetError
from ganboard.gan.data.pictures import labels

NAMES = ("a.png", "b/c.png", "d.png")


def table(*lines: str) -> tuple[list[int], tuple[str, ...]]:
    found, classes = labels.of_table("\n".join(lines).encode(), NAMES, "labels.csv")
    return found.tolist(), classes


@pytest.mark.parametrize(
    ("names", "found", "classes"),
    [
        (["b/1.png", "a/1.png"], [1, 0], ("a", "b")),
        (["x/b/1.png", "x/a/y/1.png"], [1, 0], ("a", "b")),
        (["1.png", "2.png"], None, ()),
        (["a/1.png", "2.png"], None, ()),
        (["a/1.png", "a/2.png"], None, ()),
        (["x/a/1.png", "x/2.png"], None, ()),
    ],
    ids=["two", "wrapped", "flat", "mixed", "one", "wrapped and mixed"],
)
def test_classes_by_folder(
    names: list[str], found: list[int] | None, classes: tuple[str, ...]
) -> None:
    given, called = labels.of_folders(names)
    assert (given if given is None else given.tolist(), called) == (found, classes)


def test_whole_numbers_sort_by_value_and_text_by_name() -> None:
    assert table("a.png,10", "b/c.png,9", "d.png,-1") == ([2, 1, 0], ("-1", "9", "10"))
    assert table("a.png,10", "b/c.png,9", "d.png,x") == ([0, 1, 2], ("10", "9", "x"))


def test_headings_blanks_quotes_and_a_byte_order_mark_are_read() -> None:
    lines = "\ufefffile,label", "", '"a.png", cat', "b/c.png ,cat", "d.png,dog"
    assert table(*lines) == ([0, 0, 1], ("cat", "dog"))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a.png,1"], "has no label for 2 of 3 pictures, the first 'b/c.png': add a line for each"),
        (["a.png,1", "x.png,2"], "names 'x.png' in line 2, which is not among the 3 pictures"),
        (["a.png,1", "d.png,1", "a.png,2"], "names 'a.png' a second time in line 3"),
        (["a.png,1,2"], "Line 1 of labels.csv has 3 columns"),
        (["a.png,"], "has no label for 'a.png' in line 1"),
        (['"a.png,1'], "cannot be read"),
    ],
    ids=["missing", "unknown", "duplicate", "columns", "empty", "quotes"],
)
def test_tables_that_do_not_match_are_refused(lines: list[str], sentence: str) -> None:
    with pytest.raises(DatasetError) as caught:
        table(*lines)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_measurements_are_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MAX_CLASSES", 2)
    with pytest.raises(DatasetError, match="has 3 different labels, more than the 2 allowed"):
        table("a.png,0.1", "b/c.png,0.2", "d.png,0.3")


def test_other_encodings_are_refused() -> None:
    with pytest.raises(DatasetError, match="save it as text in UTF-8"):
        labels.of_table("a.png,é".encode("latin1"), NAMES, "labels.csv")
