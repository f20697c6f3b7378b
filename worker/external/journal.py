"""A file that keeps what could not be delivered; `ganboard import` reads it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from ganboard.worker.external.values import StartError

SUFFIX = ".ganboard.jsonl"


class Journal:
    """One line for the start of the run, then one for each report. The file is made with the first
    line."""

    def __init__(self, place: Path, start: dict[str, Any]) -> None:
        folder = place.is_dir() or (not place.suffix and not place.exists())
        self.path = (place / f"run-{start['id']}{SUFFIX}" if folder else place).absolute()
        self._start = start
        self._begun = False

    def add(self, report: dict[str, Any]) -> None:
        """Raises OSError."""
        if not self._begun:
            self.create()
        self._write("ab", {"report": report})

    def create(self) -> None:
        """Raises OSError, and StartError when the file holds another run."""
        if self.path.exists():
            raise StartError(f"{self.path} exists already: choose another file.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write("xb", {"start": self._start})
        self._begun = True

    def remove(self) -> None:
        """All of it was delivered after all."""
        with suppress(OSError):
            if self._begun:
                self.path.unlink()
        self._begun = False

    def _write(self, mode: str, document: dict[str, Any]) -> None:
        with self.path.open(mode) as file:
            file.write(orjson.dumps(document) + b"\n")
