"""Reading the log of a run, however large it is: its end, and the lines that contain some text."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ganboard.worker.logs import as_text
from ganboard.worker.safe_files import open_inside

LINES = 500  # that are shown
_TAIL = 64 * 1024  # bytes that are read for the end of a log
_CHUNK = 1 << 20  # bytes that are searched at a time
# what C++ libraries report at level INFO, such as that oneDNN is on, and the line before it
_NOTICE = re.compile(
    r"I\d{4} \d\d:\d\d:\d+\.\d+ +\d+ [\w./-]+:\d+\] |WARNING: All log messages before absl::"
)
# colours of terminals, and what no page can show
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Tail:
    """The end of a log."""

    lines: list[str]
    whole: bool  # nothing stands before them
    notices: int  # of libraries, which are left out


def size(path: Path) -> int | None:
    """Bytes of a log; None when there is none."""
    try:
        with open_inside(path.parent, path.name) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return None


def tail(path: Path, *, end: int | None = None) -> Tail | None:
    """The last LINES lines, of at most 64 KiB, before byte `end` or the end of the file; None when
    there is no file. A bar that redraws itself is one line."""
    try:
        with open_inside(path.parent, path.name) as file:
            last = file.seek(0, os.SEEK_END)
            last = last if end is None else min(last, end)
            first = max(0, last - _TAIL)
            file.seek(first)
            content = file.read(last - first)
    except FileNotFoundError:
        return None
    if first and b"\n" in content:  # not the half of a line
        content = content.partition(b"\n")[2]
    lines = [clean(line) for line in content.removesuffix(b"\n").split(b"\n")] if content else []
    own = [line for line in lines if not _NOTICE.match(line)]
    return Tail(own[-LINES:], not first and len(own) <= LINES, len(lines) - len(own))


def clean(line: bytes) -> str:
    """A line as a page can show it."""
    text = line.decode("utf-8", errors="replace").rstrip("\r").rpartition("\r")[2]
    return _CONTROL.sub("", as_text(text))


@dataclass
class Search:
    """The lines of a log that contain `text`, letters from A to Z in either case.

    `read_on` reads what was written since it was called last, so a log that grows is read once.
    """

    text: str
    count: int = 0
    _newest: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=LINES))
    _read: int = 0  # bytes of the whole lines that were searched
    _lines: int = 0  # number of them
    _last: bytes = b""  # the line that has no end yet

    def read_on(self, path: Path) -> None:
        """Search what is new; everything again if a shorter file is there."""
        try:
            with open_inside(path.parent, path.name) as file:
                if file.seek(0, os.SEEK_END) < self._read:
                    self._newest.clear()
                    self.count = self._read = self._lines = 0
                file.seek(self._read)
                for block in _whole_lines(file):
                    self._search(block)
                    self._read += len(block)
                file.seek(self._read)
                self._last = file.read(_CHUNK)
        except FileNotFoundError:
            pass

    def found(self) -> list[tuple[int, str]]:
        """Number, from 1, and text of the last LINES lines that contain it."""
        found = [*self._newest]
        if self._in_last():
            found.append((self._lines + 1, self._last))
        return [(number, clean(line)) for number, line in found[-LINES:]]

    def total(self) -> int:
        """How many lines contain it."""
        return self.count + self._in_last()

    def _in_last(self) -> bool:
        return self.text.encode().lower() in self._last.lower()

    def _search(self, block: bytes) -> None:
        sought = self.text.encode().lower()
        lowered = block.lower()
        counted = 0  # bytes whose lines are in `number`
        number = self._lines + 1
        at = lowered.find(sought)
        while at >= 0:
            start = lowered.rfind(b"\n", 0, at) + 1
            end = lowered.find(b"\n", at)
            end = len(block) if end < 0 else end
            number += lowered.count(b"\n", counted, start)
            counted = start
            self.count += 1
            self._newest.append((number, block[start:end]))
            at = lowered.find(sought, end)
        self._lines += lowered.count(b"\n")


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file in blocks that end where lines end, but not what follows the last end. A
    line that fills a block is cut."""
    rest = b""
    while chunk := file.read(_CHUNK):
        block, end, after = chunk.rpartition(b"\n")
        if end:
            yield rest + block + end
            rest = after
        elif len(rest) + len(chunk) > _CHUNK:
            yield rest + chunk
            rest = b""
        else:
            rest += chunk
