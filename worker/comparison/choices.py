"""What sets runs apart, in words: the settings that one has and the others have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ganboard.db.models import Run
from ganboard.gan.config import diff
from ganboard.gan.settings.metadata import about, affecting, all_defaults, all_settings
from ganboard.worker import formatting

NAMED = 3  # differing settings that a sentence can name
FEW = 4  # settings that are all named where no more vary
MANY = 6  # settings that are named of one of many runs


def choices(base: Run, other: Run) -> tuple[str, str]:
    """What sets `other` apart and what `base` has instead, as words; both empty where nothing does
    or too much to name."""
    differing = diff(base.config, other.config)
    # `fairness` speaks of the epochs
    known = [name for name in all_settings() if name in differing]
    unknown = sorted(differing.keys() - all_settings().keys())
    names = [name for name in (*known, *unknown) if about(name).affects == "weights"]
    names.sort(key=lambda name: not about(name).self_explanatory)
    if not 1 <= len(names) <= NAMED:
        return "", ""
    base_text, text = zip(
        *((choice(name, differing[name][0]), choice(name, differing[name][1])) for name in names),
        strict=True,
    )
    return _chain(text), _chain(base_text)


def choice(name: str, value: object) -> str:
    """A setting and its value as people say it: "mixed_bfloat16", "xla on", "batch_size 64"."""
    if about(name).self_explanatory and value is not None:
        return str(value)
    return (
        f"{name} {'on' if value else 'off'}"
        if isinstance(value, bool)
        else f"{name} {formatting.format_value(value)}"
    )


def _chain(text: tuple[str, ...]) -> str:
    return text[0] if len(text) == 1 else f"{text[0]} with {' and '.join(text[1:])}"


def varying(configs: Collection[Mapping[str, Any]]) -> list[str]:
    """The settings in which configurations differ, the seed and what is only recorded left out."""
    ignored = {"seed", *affecting("records")}
    return [
        name
        for name in all_defaults()
        if name not in ignored and _differ(config.get(name) for config in configs)
    ]


def _differ(values: Iterator[Any]) -> bool:
    first = next(values, None)
    return any(value != first for value in values)


def words(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What sets each of many configurations apart: the settings that vary if they are few, else
    those in which it is not like most. Empty where all are equal."""
    names = varying(configs.values())
    usual = {
        name: Counter(str(config.get(name)) for config in configs.values()).most_common(1)[0][0]
        for name in names
    }
    said: dict[tuple[str, str], str] = {}
    texts: dict[str, str] = {}  # each once: those of ten thousand runs would be 1 MB
    found = {}
    for key, config in configs.items():
        parts = []
        for name in names:
            if name not in config or (len(names) > FEW and str(config[name]) == usual[name]):
                continue
            value = (name, str(config[name]))
            if value not in said:
                said[value] = formatting.shorten(choice(name, config[name]), 40)
            parts.append(said[value])
        more = [f"and {len(parts) - MANY} more"] if len(parts) > MANY else []
        text = ", ".join(parts[:MANY] + more) or ("the most common settings" * bool(names))
        found[key] = texts.setdefault(text, text)
    return found
