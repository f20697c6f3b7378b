"""References of specifications."""

from __future__ import annotations

import pytest

from ganboard.gan.settings import registry
from ganboard.gan.settings.model import Model
from ganboard.gan.settings.problems import ConfigError
from ganboard.gan.settings.references import resolve


def references(model: Model) -> list[str]:
    return [*model.spec.analyses.values()]


@pytest.mark.parametrize("model", registry.models().values(), ids=lambda model: model.name)
def test_what_models_name_is_there(model: Model) -> None:
    assert all(callable(resolve(reference)) for reference in references(model))


def test_some_models_name_something() -> None:
    assert any(map(references, registry.models().values()))


@pytest.mark.parametrize("reference", ["nowhere.module:it", "pathlib:Nothing", "not a reference"])
def test_what_is_not_there_is_one_sentence(reference: str) -> None:
    with pytest.raises(ConfigError, match="of a model's specification cannot be loaded") as caught:
        resolve(reference)
    assert repr(reference) in str(caught.value)
