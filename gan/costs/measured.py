"""What the networks of a model of one file cost, read off the networks themselves, layer by layer:
by a process of its own that may import TensorFlow, and kept by what the networks depend on. Free of
TensorFlow."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from ganboard.gan import files
from ganboard.gan.config import RunConfig, identity
from ganboard.gan.costs.layer import LayerCost
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import fields_by_group

Layers = tuple[LayerCost, ...]

_SHAPING = ("Data", "Model", "Training")  # groups of settings that networks may depend on
_SECONDS = 180.0
_LOCK = threading.Lock()
_KNOWN: dict[str, tuple[Layers, Layers]] = {}
_RUNNING: dict[str, RunConfig] = {}
_WORKING = threading.Lock()  # one process at a time, which imports TensorFlow once for all
_FAILED: dict[str, str] = {}
_FOLDER: list[Path] = []


def keep_in(folder: Path) -> None:
    """Where results are kept for other processes and later."""
    _FOLDER[:] = [folder]


def layers(config: RunConfig, *, wait: bool = False) -> tuple[Layers, Layers] | None:
    """Those of G and of D; None while they are not known: the first who asks has them measured in
    the background, or with `wait` now. What fails is tried again with `wait` alone."""
    key = _key(config)
    with _LOCK:
        if key not in _KNOWN and (found := _stored(key)) is not None:
            _KNOWN[key] = found
        if key in _KNOWN:
            return _KNOWN[key]
        if not wait and (key in _RUNNING or key in _FAILED):
            return None
        _RUNNING[key] = config
    if wait:
        _measure(key)
        return _KNOWN.get(key)
    threading.Thread(target=_measure, args=(key,), daemon=True).start()
    return None


def problem(config: RunConfig) -> str:
    """Why the networks could not be measured, in a sentence; empty where nothing failed."""
    return _FAILED.get(_key(config), "")


def put(config: RunConfig, found: tuple[Layers, Layers]) -> None:
    """Keep what a process that has the networks read off them."""
    key = _key(config)
    _KNOWN[key] = found
    if _FOLDER:
        document = json.dumps([[asdict(layer) for layer in net] for net in found])
        try:
            _FOLDER[0].mkdir(parents=True, exist_ok=True)
            with files.whole_file(_place(key), durable=False) as file:
                file.write(document.encode())
        except OSError:  # it is measured again next time
            return


def _measure(key: str) -> None:
    """Measure this one, and with it whatever waits for the process that runs now."""
    with _WORKING:
        with _LOCK:
            asked = dict(_RUNNING) if key in _RUNNING else {}
        if not asked:
            return
        failures = _ask(list(asked.values()))
        with _LOCK:
            for one, failure in zip(asked, failures, strict=True):
                _RUNNING.pop(one, None)
                _FAILED.pop(one, None)
                if failure:
                    _FAILED[one] = failure


def _ask(configs: list[RunConfig]) -> list[str]:
    """Have another process measure their networks; for each why it could not, in a sentence."""
    if not _has_tensorflow():  # the dashboard's image
        return ["The networks are measured when the model is first trained."] * len(configs)
    command = [sys.executable, "-m", "ganboard.gan.one_file.measure"]
    try:
        done = subprocess.run(
            command,
            input="".join(f"{config.model_dump_json()}\n" for config in configs),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [f"The networks were not built within {_SECONDS:.0f} s."] * len(configs)
    answers = done.stdout.splitlines()[-len(configs) :]
    if done.returncode or len(answers) < len(configs):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return [f"The networks could not be built: {last[:300]}"] * len(configs)
    return [_take(*one) for one in zip(configs, map(json.loads, answers), strict=True)]


def _take(config: RunConfig, answer: Any) -> str:
    if isinstance(answer, str):
        return f"The networks could not be built: {answer[:300]}"
    put(config, _read(answer))
    return ""


@cache
def _has_tensorflow() -> bool:
    from importlib.util import find_spec

    return find_spec("tensorflow") is not None


def _stored(key: str) -> tuple[Layers, Layers] | None:
    if not _FOLDER:
        return None
    try:
        return _read(json.loads(_place(key).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _read(document: Any) -> tuple[Layers, Layers]:
    g, d = (tuple(LayerCost(**layer) for layer in net) for net in document)
    return g, d


def _place(key: str) -> Path:
    return _FOLDER[0] / f"{key}.json"


def _key(config: RunConfig) -> str:
    """Digest of what the networks may depend on, the model's source included."""
    groups = fields_by_group(vars(config))
    names = [name for group in _SHAPING for name in groups[group]]
    unrelated = {"images_path", "limit", "epochs", "seed", "batch_size", "accumulate"}
    shaping = identity(config, set(names) - unrelated)
    said = json.dumps([registry.of(config).source, shaping], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
