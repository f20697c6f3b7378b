"""The pages that are generated from code, by their paths below docs/."""

from __future__ import annotations


def generated() -> dict[str, str]:
    """The Markdown of every generated page."""
    return {}
