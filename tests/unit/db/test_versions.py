"""Versions of models: their numbers, how they are found, aliases, removal."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db import versions
from ganboard.db.engine import make_engine
from ganboard.db.errors import BadAnnotation, UnknownVersion
from ganboard.db.models import ModelVersion
from tests.unit.db.stored_runs import IN_FORK


def version(name: str = "digits", **values: Any) -> ModelVersion:
    own: dict[str, Any] = {
        "run_id": "abcdefghjk",
        "attempt": 1,
        "epoch": 3,
        "step": 12,
        "digest": "0" * 64,
        "size": 5,
    }
    return ModelVersion(name=name, model="dcgan", variant="float32", **{**own, **values})


def test_numbers_grow_by_name_and_are_never_used_again(engine: Engine) -> None:
    numbers = [
        versions.add(engine, version(name)).version for name in ("digits", "digits", "streets")
    ]
    assert numbers == [1, 2, 1]
    versions.remove(engine, versions.find(engine, "digits:2"))
    third = versions.add(engine, version(quality={"fid": 1.5}))
    assert third.version == 3
    assert [(one.name, one.version) for one in versions.listed(engine)] == [
        ("digits", 3),
        ("digits", 1),
        ("streets", 1),
    ]
    assert versions.find(engine, "digits").quality == {"fid": 1.5}
    with pytest.raises(
        UnknownVersion, match=r"^There is no model digits:2: `ganboard models` lists them"
    ):
        versions.find(engine, "digits:2")


def test_an_alias_means_one_version_and_goes_with_it(engine: Engine) -> None:
    first, second = (versions.add(engine, version()) for _ in range(2))
    for one in (first, second):
        versions.alias(engine, one, "production")
    versions.alias(engine, first, "old")
    assert versions.find(engine, "digits@production").id == second.id
    assert versions.aliases(engine) == {second.id: ["production"], first.id: ["old"]}
    versions.remove(engine, second)
    assert versions.aliases(engine) == {first.id: ["old"]}
    removed = versions.get(engine, second.id)
    assert removed is not None
    assert removed.removed_at is not None
    for write in (
        lambda: versions.alias(engine, second, "new"),
        lambda: versions.remove(engine, second),
    ):
        with pytest.raises(UnknownVersion, match=r"^digits:2 has been removed"):
            write()
    with pytest.raises(UnknownVersion, match=r"^There is no model digits@production"):
        versions.find(engine, "digits@production")


@pytest.mark.parametrize("text", ["", "A", "a" * 41, "../x", "a b", "-a", "ä", "a:1", "a@b"])
def test_names_are_short_and_plain(engine: Engine, text: str) -> None:
    with pytest.raises(BadAnnotation, match=r"is not a valid model name\. Use up to 40 of a-z"):
        versions.add(engine, version(text))


@pytest.mark.parametrize(
    "text", ["", "digits:", "digits@", "digits:x", "digits:1@old", "../x:1", "digits:" + "9" * 10]
)
def test_what_names_no_version_is_said_so(engine: Engine, text: str) -> None:
    with pytest.raises(
        UnknownVersion, match=r"is not a version of a model\. Use NAME, NAME:VERSION or NAME@ALIAS"
    ):
        versions.find(engine, text)


@pytest.mark.parametrize("word", ["", "1", "Production", "a b", "a" * 33])
def test_aliases_are_short_and_plain(engine: Engine, word: str) -> None:
    stored = versions.add(engine, version())
    with pytest.raises(BadAnnotation, match=r"is not a valid alias\. Use up to 32"):
        versions.alias(engine, stored, word)


def _add(url: str, count: int) -> list[int]:
    engine = make_engine(url)
    found = [versions.add(engine, version()).version for _ in range(count)]
    engine.dispose()
    return found


def test_processes_that_add_at_once_get_numbers_of_their_own(engine: Engine, url: str) -> None:
    with IN_FORK.Pool(3) as pool:
        found = pool.starmap(_add, [(url, 5)] * 3, chunksize=1)
    assert sorted(number for numbers in found for number in numbers) == list(range(1, 16))
