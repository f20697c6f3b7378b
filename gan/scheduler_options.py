"""What `scheduler_options` may hold, by scheduler: what places and limits a job. Free of
TensorFlow."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

SLURM = frozenset(
    [
        "account",
        "begin",
        "comment",
        "constraint",
        "cpus-per-task",
        "exclude",
        "exclusive",
        "gpus",
        "gpus-per-node",
        "gpus-per-task",
        "gres",
        "licenses",
        "mail-type",
        "mail-user",
        "mem",
        "mem-per-cpu",
        "mem-per-gpu",
        "nice",
        "nodelist",
        "partition",
        "qos",
        "reservation",
        "time",
    ]
)
KUBERNETES = frozenset({"cpus", "gpus", "memory", "namespace", "priority-class", "queue"})
_BARE = "exclusive"  # the only one that needs no value
_OPTION = re.compile(r"--(?P<name>[a-z-]+)(=(?P<value>.+))?", re.DOTALL)


class BadOption(ValueError):
    """An option that cannot be passed on; the message is one sentence with the remedy."""


def check(placement: str, text: str) -> None:
    """Raises BadOption for options that the scheduler of a placement does not have."""
    if placement == "slurm":
        slurm_options(text)
    elif placement == "kubernetes":
        kubernetes_options(text)


def slurm_options(text: str) -> list[str]:
    """The options of `sbatch` that these are. Raises BadOption: others could run programs or
    overwrite files."""
    return _words(text, SLURM)


def kubernetes_options(text: str) -> dict[str, str]:
    """The values by name. Raises BadOption."""
    pairs = (word.removeprefix("--").partition("=") for word in _words(text, KUBERNETES))
    return {name: value for name, _, value in pairs}


def _words(text: str, known: Collection[str]) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadOption(f"{text[:80]!r} cannot be read ({error})") from None
    for word in words:
        match = _OPTION.fullmatch(word)
        if (
            match is None
            or match["name"] not in known
            or not (match["value"] or match["name"] == _BARE)
            or not word.isprintable()
        ):
            raise BadOption(
                f"{word[:60]!r} is not allowed: use --name=value with one of"
                f" {', '.join(sorted(known))}"
            )
    return words
