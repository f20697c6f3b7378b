"""worker.process.machine and worker.queue.slots: one name per HOME, whoever asks; a copy of HOME
gets another."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from ganboard.db import heartbeats
from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from ganboard.worker.process import machine
from ganboard.worker.queue import slots

PROCESSES = 8
BEAT_SECONDS = 0.2


def copied(settings: Settings, name: str) -> Settings:
    """HOME as `cp -a` copies it."""
    home = settings.state.with_name(name)
    shutil.copytree(settings.state, home)
    return Settings(home=home)


def cloned(settings: Settings, name: str) -> Settings:
    """HOME as the clone of a disk has it: with the same inode numbers."""
    clone = copied(settings, name)
    path = clone.state / machine.FILE
    path.write_text(json.dumps({"name": machine.name(settings), "inode": path.stat().st_ino}))
    return clone


@contextmanager
def beating(context: Context, worker: str, machine_name: str, boot: str | None) -> Iterator[None]:
    """A worker that is alive somewhere."""
    ended = threading.Event()

    def beat() -> None:
        while True:
            heartbeats.record(
                context.engine,
                name=worker,
                host="box",
                pid=7,
                run_id=None,
                machine=machine_name,
                boot=boot,
            )
            if ended.wait(BEAT_SECONDS):
                return

    thread = threading.Thread(target=beat)
    heartbeats.record(
        context.engine, name=worker, host="box", pid=7, run_id=None, machine=machine_name, boot=boot
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _name(home: Path) -> str:
    return machine.name(Settings(home=home))


def test_a_machine_keeps_its_name_and_only_its_owner_reads_it(context: Context) -> None:
    name = machine.name(context.settings)
    assert re.fullmatch(re.escape(socket.gethostname()) + r"-[a-z2-9]{8}", name)
    assert machine.name(context.settings) == machine.recorded(context.settings) == name
    assert stat.S_IMODE((context.settings.state / machine.FILE).stat().st_mode) == 0o600


@pytest.mark.thorough
def test_processes_that_begin_at_once_agree(context: Context) -> None:
    with get_context("spawn").Pool(PROCESSES) as pool:
        assert len(set(pool.map(_name, [context.settings.state] * PROCESSES))) == 1


def test_a_renamed_home_keeps_its_name_and_a_copied_one_does_not(
    context: Context, tmp_path: Path
) -> None:
    name = machine.name(context.settings)
    copy = copied(context.settings, "copy")
    assert machine.recorded(copy) is None
    assert machine.name(copy) != name
    os.rename(context.settings.state, tmp_path / "renamed")
    assert machine.name(Settings(home=tmp_path / "renamed")) == name


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"name": "x"}', b'{"name": "x", "inode": "1"}', b"\xff"]
)
def test_a_damaged_file_is_made_anew(context: Context, content: bytes) -> None:
    path = context.settings.state / machine.FILE
    path.write_bytes(content)
    assert machine.recorded(context.settings) is None
    assert machine.name(context.settings) == machine.recorded(context.settings)


def test_a_file_that_cannot_be_read_now_is_left_alone(context: Context) -> None:
    path = context.settings.state / machine.FILE
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        machine.name(context.settings)


def test_workers_of_one_home_have_numbers(context: Context) -> None:
    prefix = f"{machine.name(context.settings)}:"
    first, held = slots.join(context.settings, context.engine)
    second, other = slots.join(context.settings, context.engine)
    assert (first, second) == (f"{prefix}1", f"{prefix}2")
    held.close()
    third, again = slots.join(context.settings, context.engine)
    assert third == first
    other.close()
    again.close()


def test_equal_host_names_give_different_workers(context: Context, tmp_path: Path) -> None:
    other = Settings(home=tmp_path / "other")
    other.prepare_home()
    one, held = slots.join(context.settings, context.engine)
    two, kept = slots.join(other, context.engine)
    assert one.partition("-")[0] == two.partition("-")[0]
    assert one != two
    held.close()
    kept.close()


def test_the_clone_of_a_disk_is_noticed_while_the_original_is_alive(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    original, held = slots.join(context.settings, context.engine)
    clone, name = cloned(context.settings, "clone"), machine.name(context.settings)
    assert machine.name(clone) == name
    with beating(context, original, name, boot="another kernel"):
        worker, slot = slots.join(clone, context.engine)
    assert machine.name(clone) != name
    assert worker == f"{machine.name(clone)}:1"
    assert (
        f"is a copy of one that is in use by worker {original} (process 7 on box)." in caplog.text
    )
    assert machine.name(context.settings) == name
    held.close()
    slot.close()


def test_hosts_that_share_home_are_one_machine(context: Context) -> None:
    """The worker of the other host holds its slot's lock, which all that share the folder see."""
    name = machine.name(context.settings)
    other, held = slots.join(context.settings, context.engine)
    with beating(context, other, name, boot="another kernel"):
        worker, slot = slots.join(context.settings, context.engine)
    assert machine.name(context.settings) == name
    assert worker == f"{name}:2"
    held.close()
    slot.close()


def test_a_worker_that_was_killed_here_is_no_other_machine(context: Context) -> None:
    name = machine.name(context.settings)
    heartbeats.record(
        context.engine,
        name=f"{name}:1",
        host="box",
        pid=7,
        run_id=None,
        machine=name,
        boot=machine.boot(),
    )
    assert machine.original(context.settings, context.engine) is None


def test_a_worker_that_died_with_its_kernel_is_watched_and_found_dead(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "WATCH_SECONDS", 0.5)
    name = machine.name(context.settings)
    heartbeats.record(
        context.engine,
        name=f"{name}:1",
        host="box",
        pid=7,
        run_id=None,
        machine=name,
        boot="another kernel",
    )
    assert machine.original(context.settings, context.engine) is None
    assert machine.name(context.settings) == name
