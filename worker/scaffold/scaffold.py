"""A working model of one's own, as a folder to begin from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ganboard.gan.config import ConfigError
from ganboard.gan.settings import registry
from ganboard.gan.settings.making import valid_name


def model(name: str, parent: Path) -> Path:
    """Write a folder `name` in `parent` with a model of that name and its test; returns the folder.

    Raises ConfigError for a name that cannot be, or a folder that is there or cannot be written.
    """
    if not valid_name(name):
        raise ConfigError(
            f"{name[:60]!r} cannot be a model's name: use up to 40 small letters, digits and"
            " underscores, a letter first."
        )
    if name in registry.models():
        raise ConfigError(f"There already is a model called {name}: choose another name.")
    folder = parent / name
    try:
        folder.mkdir(parents=True)
        for template, target in (("model.txt", f"{name}.py"), ("test.txt", f"test_{name}.py")):
            text = (files(__package__) / template).read_text(encoding="utf-8")
            filled = text.replace("NAME", name).replace("FOLDER", name)
            (folder / target).write_text(filled, encoding="utf-8")
    except FileExistsError:
        raise ConfigError(f"{folder} exists already: choose another name or folder.") from None
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written ({error.strerror}): choose another folder."
        ) from None
    return folder
