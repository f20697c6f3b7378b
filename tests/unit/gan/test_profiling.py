"""gan.profiling: which steps can be profiled, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan import profiling
from ganboard.gan.config import ConfigError, plan
from ganboard.gan.presets import load


@pytest.mark.parametrize(
    ("text", "expected"), [("", None), ("20:30", range(20, 30)), ("0:1", range(1))]
)
def test_steps_are_named_as_a_range(text: str, expected: range | None) -> None:
    assert profiling.steps(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("20", "is not of the form A:B, such as 20:30"),
        ("-1:5", "is not of the form"),
        ("a:b", "is not of the form"),
        ("1:2:3", "is not of the form"),
        ("٣:٤", "is not of the form"),
        ("30:20", "the second number must be larger than the first, such as 30:40"),
        ("5:5", "has no steps"),
        ("0:1001", "has 1,001 steps; the limit is 1,000"),
    ],
)
def test_others_are_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        load("tiny", {"profile_steps": text})
    assert str(refused.value).count("\n") == 0


def test_steps_beyond_the_end_are_refused_before_the_start() -> None:
    assert plan(load("tiny", {"profile_steps": "7:8"}), 128).total_steps == 8
    with pytest.raises(ConfigError, match=r"profile_steps=7:9 is beyond the run's end: it has 8"):
        plan(load("tiny", {"profile_steps": "7:9"}), 128)


def test_only_files_of_traces_are_found(tmp_path: Path) -> None:
    assert profiling.found(tmp_path) == []
    folder = tmp_path / "tensorboard" / "plugins" / "profile" / "2026"
    folder.mkdir(parents=True)
    for name in ("a.xplane.pb", "a.trace.json.gz", "a.SSTABLE", ".cached_tools.json"):
        (folder / name).touch()
    assert [path.name for path in profiling.found(tmp_path)] == ["a.trace.json.gz", "a.xplane.pb"]
