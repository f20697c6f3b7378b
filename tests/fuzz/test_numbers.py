"""Numbers as people, scripts and addresses write them: every setting takes a value of its range or
refuses it in a sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from ganboard.gan.config import ConfigError, RunConfig, parse, parse_assignments, parse_value, plan
from ganboard.gan.costs import estimate
from ganboard.gan.presets import NAMES, load
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import all_settings
from ganboard.worker import formatting
from ganboard.worker.interchange.document import encode
from ganboard.worker.submission import sweep
from tests.cli import ganboard
from tests.fuzz.cases import fuzzed, refusal

WORDS = (
    "", " ", "0", "-0", "-0.0", "+1", "1", "1.0", "1.5", "1e3", "1e309", "-1e309", "1e-400", "nan",
    "NaN", "inf", "-inf", "Infinity", "1_000", "1,000", "1.000,5", "0x10", "0b1", "010",
    "\u0661\u0662", "\u00bd", "\u2167", "\uff11", "1\u00a0000", " 1 ", "1\n", "true", "True", "on",
    "none", "None", "all", "null", "[]", "{}", "1/2", "1%", "\u22121", "--1", "1e", "e1", ".",
    "9" * 400, "0." + "0" * 400 + "1", "2147483648", "9223372036854775808", "18446744073709551616",
    "1e3 ", "1j", "\ud800", "\x1b[2J", "\u202e1",
)  # fmt: skip
NUMBERS = (
    st.sampled_from(WORDS)
    | st.integers()
    | st.sampled_from(
        [0, -1, 2**31 - 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 10**5000]
    )
    | st.floats()
    | st.booleans()
    | st.none()
    | st.text(max_size=10)
    | st.binary(max_size=5)
    | st.lists(st.integers(), max_size=2)
    | st.decimals(allow_nan=True)
    | st.fractions()
    | st.complex_numbers()
)
FIELD = st.sampled_from(sorted(all_settings()))


def sound(config: RunConfig) -> None:
    """What holds of every configuration that was accepted: it can be stored, planned and
    counted."""
    values = config.model_dump(mode="json")
    for name, field in type(config).model_fields.items():
        value = values[name]
        if isinstance(value, float):
            assert math.isfinite(value), name
        assert isinstance(value, bool) == (field.annotation is bool), name
    assert parse(values) == config
    assert encode(values).decode()
    plan(config, 10_000_000)


@fuzzed(25, name=FIELD, value=NUMBERS)
def test_a_setting_takes_a_value_or_says_why_not(name: str, value: Any) -> None:
    said = refusal(ConfigError, parse_value, name, value)
    if said is None:
        one = parse_value(name, value)
        assert not isinstance(one, float) or math.isfinite(one)
        assert type(one) in (int, float, bool, str, type(None)), (
            "as the field says, whatever was given"
        )
    else:
        assert name in said


@fuzzed(25, values=st.dictionaries(FIELD, NUMBERS, min_size=1, max_size=4))
def test_settings_together_are_sound_or_refused(values: dict[str, Any]) -> None:
    if refusal(ConfigError, parse, values) is None:
        sound(parse(values))


def plausible(name: str) -> st.SearchStrategy[Any]:
    """Values that a setting may have by itself."""
    field = all_settings()[name]
    if field.annotation is bool:
        return st.booleans()
    if name == "model":
        return st.sampled_from(list(registry.models()))
    if name == "dataset":
        return st.sampled_from(registry.datasets())
    if field.annotation is str:
        return st.sampled_from(["", "pictures", "a.zip"])
    options = get_args(field.annotation)
    if options and type(None) not in options:
        return st.sampled_from(options)
    low = next(
        (
            m.ge if hasattr(m, "ge") else m.gt
            for m in field.metadata
            if hasattr(m, "ge") or hasattr(m, "gt")
        ),
        0,
    )
    high = next(
        (
            m.le if hasattr(m, "le") else m.lt
            for m in field.metadata
            if hasattr(m, "le") or hasattr(m, "lt")
        ),
        1,
    )
    whole = int in (field.annotation, *options)
    drawn = (
        st.integers(low, high) | st.integers(low, min(high, 200)) if whole else st.floats(low, high)
    )
    return drawn | st.none() if options else drawn


@fuzzed(
    25,
    values=st.fixed_dictionaries({}, optional={name: plausible(name) for name in all_settings()}),
)
def test_combinations_within_the_ranges_are_sound_or_refused(values: dict[str, Any]) -> None:
    if refusal(ConfigError, parse, values) is None:
        config = parse(values)
        sound(config)
        assert estimate.estimate(config, 60_000) > 0
        assert estimate.step_flop(config) > 0
        assert estimate.largest_batch(config, 8 << 30, 60_000) >= 0


@fuzzed(
    10,
    words=st.lists(
        st.builds(
            "{}{}{}".format,
            FIELD | st.text(max_size=5),
            st.sampled_from(["=", " = ", "", "=="]),
            st.sampled_from(WORDS),
        ),
        max_size=3,
    ),
)
def test_assignments_of_the_command_line(words: list[str]) -> None:
    if refusal(ConfigError, parse_assignments, words) is None:
        values = parse_assignments(words)
        if refusal(ConfigError, parse, values) is None:
            sound(parse(values))


@fuzzed(
    10,
    words=st.lists(
        st.builds(
            "{}={}".format,
            FIELD,
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(",".join),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_grids_of_values(words: list[str]) -> None:
    if refusal(ConfigError, sweep.axes, words) is None:
        axes = sweep.axes(words)
        assert all(axes.values())
        for values in axes.values():
            assert len(set(map(repr, values))) == len(values)
        refusal(ConfigError, sweep.repeated, axes, {}, 3)
        assert encode(axes)


@fuzzed(
    0.2,
    words=st.lists(st.builds("{}={}".format, FIELD, st.sampled_from(WORDS)), max_size=2),
    preset=st.sampled_from([*NAMES, "", "../x", "nan"]),
)
def test_the_command_refuses_in_one_line(home: Path, words: list[str], preset: str) -> None:
    from typer.testing import CliRunner

    from ganboard.worker.cli.main import app

    assume("\ud800" not in "".join(words))
    options = [word for assignment in words for word in ("--set", assignment)]
    result = CliRunner().invoke(app, ["run", "--preset", preset, *options], catch_exceptions=False)
    if result.exit_code:
        assert result.stderr.count("\n") == 1 or "Usage" in result.stderr
        assert "Traceback" not in result.stderr


@fuzzed(25, number=st.floats() | st.integers(-(2**70), 2**70) | st.none())
def test_figures_become_words(number: Any) -> None:
    for words in (formatting.duration, formatting.integer, formatting.decimal, formatting.share):
        assert words(number)
    if number is not None:
        assert formatting.fact("x_bytes", number)
        assert formatting.fact("x", [number])


def test_presets_are_sound() -> None:
    for name in NAMES:
        sound(load(name))


@pytest.mark.parametrize("word", ["nan", "inf", "1e309", "1,5", "9" * 400])
def test_a_rate_that_is_no_number_is_refused_by_name(home: Path, word: str) -> None:
    assert "g_learning_rate" in ganboard("run", "--set", f"g_learning_rate={word}", code=1).stderr
