"""What sets two runs apart, in words: the settings that one has and the other has not."""

from __future__ import annotations

from ganboard.app.run.records import format_value
from ganboard.db.models import Run
from ganboard.gan.config import diff
from ganboard.gan.settings.metadata import about, all_settings

NAMED = 3  # differing settings that a sentence can name


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
        else f"{name} {format_value(value)}"
    )


def _chain(text: tuple[str, ...]) -> str:
    return text[0] if len(text) == 1 else f"{text[0]} with {' and '.join(text[1:])}"
