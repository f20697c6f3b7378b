"""Checkpoints and snapshots that somebody else wrote: set aside with a word or left alone, never a
crash, never a file elsewhere."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from ganboard.gan.checkpoint import reader, snapshots, store
from ganboard.gan.checkpoint.reader import CheckpointError
from ganboard.gan.devices.hardware import versions
from ganboard.gan.events import Note
from ganboard.gan.progress import Progress
from tests.fuzz.cases import fuzzed, refusal
from tests.fuzz.test_archives import CHANGES, Change, changed
from tests.recorder import Recorder
from tests.unit.gan.checkpoint.checkpoints import DIGEST, arrays, save

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["../x", "/etc/passwd", "state.npz", DIGEST]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.just("state.npz"), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["format", "step", "epoch", "config_hash", "versions", "files", "x"])


def load(directory: Path, expected: Any = None) -> list[str]:
    """The warnings of a load; whatever it returns is sound."""
    recorder = Recorder()
    found = store.load(directory, expected or arrays(), digest=DIGEST, sink=recorder)
    if found is not None:
        loaded, progress = found
        assert set(loaded) == set(arrays())
        assert isinstance(progress.step, int)
    said = [event.text for event in recorder.events if isinstance(event, Note)]
    assert all(len(text) < 1000 and "\n" not in text for text in said)
    return said


def restated(folder: Path, state: bytes | None = None, **changes: Any) -> None:
    """Write another state, and a manifest that agrees with it but for the changes, as somebody
    would who knows the format."""
    if state is not None:
        (folder / "state.npz").write_bytes(state)
    data = (folder / "state.npz").read_bytes()
    files = {"state.npz": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}}
    manifest = {
        "format": 1,
        "step": 5,
        "epoch": 2,
        "config_hash": DIGEST,
        "versions": versions(),
        "files": files,
    }
    (folder / "manifest.json").write_text(json.dumps({**manifest, **changes}))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints"


def laid(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    return save(directory)


@fuzzed(4, changes=st.dictionaries(KEYS, JSON, max_size=3), left_out=st.sets(KEYS, max_size=1))
def test_any_manifest_is_believed_or_set_aside(
    fresh: Path, changes: dict[str, Any], left_out: set[str]
) -> None:
    folder = laid(fresh)
    restated(folder, **changes)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(
        json.dumps({name: value for name, value in manifest.items() if name not in left_out})
    )
    refusal(CheckpointError, reader.part, fresh, 5, "generator/")
    load(fresh)
    assert [path.name for path in fresh.parent.iterdir()] == ["checkpoints"]


@fuzzed(4, value=JSON | st.binary(max_size=30))
def test_a_manifest_of_any_content(fresh: Path, value: Any) -> None:
    folder = laid(fresh)
    (folder / "manifest.json").write_bytes(
        value if isinstance(value, bytes) else json.dumps(value).encode()
    )
    refusal(CheckpointError, reader.part, fresh, 5, "generator/")
    load(fresh)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000, '{"files":' * 5000 + "1" + "}" * 5000, '{"format": ' + "9" * 6000 + "}",
        "NaN", '"x"', "\ufeff{}",
        '{"format": 1, "config_hash": "x"' + "".join(f', "{n}": 1' for n in range(1_000_000)) + "}",
    ],
    ids=["deep list", "deep object", "long number", "NaN", "text", "mark", "a million entries"],
)  # fmt: skip
def test_hostile_manifests(fresh: Path, text: str) -> None:
    save(fresh, step=3)
    folder = save(fresh, step=5)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    assert refusal(CheckpointError, reader.part, fresh, 5, "generator/")
    assert load(fresh)
    assert reader.newest(fresh) == fresh / "ckpt-3-1"


@fuzzed(4, changes=CHANGES)
def test_a_state_whose_digest_is_right_and_whose_content_is_not(
    fresh: Path, changes: list[Change]
) -> None:
    folder = laid(fresh)
    restated(folder, changed((folder / "state.npz").read_bytes(), changes))
    refusal(CheckpointError, reader.part, fresh, 5, "generator/")
    load(fresh)


@fuzzed(
    4,
    spoiled=st.dictionaries(
        st.sampled_from(
            [
                *(f"progress/{name}" for name in vars(Progress())),
                "generator/dense/kernel",
                "x",
                "../x",
                "progress/x",
            ]
        ),
        st.sampled_from(
            [1, 1.5, -1, np.nan, 2**70, "text", True, [], [1, 2], [[np.nan]], 1j, b"x"]
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_arrays_of_other_shapes_and_names(fresh: Path, spoiled: dict[str, Any]) -> None:
    folder = laid(fresh)
    with np.load(folder / "state.npz") as file:
        held: dict[str, Any] = dict(file)
    buffer = io.BytesIO()
    np.savez(buffer, **{**held, **{name: np.asarray(value) for name, value in spoiled.items()}})
    restated(folder, buffer.getvalue())
    load(fresh)


@fuzzed(
    4,
    name=st.from_regex(r"(ckpt|aside|snap)-[0-9x\u0661/.-]{0,30}", fullmatch=True).filter(
        lambda name: "/" not in name
    )
    | st.just("ckpt-" + "9" * 200 + "-1"),
)
def test_names_of_folders(fresh: Path, name: str) -> None:
    laid(fresh)
    (fresh / name).mkdir(exist_ok=True)
    load(fresh)
    reader.newest(fresh)


@fuzzed(
    4,
    changes=CHANGES,
    name=st.sampled_from(
        [
            "epoch-1.npz",
            "epoch-\u0661.npz",
            "epoch-.npz",
            "epoch--1.npz",
            "epoch-" + "9" * 100 + ".npz",
        ]
    ),
)
def test_snapshots_are_read_or_left_out(tmp_path: Path, changes: list[Change], name: str) -> None:
    folder = tmp_path / "snapshots"
    shutil.rmtree(folder, ignore_errors=True)
    snapshots.save(folder, 1, [[np.ones((3, 2), np.float32)], [np.ones(4, np.float32)]])
    data = changed((folder / "epoch-1.npz").read_bytes(), changes)
    (folder / name).write_bytes(data)
    for epoch in snapshots.epochs(folder):
        found = snapshots.load(folder, epoch, "g", [(3, 2)])
        assert found is None or (found[0].shape == (3, 2) and np.isfinite(found[0]).all())
