"""Numbers from text fields, for actions started by a click.

`st.number_input` does not send invalid input to the server, which continues with the previous
value. A text field returns the text as typed, so it can be rejected.
"""

from __future__ import annotations

import math

from ganboard.gan.config import ConfigError


def whole(label: str, typed: str, low: int, high: int) -> int:
    """The number of a field. Raises ConfigError with the field, the value and the limits."""
    number: int | None
    try:
        number = int(typed)
    except ValueError:
        number = None
    if number is None or not low <= number <= high:
        what = repr(typed.strip()[:40])
        raise ConfigError(
            f"{label}: {what} is invalid. Enter a whole number from {low:,} to {high:,}."
        )
    return number


def number(label: str, typed: str, low: float, high: float) -> float:
    """The number of a field. Raises ConfigError with the field, the value and the limits."""
    try:
        found = float(typed)
    except ValueError:
        found = math.nan
    if not low <= found <= high:
        what = repr(typed.strip()[:40])
        raise ConfigError(f"{label}: {what} is invalid. Enter a number from {low:,g} to {high:,g}.")
    return found
