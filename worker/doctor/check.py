"""A finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One finding; `remedy` says what to do unless all is well."""

    name: str
    status: Status
    text: str
    remedy: str = ""
