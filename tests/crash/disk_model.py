"""A disk that may lose power at any moment: what is done to a folder is recorded, and every content
it may be left with is listed.

The model, which is as mean as POSIX allows:

- What `fsync` of a file has returned for is there. Bytes written since are lost, cut short, zeros,
miss single sectors, or are there.
- What `fsync` of a directory has returned for is there. Of the entries made, renamed and removed in
it since, any subset has happened:
  later ones without earlier ones, too, and a rename before the bytes of the file it names.
- One rename is atomic, and directories are independent: the flush of one says nothing about the one
above it, nor about its files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

SECTOR = 512
State = bytes | tuple[tuple[str, Any], ...]  # a file, or the sorted entries of a directory


@dataclass(eq=False)
class Node:
    """A file or a directory: what is flushed, and what was done since."""

    is_directory: bool
    data: bytes = b""
    unflushed: bytes | None = None
    entries: dict[str, Node] = field(default_factory=dict)
    # (what, name before, name after)
    changes: list[tuple[Node, str | None, str | None]] = field(default_factory=list)

    def now(
        self, names: dict[str, Node], changes: list[tuple[Node, str | None, str | None]]
    ) -> dict[str, Node]:
        """Entries after `changes` to `names`."""
        names = dict(names)
        for node, before, after in changes:
            if before is not None and names.get(before) is node:
                del names[before]
            if after is not None:
                names[after] = node
        return names

    def child(self, name: str) -> Node:
        return self.now(self.entries, self.changes)[name]

    def flush(self) -> None:
        self.entries, self.changes = self.now(self.entries, self.changes), []
        self.data, self.unflushed = self.data if self.unflushed is None else self.unflushed, None

    def states(self) -> set[State]:
        """All that a power cut at this moment may leave."""
        if not self.is_directory:
            return {self.data} if self.unflushed is None else set(torn(self.unflushed))
        found: set[State] = set()
        for kept in product((True, False), repeat=len(self.changes)):
            entries = self.now(
                self.entries,
                [change for change, keep in zip(self.changes, kept, strict=True) if keep],
            )
            names = sorted(entries)
            found.update(
                tuple(zip(names, states, strict=True))
                for states in product(*(entries[name].states() for name in names))
            )
        return found


def torn(data: bytes) -> Iterator[bytes]:
    """What may be there of bytes that were not flushed."""
    yield data
    for start in range(0, len(data), SECTOR):
        sector = data[start : start + SECTOR]
        yield data[:start]
        yield data[:start] + bytes(len(data) - start)
        yield data[:start] + bytes(len(sector)) + data[start + SECTOR :]


class Disk:
    """Records what is done below `root` while `recording`; `cut` is called after every operation
    with the root's states."""

    def __init__(self, root: Path, cut: Callable[[Node], None]) -> None:
        self._root, self._cut = root, cut
        self._top = Node(is_directory=True)
        self._written: dict[Node, Path] = {}  # files that may still be written to
        self.operations: list[str] = []

    def done(self, words: str) -> None:
        self.operations.append(words)
        self._cut(self._top)

    @contextmanager
    def recording(self) -> Iterator[None]:
        with (
            patch("os.mkdir", self._recorded(os.mkdir, self._mkdir)),
            patch("os.rename", self._recorded(os.rename, self._rename)),
            patch("os.unlink", self._recorded(os.unlink, self._remove)),
            patch("os.rmdir", self._recorded(os.rmdir, self._remove)),
            patch("os.fsync", self._fsync(os.fsync)),
            patch.object(Path, "open", self._open(Path.open)),
        ):
            yield

    def _inside(self, path: Any, dir_fd: int | None = None) -> Path | None:
        """Relative to the root; None for what lies elsewhere."""
        full = Path(os.readlink(f"/proc/self/fd/{dir_fd}") if dir_fd is not None else "/", path)
        return full.relative_to(self._root) if full.is_relative_to(self._root) else None

    def _node(self, path: Path) -> Node:
        node = self._top
        for name in path.parts:
            node = node.child(name)
        return node

    def _recorded(
        self, real: Callable[..., Any], record: Callable[..., None]
    ) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, dir_fd: int | None = None, **options: Any) -> Any:
            self._notice_writes()
            result = real(
                path, *arguments, **options, **({} if dir_fd is None else {"dir_fd": dir_fd})
            )
            inside = self._inside(path, dir_fd)
            if inside is not None:
                record(inside, *arguments)
                self.done(f"{real.__name__} {inside}")
            return result

        return call

    def _mkdir(self, path: Path, *_: Any) -> None:
        self._node(path.parent).changes.append((Node(is_directory=True), None, path.name))

    def _rename(self, path: Path, target: Any) -> None:
        assert Path(target).parent == self._root / path.parent, (
            "the model knows renames within a directory"
        )
        self._node(path.parent).changes.append((self._node(path), path.name, Path(target).name))
        self._written.clear()  # closed by now

    def _remove(self, path: Path) -> None:
        node = self._node(path)
        self._written.pop(node, None)
        self._node(path.parent).changes.append((node, path.name, None))

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def call(descriptor: int) -> None:
            self._notice_writes()
            real(descriptor)
            inside = self._inside(".", descriptor)
            if inside is not None:
                self._node(inside).flush()
                self.done(f"fsync {inside}")

        return call

    def _open(self, real: Callable[..., IO[Any]]) -> Callable[..., IO[Any]]:
        def call(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> IO[Any]:
            self._notice_writes()
            file = real(path, mode, *arguments, **options)
            inside = self._inside(path)
            if inside is not None and "w" in mode:
                node = Node(is_directory=False)
                self._node(inside.parent).changes.append((node, None, inside.name))
                self._written[node] = path
                self.done(f"create {inside}")
            return file

        return call

    def _notice_writes(self) -> None:
        for node, path in list(self._written.items()):
            try:
                with open(path, "rb") as file:  # Path.open is recorded
                    data = file.read()
            except FileNotFoundError:
                data = b""
            if data != (node.data if node.unflushed is None else node.unflushed):
                node.unflushed = data
                self.done(f"write {len(data)} bytes to {self._inside(path)}")


def materialise(state: State, path: Path) -> None:
    """Write a state to an empty place."""
    if isinstance(state, bytes):
        path.write_bytes(state)
        return
    path.mkdir()
    for name, inner in state:
        materialise(inner, path / name)
