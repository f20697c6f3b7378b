from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ganboard.worker.panels.arithmetic import evaluate
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import (
    DEPTH,
    FUNCTIONS,
    LENGTH,
    OVER_TIME,
    parse,
    parse_column,
    quoted,
    summary_of,
    unknown,
)

X = np.array([1.0, 4.0, 2.0])
Y = np.array([2.0, 0.0, 4.0])
VALUES = {"x": X, "y": Y, "val/loss": X + 1}


def of(text: str) -> list[float]:
    return evaluate(parse(text), VALUES).values.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", X),
        (" x + 2 * y ", X + 2 * Y),
        ("-(x - y) ** 2", -((X - Y) ** 2)),
        ("+x", X),
        ("log(x)", np.log(X)),
        ("log10(x)", np.log10(X)),
        ("exp(-x)", np.exp(-X)),
        ("sqrt(x)", np.sqrt(X)),
        ("abs(x - 3)", abs(X - 3)),
        ("min(x, y, 3)", [1, 0, 2]),
        ("max(x, y)", [2, 4, 4]),
        ("cummin(x - 2)", [-1, -1, -1]),
        ("cummax(x)", [1, 4, 4]),
        ("ema(x, 0)", X),
        ('"val/loss" / x', (X + 1) / X),
        ("x * 1e3", X * 1e3),
    ],
)
def test_arithmetic_is_that_of_numpy(text: str, expected: list[float]) -> None:
    np.testing.assert_array_equal(of(text), expected)


def test_ema_is_the_smoothing_of_the_charts() -> None:
    # m_t / (1 - w^t) of m_t = w m_(t-1) + (1 - w) x_t
    assert of("ema(x, 0.5)") == pytest.approx([1, 3, (1 + 2 * 4 + 4 * 2) / 7])


@pytest.mark.parametrize(
    ("text", "cause", "values"),
    [
        ("x / y", "division by zero", [0.5, np.nan, 0.5]),
        ("1 / (y - y) + x", "division by zero", [np.nan] * 3),
        ("y ** -1", "division by zero", [0.5, np.nan, 0.25]),
        ("log(y)", "logarithm of a number that is not positive", [np.log(2), np.nan, np.log(4)]),
        ("sqrt(y - 2)", "root of a negative number", [0, np.nan, np.sqrt(2)]),
        ("(y - 2) ** 0.5", "no finite result", [0, np.nan, np.sqrt(2)]),
        ("exp(x * 300)", "no finite result", [np.exp(300.0), np.nan, np.exp(600.0)]),
    ],
)
def test_what_has_no_value_is_a_gap_and_counted(text: str, cause: str, values: list[float]) -> None:
    found = evaluate(parse(text), VALUES)
    np.testing.assert_array_equal(found.values, values)
    assert found.gaps == {cause: int(np.isnan(values).sum())}


def test_stored_gaps_are_not_counted_and_a_metric_keeps_its_infinity() -> None:
    stored = {"x": np.array([np.nan, np.inf, 1.0])}
    found = evaluate(parse("x / 2"), stored)
    np.testing.assert_array_equal(found.values, [np.nan, np.nan, 0.5])
    assert found.gaps == {}
    np.testing.assert_array_equal(evaluate(parse("x"), stored).values, stored["x"])


