"""Sentences that say what is wrong with a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError


class ConfigError(ValueError):
    """A configuration that cannot run; the message is one sentence for the person who wrote it."""


def problem(sentence: str) -> PydanticCustomError:
    """An error of a rule between settings, for `sentence` to find again."""
    return PydanticCustomError("ganboard", "{sentence}", {"sentence": sentence})


_WANTED = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "literal_error": "one of {expected}",
    "string_type": "text",
    "string_too_long": "at most {max_length} characters",
}


def sentence(error: ErrorDetails, fields: Mapping[str, FieldInfo]) -> str:
    """What is wrong with one value, and what is allowed; `fields` are the settings there are."""
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "ganboard":
        return str(error["msg"])
    if error["type"] == "extra_forbidden":
        return f"{name[:80]!r} is not a setting; the settings are {', '.join(fields)}."
    wanted = _WANTED.get(error["type"])
    if wanted is None:
        return f"{name}: {error['msg']}."
    field = fields[name]
    return (
        f"{name}={legible(error['input'])} is not allowed: it must be"
        f" {wanted.format(**error.get('ctx', {}))} (default {field.default})."
    )


def legible(value: Any) -> str:
    """The beginning of a value, on one line and without what a terminal or a log should not get."""
    try:
        given = str(value)
    except ValueError:  # Python writes out no more than 4,300 digits
        return "a number of thousands of digits"
    short = given if len(given) <= 60 else given[:60] + "..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)
