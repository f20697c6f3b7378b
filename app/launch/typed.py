"""Whole numbers that people type into a text field, for what a click starts.

`st.number_input` keeps what it cannot take from the server, which would go on with the value
before. A text field reports what was typed, so it can be refused.
"""

from __future__ import annotations

from ganboard.gan.config import ConfigError


def whole(label: str, typed: str, low: int, high: int) -> int:
    """The number of a field. Raises ConfigError with the field, the value and the limits."""
    number: int | None
    try:
        number = int(typed)
    except ValueError:
        number = None
    if number is None or not low <= number <= high:
        what = repr(typed[:40]) if typed.strip() else "nothing"
        raise ConfigError(
            f"{label}: {what} was typed. Type a whole number, at least {low:,} and at most"
            f" {high:,}."
        )
    return number