REFUSED = [
    ("", "is empty"),
    ("   ", "is empty"),
    ("1 + 2", "has no metric"),
    ("x" * (LENGTH + 1), f"has {LENGTH + 1} characters; the limit is {LENGTH}"),
    ("x +", "cannot be read"),
    ("x)", "cannot be read"),
    ("x = 1", "cannot be read"),
    ("x; y", "cannot be read"),
    ("x\n+ y", "contains '\\n'"),
    ("'\\x41'", "contains '\\\\'"),
    ("x\0", "contains '\\x00'"),
    ("x.real", "'x.real' is not allowed"),
    ("x.__class__.__mro__", "is not allowed"),
    ("x[0]", "'x[0]' is not allowed"),
    ("x if y else 1", "is not allowed"),
    ("x and y", "is not allowed"),
    ("x < y", "is not allowed"),
    ("x // y", "is not allowed"),
    ("x % 2", "is not allowed"),
    ("x << 9", "is not allowed"),
    ("x @ y", "is not allowed"),
    ("~x", "is not allowed"),
    ("not x", "is not allowed"),
    ("[x for x in y]", "is not allowed"),
    ("{x: y}", "is not allowed"),
    ("(x, y)", "is not allowed"),
    ("lambda: x", "is not allowed"),
    ("(x := 1)", "is not allowed"),
    ("f'{x}'", "is not allowed"),
    ("x + True", "'True' is not allowed"),
    ("x + None", "'None' is not allowed"),
    ("x + 1j", "'1j' is not allowed"),
    ("x + ...", "is not allowed"),
    ("b'x'", "is not allowed"),
    ("await x", ""),
    ("yield x", ""),
    ("print(x)", "There is no function 'print'"),
    ("lgo(x)", "Did you mean log?"),
    ("eval('x')", "There is no function 'eval'"),
    ("__import__('os')", "There is no function '__import__'"),
    ("(log)(x)(y)", "is not allowed"),
    ("log(x=1)", "is not allowed"),
    ("log(*x)", "is not allowed"),
    ("min(x, **y)", "is not allowed"),
    ("log(x, y)", "log takes 1 value, not 2"),
    ("log()", "log takes 1 value, not 0"),
    ("min(x)", "min takes 2 to 9 values, not 1. Use cummin(x)"),
    ("ema(x)", "ema takes 2 values, not 1"),
    ("ema(x, y)", "The weight of ema is 'y'"),
    ("ema(x, 1)", "The weight of ema is '1'"),
    ("ema(x, -0.1)", "The weight of ema is '-0.1'"),
    ("log", "log is a function. Write log(...)"),
    ("last(x)", "There is no function 'last'"),
    ("''", "A name in the expression is empty"),
    ("-" * (DEPTH + 1) + "x", "nested deeper than"),
    ("+".join(f"x{n}" for n in range(9)), "has 9 metrics; the limit is 8"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_listed_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(BadPanel) as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_huge_exponents_take_no_time_and_are_gaps() -> None:
    began = time.perf_counter()
    found = evaluate(parse("9**9**9**9**9 + x * 9" + "9" * 150), VALUES)
    assert time.perf_counter() - began < 1
    assert np.isnan(found.values).all()
    assert found.gaps == {"no finite result": 3}


PIECES = [
    *("x", "y", "1", "1e309", "9" * 60, "'val/loss'", "x.y", "__class__", "lambda", ":", "[0]"),
    *("+", "-", "*", "/", "**", "//", "%", "@", "<", "==", "=", ":=", ";", "#", "\\", "\n", "\0"),
    *("(", ")", ",", "{", "}", "log(", "log10(", "exp(", "sqrt(", "abs(", "min(", "max("),
    *("ema(", "cummin(", "last(", " if ", " else ", " for ", " in ", "f'{", "'", '"', "~", "not "),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join) | st.text(max_size=60))
@example("0_0x")
@example("0x1for x in y")
@example("x" + "**x" * 60)
def test_any_text_is_evaluated_or_refused(text: str) -> None:
    for read in (parse, parse_column):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                expression = read(text)
            except BadPanel:
                continue
        found = evaluate(expression, dict.fromkeys(expression.names, X))
        assert found.values.shape == X.shape
        assert found.values.dtype == np.float64


def test_columns_are_summaries_of_metrics() -> None:
    found = parse_column("min(fid) / last(images_per_second) + g_loss - max('val/acc', 0.5)")
    assert found.names == ("min(fid)", "last(images_per_second)", "last(g_loss)", "last(val/acc)")
    assert [summary_of(name) for name in found.names][0::3] == [("min", "fid"), ("last", "val/acc")]
    with pytest.raises(BadPanel, match="takes a metric alone"):
        parse_column("min(fid + 1)")
    with pytest.raises(BadPanel, match="no function 'ema'"):
        parse_column("ema(fid, 0.9)")


def test_names_that_are_spelled_alike_are_offered() -> None:
    known = ["g_loss", "d_loss", "fid", "FID_best"]
    assert unknown("gloss", known) == "There is no metric 'gloss'. Did you mean g_loss or d_loss?"
    assert unknown("zzz", known) == (
        "There is no metric 'zzz'. Stored are FID_best, d_loss, fid, g_loss."
    )
    assert unknown("x", []) == "There is no metric 'x'. Nothing is stored yet."


def test_a_metric_is_quoted_where_it_must_be() -> None:
    assert quoted("g_loss") == "g_loss"
    for name in ("val/loss", "é", "class", 'the "best"', *FUNCTIONS, *OVER_TIME):
        assert parse(f"1 + {quoted(name)}").names == (name,)
