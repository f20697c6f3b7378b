"""Targets of a rehearsal: their names, and a configuration on them."""

from __future__ import annotations

import pytest

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.rehearsal.targets import FAMILIES, known, parse_targets


def test_names_are_read_each_once() -> None:
    found = parse_targets("v5e-1, 4xH100,v3-8,v5e-1")
    assert [(one.family, one.devices) for one in found] == [("v5e", 1), ("h100", 4), ("v3", 8)]


def test_every_known_target_says_what_the_compiler_needs() -> None:
    for name in known():
        (target,) = parse_targets(name)
        topology = target.topology()
        assert topology["platform"] == {"tpu": "tpu", "gpu": "cuda"}[target.about.kind]
        assert target.title


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"^No target is given: use some of v2-1, "),
        ("v9-8", r"^Unknown target 'v9-8': use one of v2-1, "),
        ("h100-8", r"^Unknown target 'h100-8'"),
        ("8xv3", r"^Unknown target '8xv3'"),
        (
            "v5e-3",
            r"^The compiler has no topology v5e-3: use one of v5e-1, v5e-4, v5e-8, v5e-16\.$",
        ),
        ("99xh100", r"^99xh100: use 1 to 8 GPUs, such as 4xh100\.$"),
        ("0xh100", r"^0xh100: use 1 to 8 GPUs"),
        (",".join(known() * 2), r"targets are too many: give at most 16\.$"),
    ],
)
def test_what_is_no_target_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_targets(text)


def test_a_configuration_takes_the_strategy_and_replicas_of_its_target() -> None:
    config = parse({"batch_size": 64, "loop": "fit"})
    placed = {name: parse_targets(name)[0].adapted(config) for name in ("v3-8", "4xh100", "h100")}
    assert {name: (one.strategy, one.replicas, one.loop) for name, one in placed.items()} == {
        "v3-8": ("tpu", 8, "custom"),
        "4xh100": ("mirrored", 4, "custom"),
        "h100": ("default", 1, "custom"),
    }


def test_a_batch_that_does_not_divide_among_the_cores_is_refused() -> None:
    (target,) = parse_targets("v3-8")
    with pytest.raises(ConfigError, match=r"^v3-8: batch_size=20 does not divide among replicas=8"):
        target.adapted(parse({"batch_size": 20}))


def test_a_core_has_no_more_than_its_chip() -> None:
    for family in FAMILIES.values():
        assert 0 < family.memory_bytes <= 80 * 2**30
        assert max(family.peak_flops.values()) < 2e15
