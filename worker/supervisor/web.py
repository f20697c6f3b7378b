"""The dashboard as a service, and `python -m ganboard.worker.supervisor.web`: the dashboard in a
container, which ends when it hangs.

A container's restart policy looks at its process alone: it restarts what has ended, not what hangs.
So the process is a small one that starts the dashboard, kills it when it gives no answer, and ends
with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ganboard.worker.process.service import (
    FAILED_PROBES,
    PROBE_SECONDS,
    Health,
    Service,
    end_on_signal,
    say,
)

GRACE_SECONDS = 8.0  # Docker kills after 10
# glibc gives threads heaps of their own, eight for each core: with twenty tabs 35 MB more, for
# threads that Python lets run one at a time. What is large is returned when it is freed, also after
# something larger was (glibc would raise the threshold): 5 MB. Arrow's own pool keeps 7 MB that no
# table needs.
ALLOCATION = (
    "MALLOC_ARENA_MAX=2",
    "MALLOC_MMAP_THRESHOLD_=65536",
    "ARROW_DEFAULT_MEMORY_POOL=system",
)
COMMAND = ("env", *ALLOCATION, sys.executable, "-m", "ganboard.app.web.serve")
# addresses that mean all, and where to ask then
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def service(address: str, port: int, log: Path | None) -> Service:
    """The dashboard on an address; its log goes to a file, or to this process's standard output."""
    health = Health(EVERYWHERE.get(address, address), port, "/_stcore/health")

    def ready() -> str | None:
        return f"http://{address}:{port}" if health.answers(1.0) else None

    tied = (sys.executable, "-m", "ganboard.worker.process.exec_tied")
    command = [*tied, *COMMAND, "--port", str(port), "--address", address]
    return Service("web", command, log, ready, health)


def watch(web: Service, ending: Callable[[], bool]) -> int:
    """Serve until `ending`, which is no failure, or until the dashboard ends or hangs: the exit
    code."""
    web.start()
    while not ending():
        if reason := web.ended():
            assert web.process is not None
            say(f"ganboard: the dashboard {reason}.")
            code = web.process.returncode
            return code if code >= 0 else 128 - code
        time.sleep(0.1)
    web.end(GRACE_SECONDS)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ganboard.worker.supervisor.web",
        description="The ganboard dashboard; exits when it hangs",
    )
    parser.add_argument("--port", type=int, default=8501, help="TCP port, 1 to 65535")
    parser.add_argument(
        "--address", default="127.0.0.1", help="address to listen on; this machine only by default"
    )
    parser.add_argument(
        "--unanswered",
        type=float,
        default=FAILED_PROBES * PROBE_SECONDS,
        metavar="SECONDS",
        help="kill the dashboard if it does not respond for this long; default 30",
    )
    arguments = parser.parse_args()
    web = service(arguments.address, arguments.port, log=None)
    web.probe_seconds = arguments.unanswered / FAILED_PROBES
    return watch(web, end_on_signal())


if __name__ == "__main__":
    sys.exit(main())
