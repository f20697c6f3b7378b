"""The reference of environment variables, from the class that reads them."""

from __future__ import annotations

from docs.generator.markdown import code, table, text
from ganboard.db.settings import Settings
from ganboard.db.settings.sources import PREFIX

HEAD = """# Environment variables

Read when a process starts. `NAME_FILE` names a file that holds the value of `NAME`, so that no
secret is in the environment; it works for each variable of the first table. An empty variable
counts as not set.

"""
# read where there are no settings: by scripts, by the search for models, by one command
OTHERS = {
    "MODELS": "Files and folders with models of your own, separated by colons, for the dashboard"
    " and its workers (docs/models.md)",
    "URL": "Dashboard that `ganboard.start` reports to (docs/sdk.md)",
    "TOKEN": "The API_TOKEN of that dashboard; TOKEN_FILE names a file with it",
    "PEER_PYTHON": "Python of an environment with PyTorch or JAX, for `ganboard bench`",
}


def page() -> str:
    fields = Settings.model_fields.items()
    rows = [
        (code(PREFIX + name.upper()), text(str(field.description)), code(str(field.default or "")))
        for name, field in fields
    ]
    others = [(code(PREFIX + name), text(meaning)) for name, meaning in OTHERS.items()]
    return (
        HEAD
        + table(("variable", "meaning", "default"), rows)
        + "## Variables of single commands\n\n"
        + table(("variable", "meaning"), others)
    )
