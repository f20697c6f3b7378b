"""Types of the fields of imported documents, each with its limits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field


def _hex(text: Any) -> float:
    if not isinstance(text, str) or len(text) > 40:
        raise ValueError("it must be in the format of float.hex")
    try:
        return float.fromhex(text)
    except OverflowError:
        raise ValueError("it is too large for a number") from None


def _utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it is outside the years 1 to 9999") from None


Count = Annotated[int, Field(ge=0, le=2**53)]
Few = Annotated[int, Field(ge=0, le=10_000_000)]
Number = float | None  # JSON has neither NaN nor infinity: they are null
Hex = Annotated[float, BeforeValidator(_hex)]
Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
Short = Annotated[str, Field(max_length=200)]
Word = Annotated[str, Field(max_length=4000)]
Map = Annotated[dict[Annotated[str, Field(max_length=80)], Any], Field(max_length=500)]
Measures = Annotated[dict[Annotated[str, Field(max_length=80)], float], Field(max_length=200)]
Scalar = str | int | float | bool | None
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, lt=1e9, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[\w.-]{1,40}$")]
