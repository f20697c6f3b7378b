"""How a candidate talks to whoever measures it: JSON lines, so that it can run in another Python
that has none of our libraries.

It says when its first step is done and when it is warm. Then it sleeps on its standard input until
a line with a number of steps arrives, takes one step untimed, since other candidates have filled
the caches meanwhile, then so many more, and answers how long these took; the end of the input ends
it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

from ganboard.gan.devices.memory import peak_resident

WARM_UP_STEPS = 3  # after the first: libraries choose kernels and fill their pools with memory

# runs this number of steps, waits for the last, returns its losses of G and D
Take = Callable[[int], tuple[float, float]]


class Unavailable(Exception):
    """This machine or this Python lacks what the candidate needs; the message says it in a few
    words."""


@dataclass(frozen=True)
class Task:
    """The task of every candidate."""

    batch: int  # images of one step, over all replicas
    precision: str  # float32 or mixed_bfloat16
    images: str  # file of numpy.save: [N, 28, 28, 1] uint8
    form: str = ""  # for a module that has several
    settings: Mapping[str, Any] = field(default_factory=dict)  # a RunConfig, for our own trainer
    data_dir: str = ""  # where that finds its data set

    def encode(self) -> str:
        """The task as the argument of a candidate's program."""
        return json.dumps(asdict(self))


def serve(module: str, task: str) -> None:
    """Be the candidate of a `module`, whose `make` gives what takes its steps and the
    versions of what that is made with."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers

    def reply(**values: Any) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    try:
        make: Callable[[Task], tuple[Take, str]] = import_module(module).make
        take, version = make(Task(**json.loads(task)))
    except ModuleNotFoundError as absent:
        return reply(unavailable=f"not installed: pip install {absent.name}")
    except Unavailable as reason:
        return reply(unavailable=str(reason))
    take(1)
    reply(first_step=True)
    take(WARM_UP_STEPS)
    reply(version=version)
    for line in sys.stdin:
        take(1)
        began = time.perf_counter()
        g_loss, d_loss = take(int(line))
        seconds = time.perf_counter() - began
        reply(seconds=seconds, g_loss=g_loss, d_loss=d_loss, memory_bytes=peak_resident())
    return None
