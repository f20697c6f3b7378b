"""Words and numbers for the screen."""

from __future__ import annotations

import math
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganboard.db.models import SHOWN
from ganboard.worker import formatting
from tests.factories import HOSTILE_NAMES


def shown(markdown: str) -> str:
    """What Markdown makes of backslashes, and the eye of word joiners."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown).replace(formatting.WORD_JOINER, "")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_escape_keeps_what_the_eye_reads(name: str) -> None:
    assert shown(formatting.escape(name)) == name


@given(st.text(st.sampled_from(string.punctuation + "aw wW:/@\n"), max_size=40))
def test_escape_leaves_no_syntax(raw: str) -> None:
    escaped = formatting.escape(raw)
    assert "\n" not in escaped
    assert not re.search(
        r"(?<!\\)(?:\\\\)*[!-/:-@\[-`{-~]", re.sub(r"\\[!-/:-@\[-`{-~]", "", escaped)
    )
    # what the plug-ins for links, icons and arrows see
    visible = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped)
    assert not re.search(
        r":[\w/+-]+:|https?://|www\.|[\w.+-]+@\w|->|<-|--|>=|<=|~=", visible, re.IGNORECASE
    )


def test_sentence_shows_commands_as_code_and_nothing_else() -> None:
    assert (
        formatting.sentence("The queue is off: `ganboard up` starts it.")
        == "The queue is off\\: `ganboard up` starts it\\."
    )
    assert shown(formatting.sentence("odd ` tick **bold**")) == "odd ` tick **bold**"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.0001, "< 1 ms"),
        (0.042, "42 ms"),
        (0.9996, "1.0 s"),
        (3.21, "3.2 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (80, "1 min 20 s"),
        (3599.7, "1 h"),
        (7500, "2 h 5 min"),
        (200_000, "2 d 7 h"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (-1, "–"),
    ],
)
def test_duration(seconds: float | None, words: str) -> None:
    assert formatting.duration(seconds) == words


def test_ago() -> None:
    assert [formatting.ago(s) for s in (0.5, 12.4, 61, 7300, 200_000)] == [
        "just now",
        "12 s ago",
        "1 min ago",
        "2 h ago",
        "2 d ago",
    ]


def test_size() -> None:
    assert [formatting.size(n) for n in (0, 999, 1536, 30 << 20, 5 << 40)] == [
        "0 B",
        "999 B",
        "1.5 KiB",
        "30 MiB",
        "5 TiB",
    ]
    assert [formatting.size(n << 20) for n in (999, 1000, 1020, 1044)] == [
        "999 MiB",
        "0.977 GiB",
        "0.996 GiB",
        "1.02 GiB",
    ]
    assert formatting.size(5000 << 40) == "5,000 TiB"


def test_sizes_beside_each_other_share_a_unit() -> None:
    counts = [5 << 30, 600 << 20, 12, 0]
    assert [formatting.size(count, counts) for count in counts] == [
        "5 GiB",
        "0.586 GiB",
        "< 0.01 GiB",
        "0 GiB",
    ]
    facts = [formatting.fact("peak_memory_bytes", count, counts) for count in counts[:2]]
    assert facts == ["5 GiB", "0.586 GiB"]
    assert [formatting.fact("rate", value) for value in (12345.6, 1e9, 0.12345)] == [
        "12,346",
        "1,000,000,000",
        "0.1235",
    ]


def test_numbers() -> None:
    assert formatting.integer(60000) == "60,000"
    assert formatting.integer(None) == "–"
    assert [formatting.rate(rate) for rate in (1234.5, 9.96, 2.34, 0.0, None)] == [
        "1,234",
        "10",
        "2.3",
        "0.0",
        "–",
    ]
    assert formatting.decimal(0.69314) == "0.6931"
    assert [formatting.decimal(x) for x in (None, math.nan, math.inf, -math.inf)] == [
        "–",
        "NaN",
        "∞",
        "−∞",
    ]
    assert [formatting.plural(n, "run") for n in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


def test_shorten() -> None:
    assert formatting.shorten("short", 10) == "short"
    assert formatting.shorten("x" * 80, 40) == "x" * 39 + "…"
    assert formatting.shorten("a\n b", 40) == "a b"


def test_every_status_has_a_look() -> None:
    assert set(formatting.STATUS) == set(SHOWN)
    assert formatting.status_badge("failed") == ":red-badge[:material/error: Failed]"


def test_unknown_phase_shows_its_name() -> None:
    assert formatting.phase_word("training") == "Training"
    assert formatting.phase_word("exporting") == "exporting"
    assert formatting.phase_word(None) == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.625, "62 %"),
        (0.004, "0.4 %"),
        (0.0994, "9.9 %"),
        (0.0999, "10 %"),
        (0.0, "0.0 %"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_share(value: float | None, words: str) -> None:
    assert formatting.share(value) == words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("kernels_before", 1412, "1,412"),
        ("peak_gflops", 193.456, "193.5"),
        ("reduce_bytes", 1 << 20, "1 MiB"),
        ("off_accelerator", [], "none"),
        ("class_shares", [0.1, 0.099371], "0.1, 0.09937"),
        ("form", "plain", "plain"),
        ("new", True, "True"),
        ("new", None, "None"),
        ("new", {"a": 1}, "{'a': 1}"),
    ],
)
def test_fact(name: str, value: object, words: str) -> None:
    assert formatting.fact(name, value) == words


def test_clean_keeps_emoji_families_and_other_scripts() -> None:
    assert formatting.clean("👩‍👩‍👧‍👦 漢字 مرحبا") == "👩‍👩‍👧‍👦 漢字 مرحبا"
    assert (
        formatting.clean("a\u202eb\x07c") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    )
