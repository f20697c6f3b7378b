"""The pages that are generated from code, by their paths below docs/."""

from __future__ import annotations

from docs.generator import command_line, downloads, environment, settings


def generated() -> dict[str, str]:
    """The Markdown of every generated page."""
    return {
        "reference/settings.md": settings.page(),
        "reference/command-line.md": command_line.page(),
        "reference/environment.md": environment.page(),
        "reference/downloads.md": downloads.page(),
    }
