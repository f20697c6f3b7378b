"""Stored checkpoints, damaged in a thousand ways: each is detected and the one before is loaded, or
provably harmless.

python -m tests.crash.mutations [NUMBER] [SEED]
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from ganboard.gan.checkpoint import store
from ganboard.gan.events import Note
from tests.crash import power
from tests.recorder import Recorder

STEPS = (4, 8, 12)


def newest(directory: Path) -> Path:
    return directory / f"ckpt-{STEPS[-1]}-1"


def some_file(directory: Path, chance: random.Random) -> Path:
    return newest(directory) / chance.choice(["state.npz", "state.npz", "manifest.json"])


def bit_flip(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 2, 50])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncation(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    os.truncate(path, chance.randrange(path.stat().st_size))


def zero_length(directory: Path, chance: random.Random) -> None:
    os.truncate(some_file(directory, chance), 0)


def zeros(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data))
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    path.write_bytes(data)


def tail(directory: Path, chance: random.Random) -> None:
    with some_file(directory, chance).open("ab") as file:
        file.write(
            chance.choice(
                [
                    bytes(22),
                    chance.randbytes(chance.randrange(1, 900)),
                    b"PK\x05\x06" + bytes(18),
                    b"\n ",
                ]
            )
        )


def swapped_state(directory: Path, chance: random.Random) -> None:
    _swap(newest(directory) / "state.npz", _older(directory, chance) / "state.npz")


def stale_manifest(directory: Path, chance: random.Random) -> None:
    shutil.copy(_older(directory, chance) / "manifest.json", newest(directory) / "manifest.json")


def swapped_folders(directory: Path, chance: random.Random) -> None:
    _swap(newest(directory), _older(directory, chance))


def copy_under_a_newer_name(directory: Path, chance: random.Random) -> None:
    step = chance.choice([STEPS[-1] + chance.randrange(1, 99), STEPS[-1]])
    shutil.copytree(
        chance.choice([newest(directory), _older(directory, chance)]),
        directory / f"ckpt-{step}-{chance.randrange(2, 9)}",
    )


def foreign_configuration(directory: Path, chance: random.Random) -> None:
    _edit(newest(directory), config_hash=chance.choice(["d", "", None, 0, ["c"]]))


def odd_manifest(directory: Path, chance: random.Random) -> None:
    _edit(newest(directory), **chance.choice(ODD))


def missing_file(directory: Path, chance: random.Random) -> None:
    some_file(directory, chance).unlink()


def link(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    path.unlink()
    path.symlink_to(
        chance.choice(
            [_older(directory, chance) / path.name, Path("/dev/zero"), Path("/etc/hostname"), path]
        )
    )


def folder_link(directory: Path, chance: random.Random) -> None:
    shutil.rmtree(newest(directory))
    newest(directory).symlink_to(_older(directory, chance))


def pipe(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    path.unlink()
    os.mkfifo(path)


def folder_instead_of_file(directory: Path, chance: random.Random) -> None:
    path = some_file(directory, chance)
    path.unlink()
    path.mkdir()


def file_instead_of_folder(directory: Path, chance: random.Random) -> None:
    shutil.rmtree(newest(directory))
    newest(directory).write_bytes(chance.randbytes(99))


def further_file(directory: Path, chance: random.Random) -> None:
    (newest(directory) / chance.choice(["state.npz.bak", "x", ".nfs01"])).write_bytes(
        chance.randbytes(9)
    )


ODD: list[dict[str, object]] = [
    {"format": 2}, {"format": None}, {"step": 8}, {"step": "12"}, {"step": None}, {"attempt": 2},
    {"epoch": -1}, {"versions": []}, {"versions": None}, {"files": {}}, {"files": None},
    {"files": {"../ckpt-8-1/state.npz": {"sha256": "", "size": 0}}},
    {"files": {"state.npz": {"sha256": "0" * 64, "size": 1}}}, {"files": {"state.npz": []}},
]  # fmt: skip
MUTATIONS: tuple[Callable[[Path, random.Random], None], ...] = (
    bit_flip, bit_flip, bit_flip, truncation, truncation, zero_length, zeros, tail, swapped_state,
    stale_manifest, swapped_folders, copy_under_a_newer_name, foreign_configuration, odd_manifest,
    missing_file, link, folder_link, pipe, folder_instead_of_file, file_instead_of_folder,
    further_file,
)  # fmt: skip


def _older(directory: Path, chance: random.Random) -> Path:
    return directory / f"ckpt-{chance.choice(STEPS[:-1])}-1"


def _swap(one: Path, other: Path) -> None:
    aside = one.with_name("swap")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _edit(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def original(directory: Path) -> Path:
    for step in STEPS:
        store.save(directory, power.arrays(step), power.progress(step), digest="c", attempt=1)
    return directory


def intact(directory: Path, whole: Path) -> int:
    """The newest step whose folder is still as it was saved."""

    def same(one: Path, other: Path) -> bool:
        return one.is_file() and not one.is_symlink() and one.read_bytes() == other.read_bytes()

    names = [f"ckpt-{step}-1" for step in STEPS]
    return max(
        step
        for step, name in zip(STEPS, names, strict=True)
        if not (directory / name).is_symlink()
        and all(same(directory / name / file.name, file) for file in (whole / name).iterdir())
    )


def outcome(
    directory: Path,
    whole: Path,
    mutation: Callable[[Path, random.Random], None],
    chance: random.Random,
) -> str:
    """What became of one mutation: "harmless", "detected", or a sentence that says what is
    wrong."""
    mutation(directory, chance)
    best = intact(directory, whole)
    recorder = Recorder()
    loaded = store.load(directory, power.arrays(0), digest="c", sink=recorder)
    reported = any("set aside" in note.text for note in recorder.of(Note))
    if loaded is None:
        return f"{mutation.__name__}: nothing was loaded"
    arrays, progress = loaded
    step = progress.step
    wanted = (power._bytes(power.arrays(step)), power._bytes(power.progress(step).arrays()))
    if (power._bytes(arrays), power._bytes(progress.arrays())) != wanted:
        return f"{mutation.__name__}: other values were loaded for step {step}"
    if step < best or (step < STEPS[-1] and not reported):
        return (
            f"{mutation.__name__}: step {step} was loaded, {best} is"
            f" intact{'' if reported else '; nothing was logged'}"
        )
    return "detected" if reported else "harmless"


def try_all(number: int, seed: int) -> tuple[Counter[str], list[str]]:
    """(detected and harmless ones by mutation, sentences about the others)."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as name,
        patch.object(store, "versions", lambda: {"numpy": "2"}),
    ):
        whole, copy = original(Path(name) / "original"), Path(name) / "copy"
        for i in range(number):
            chance = random.Random(f"{seed} {i}")
            mutation = MUTATIONS[i % len(MUTATIONS)]
            shutil.copytree(whole, copy)
            result = outcome(copy, whole, mutation, chance)
            if result in ("detected", "harmless"):
                counts[f"{mutation.__name__}: {result}"] += 1
            else:
                wrong.append(f"{result} (mutation {i} of seed {seed})")
            shutil.rmtree(copy)
    return counts, wrong


def main(number: int = 1000, seed: int = 0) -> int:
    counts, wrong = try_all(number, seed)
    for words in ("detected", "harmless"):
        print(f"{sum(n for name, n in counts.items() if name.endswith(words))} {words}")
    print(
        f"{len(wrong)} wrong",
        *wrong[:20],
        *(f"  {name} {n}" for name, n in sorted(counts.items())),
        sep="\n",
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
