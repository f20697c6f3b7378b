"""The commands that models add: `COMMANDS` in `worker/models/<name>/commands.py`.

They are found by folder: reading the models' specifications would double the time of `--help`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

PACKAGE = "ganboard.worker.models"  # imported by name, since its commands import worker.cli


def commands(group: str = "") -> Iterator[Callable[..., None]]:
    """The commands of all models in a group, such as `data`; without one, those of `ganboard`
    itself."""
    for folder in iter_modules(import_module(PACKAGE).__path__, f"{PACKAGE}."):
        name = f"{folder.name}.commands"
        if find_spec(name):
            yield from import_module(name).COMMANDS.get(group, ())
