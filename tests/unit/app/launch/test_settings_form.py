"""What the launch form knows of each setting."""

from __future__ import annotations

import pytest

from ganboard.app.launch import settings_form
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import GROUPS, about, all_settings


def test_every_group_has_an_icon() -> None:
    assert tuple(settings_form.ICONS) == GROUPS


@pytest.mark.parametrize("name", all_settings())
def test_a_text_is_read_as_its_value_or_refused_by_name(name: str) -> None:
    default = all_settings()[name].default
    models = registry.models().values()
    model = next(one.name for one in models if name in one.config.model_fields)
    if not isinstance(default, bool | str):
        written = settings_form.written(default)
        read = settings_form.read(name, written)
        assert (read, type(read)) == (default, type(default))
        for typed in ("-1e9", "1e", "many", "1,000.5"):
            held = settings_form.read(name, typed)
            with pytest.raises(ConfigError, match=rf"{name}=.* is not allowed: it must be"):
                parse({"model": model, name: held})
            assert settings_form.mistakes({name: held})


def test_an_empty_number_is_all_where_all_is_allowed_and_else_refused() -> None:
    assert settings_form.read("limit", " ") is None
    assert settings_form.mistakes({"epochs": settings_form.read("epochs", "")})


@pytest.mark.parametrize(
    "values",
    [
        {"loss": "wgan_gp"},
        {"loss": "hinge"},
        {"optimizer": "rmsprop"},
        {"optimizer": "sgd"},
        {"schedule": "constant", "epochs": 1},
    ],
)
def test_the_defaults_of_hidden_settings_are_always_allowed(values: dict[str, object]) -> None:
    config = parse(values).model_dump()  # which refuses a default that does not fit
    assert not all(about(name).has_effect(config) for name in config)


@pytest.mark.parametrize("name", all_settings())
def test_every_setting_has_a_label_and_says_what_it_may_be(name: str) -> None:
    field = all_settings()[name]
    assert settings_form.label(name)[0].isupper() or name == "d_steps"
    assert settings_form.allowed(field)
    assert settings_form.matches(name, name)


def test_labels_differ() -> None:
    labels = [settings_form.label(name) for name in all_settings()]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("batch_size", "a whole number, at least 1 and at most 65,536"),
        ("limit", "a whole number, at least 1 and at most 10,000,000; or all"),
        ("label_smoothing", "a number, at least 0 and less than 0.5"),
        ("clip_norm", "a number, at least 0 and at most 1,000,000"),
        ("g_learning_rate", "a number, more than 0 and at most 10"),
        ("precision", "float32, mixed_bfloat16, mixed_float16"),
        ("xla", "on or off"),
        ("images_path", "text"),
    ],
)
def test_what_a_setting_may_be(name: str, text: str) -> None:
    assert settings_form.allowed(all_settings()[name]) == text


def test_settings_are_found_by_name_label_and_meaning() -> None:
    def found(search: str) -> set[str]:
        return {name for name in all_settings() if settings_form.matches(name, search)}

    assert found("") == set(all_settings())
    assert found("BETA_1") == {"beta_1"}
    assert {"g_learning_rate", "d_learning_rate", "schedule_depth"} <= found("rate")
    assert found("memory") >= {"accumulate", "recompute"}
    assert found("rate warm") == {"warmup_epochs"}
    assert found("no such thing") == set()
