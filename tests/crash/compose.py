"""kill -9 of every service of docker-compose.yml, and a graceful restart of the worker, under one
training.

    python -m tests.crash.compose

Needs the services up (`docker compose up --wait`) on an engine of this machine. The run must end
finished, with the losses of one that nobody disturbed, to the bit. Prints how long each fault kept
the run from its next step.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any

from tests.polling import wait_until

SETTINGS = ("epochs=60", "limit=512", "grid_size=2", "batch_size=32")
VICTIMS = ("worker", "redis", "db", "web", "inference-worker")
SECONDS = 240.0


def compose(*arguments: str) -> str:
    return subprocess.run(
        ["docker", "compose", *arguments], check=True, capture_output=True, text=True
    ).stdout


def ganboard(*arguments: str) -> Any:
    """The JSON that the command prints inside the web's container, which never is a victim's child;
    None while that is away."""
    run = subprocess.run(
        ["docker", "compose", "exec", "-T", "web", "ganboard", *arguments, "--json"],
        capture_output=True,
        text=True,
    )
    return json.loads(run.stdout) if run.returncode == 0 else None


def submit(name: str) -> str:
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    run_id: str = ganboard("run", "--preset", "tiny", "--name", name, *sets)["id"]
    return run_id


def kill(service: str) -> None:
    """The first process of the container, from outside, so that its restart policy applies as after
    a crash."""
    container = compose("ps", "--quiet", service).strip()
    inspected = subprocess.run(
        ["docker", "inspect", "--format", "{{.State.Pid}}", container],
        check=True,
        capture_output=True,
        text=True,
    )
    os.kill(int(inspected.stdout), signal.SIGKILL)


def restart(service: str) -> None:
    compose("restart", service)


def place(run_id: str) -> tuple[int, int]:
    """Attempt and step, as far as they can be read now."""
    run = ganboard("show", run_id)
    return (0, 0) if run is None else (int(run["attempt"]), int(run["step"]))


def reaches(run_id: str, least: tuple[int, int]) -> bool:
    now = place(run_id)
    return now[0] >= least[0] and now[1] >= least[1]


def finished(run_id: str) -> Any:
    def ended() -> Any:
        run = ganboard("show", run_id)
        assert run is None or run["status"] not in ("failed", "stopped"), run["error"]
        return run if run and run["status"] == "finished" else None

    return wait_until(ended, seconds=900, every=1, what=f"the end of {run_id}")


def main() -> int:
    disturbed = submit("disturbed")
    wait_until(
        lambda: place(disturbed)[1] > 20, seconds=SECONDS, every=0.5, what="the first epochs"
    )
    for name, fault in [
        *((f"kill -9 {service}", (kill, service)) for service in VICTIMS),
        ("restart worker", (restart, "worker")),
    ]:
        (attempt, step), struck = place(disturbed), time.monotonic()
        fault[0](fault[1])
        # whoever kills the trainer waits for the next attempt
        least = attempt + (fault[1] == "worker"), step + 1
        wait_until(
            partial(reaches, disturbed, least),
            seconds=SECONDS,
            every=0.5,
            what=f"progress after {name}",
        )
        print(f"{name:<16} next step known after {time.monotonic() - struck:5.1f} s", flush=True)
    runs = [finished(disturbed), finished(submit("undisturbed"))]
    losses = [
        [(epoch["epoch"], epoch["g_loss_hex"], epoch["d_loss_hex"]) for epoch in run["epochs"]]
        for run in runs
    ]
    same = losses[0] == losses[1]
    print(
        f"{len(losses[0])} epochs in {runs[0]['attempt']} attempts, undisturbed {len(losses[1])}"
        f" epochs: {'equal' if same else 'DIFFERENT'}"
    )
    return not same


if __name__ == "__main__":
    sys.exit(main())
