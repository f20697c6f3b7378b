"""What a server knows of the REST API before it loads it: where it is, and who calls. FastAPI
comes with the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PATH = "/api/v1"
Scope = Literal["read", "write"]


@dataclass(frozen=True)
class Caller:
    """Somebody who may at least read."""

    who: str  # an e-mail address, an account of the machine, or what stands for many
    scope: Scope
    token_id: str | None = None
