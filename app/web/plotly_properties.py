"""Plotly's table of properties, packed.

Plotly reads it with the first property that it checks, for Streamlit's theme, and keeps it: 10,118
dictionaries, 8 MB. It looks each up once, as what checks a property is kept beside it.
"""

from __future__ import annotations

import json
from typing import Any

from plotly.validator_cache import ValidatorCache


class Packed(dict[str, str]):
    """A table whose values are JSON until they are asked for: 3 MB."""

    def get(self, name: str, default: Any = None) -> Any:
        return json.loads(self[name]) if name in self else default


def pack() -> None:
    """Replace the table of this process by a packed one."""
    ValidatorCache.get_validator("layout", "width")  # reads the table
    read = ValidatorCache._json_cache
    ValidatorCache._json_cache = Packed({name: json.dumps(item) for name, item in read.items()})
