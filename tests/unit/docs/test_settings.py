"""docs.generator.settings: every setting of every model is on the page, with what it declares."""

from __future__ import annotations

import re

import pytest

from docs.generator import settings
from ganboard.gan import presets
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import all_settings


@pytest.fixture(scope="module")
def page() -> str:
    return settings.page()


def test_every_setting_has_a_row_in_its_group(page: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `.*?` \| ", page, re.MULTILINE)
    assert set(all_settings()) <= set(rows)
    safety = page.split("## Safety\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", safety, re.MULTILINE) == [
        *("on_non_finite", "stall_seconds", "max_minutes")
    ]


def test_a_row_says_what_a_setting_declares(page: str) -> None:
    (row,) = re.findall(r"^\| `accumulate` .*$", page, re.MULTILINE)
    assert "| `1` | from 1 to 1,024 parts |" in row
    (width,) = [line for line in re.findall(r"^\| `width` .*$", page, re.M) if "gan3d" in line]
    assert 'Only with `network` = `"compact"`.' in width
    assert "*Only `gan3d`.*" in width
    (scheduled,) = re.findall(r"^\| `schedule_for` .*$", page, re.MULTILINE)
    assert 'Not with `schedule` = `"constant"`.' in scheduled


def test_each_model_says_what_it_adds_and_changes(page: str) -> None:
    models = page.split("## Models\n")[1].split("\n## ")[0]
    for name in registry.models():
        assert f"### {name}\n" in models
    r3gan = models.split("### r3gan\n")[1].split("\n### ")[0]
    assert "`r1`, `r2`" in r3gan
    assert "`batch_size`" not in r3gan
    assert '| `loss` | `"relativistic"` |' in r3gan


def test_every_preset_is_listed_with_its_values(page: str) -> None:
    part = page.split("## Presets\n")[1]
    for name in presets.NAMES:
        section = part.split(f"### {name}\n")[1].split("\n### ")[0]
        for setting in presets.values(name):
            assert f"\n{setting} = " in section
