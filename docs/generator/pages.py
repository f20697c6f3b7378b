"""The pages that are generated from code, by their paths below docs/."""

from __future__ import annotations

from docs.generator import command_line, downloads, environment, settings
from docs.generator.rest_api import openapi_page
from ganboard.worker.api import application


def generated() -> dict[str, str]:
    """The Markdown of every generated page; the index of the reference lists all that are below
    reference/."""
    return {
        "reference/settings.md": settings.page(),
        "reference/command-line.md": command_line.page(),
        "reference/environment.md": environment.page(),
        "reference/downloads.md": downloads.page(),
        "reference/rest-api.md": openapi_page(application.document()),
    }
