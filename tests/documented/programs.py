"""Programs besides ganboard: the strongest check of a documented call that any machine can do."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from pip._internal.commands import create_command

from tests.documented.blocks import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
PROFILES = {name for service in SERVICES.values() for name in service.get("profiles", ())}
# options of each subcommand that the documentation may use; those with "=" take a value
COMPOSE = {
    "build": {"--pull", "--build-arg="},
    "cp": set(),
    "down": {"--volumes"},
    "exec": {"-T"},
    "pull": set(),
    "restart": set(),
    "run": {"-T", "--rm", "--no-deps"},
    "up": {"--detach", "--wait", "--scale="},
}
Words = Sequence[str]
BIN = Path(sys.executable).parent


def make(words: Words) -> None:
    """The target is there, and make knows what to do for it."""
    command = ["make", "--dry-run", *words[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def docker(words: Words) -> Words:
    """Profiles, services and subcommands are there; returns what is called in a container."""
    if words[1] != "compose":
        assert words[1] in ("pause", "push", "stop", "tag")
        return ()
    rest = list(words[2:])
    if rest[:1] == ["--profile"]:
        assert rest[1] in PROFILES
        rest = rest[2:]
    if not rest:
        return ()
    options, rest = COMPOSE[rest[0]], rest[1:]
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if f"{option}=" in options:
            value = rest.pop(0)
            assert option != "--scale" or value.split("=")[0] in SERVICES, value
        else:
            assert option in options, option
    named = [word.split(":")[0] for word in rest[:1] if word != "-"]
    assert set(named) <= set(SERVICES), named
    return rest[1:]


BESIDE = ("plotly", "tensorboard", "tensorboard-plugin-profile")  # of other makers


def pip(words: Words) -> None:
    """pip has the options; packages are ganboard with extras that there are, those BESIDE it, or
    pinned in a file that there is."""
    if words[1] == "index":
        create_command("index").parse_args(list(words[2:]))
        return
    options, names = create_command(words[1]).parse_args(list(words[2:]))
    for name in names:
        requirement = Requirement(name)
        assert requirement.name in ("ganboard", *BESIDE)
        assert requirement.extras <= set(EXTRAS)
    for file in options.requirements:
        assert (ROOT / file).is_file(), file


def uv(words: Words) -> None:
    """uv has the subcommand and its options, and the files are there."""
    path = [word for word in words[1:3] if not word.startswith("-")]
    text = subprocess.run([BIN / "uv", "help", *path], capture_output=True, text=True).stdout
    assert text
    for word in words[1:]:
        assert not word.startswith("-") or word in text.replace(",", " ").split(), word
        assert not word.endswith(".lock") or (ROOT / word).is_file()


def python(words: Words) -> None:
    """The module or the file is there, and is Python."""
    if words[1] == "-m":
        assert importlib.util.find_spec(words[2]), words[2]
    elif not words[1].startswith("-") and "/" in words[1]:
        compile((ROOT / words[1]).read_text(), words[1], "exec")


def pytest(words: Words) -> None:
    """The files are there, and the environment has the program."""
    for word in words[1:]:
        assert not word.startswith("tests/") or list(ROOT.glob(word)), word


CHECKS: dict[str, Callable[[Words], Words | None]] = {
    "make": make, "docker": docker, "pip": pip, "uv": uv, "python": python, "pytest": pytest
}  # fmt: skip
