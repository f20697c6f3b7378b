"""The trainer process: `python -m worker.trainer RUN_ID ATTEMPT`. The only place outside `gan` where TensorFlow comes to life."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from db import commands, queries
from db.engine import make_engine
from db.errors import LeaseLost
from db.settings import Settings
from gan.config import parse
from gan.events import Phase, Sink, Verdict
from worker.context import Context
from worker.errors import CLEAR_ERRORS
from worker.lease import EXIT_LEASE_LOST, Lease
from worker.lifeline import die_with_named_parent
from worker.sinks import Both, DbSink


def train_attempt(context: Context, run_id: str, attempt: int, *, interrupt: Verdict, also: Sink | None = None) -> str:
    """Train a claimed run to its end; returns its final status. SIGTERM and Ctrl-C ask for `interrupt` ("suspend" or "stop")."""
    run = queries.get_run(context.engine, run_id)
    assert run is not None, "a claimed run has a row"
    lease = Lease(context.engine, run_id, attempt)
    lease.start()
    error = None
    try:
        with _signals() as interrupted:
            config = parse(run.config)
            sink: Sink = DbSink(context.engine, run_id, attempt, config)
            sink = Both(sink, also) if also else sink
            sink(Phase("importing"))
            from gan.loop import train

            def control() -> Verdict:
                return interrupt if interrupted.is_set() else "stop" if lease.stop_requested else "go"

            settings = context.settings
            run_dir = settings.run_dir(run_id)
            status: str = train(config, run_dir=run_dir, data_dir=settings.data, attempt=attempt, sink=sink, control=control)
    except LeaseLost:
        raise
    except CLEAR_ERRORS as clear:
        status, error = "failed", str(clear)
    except MemoryError:
        status, error = "failed", "Memory ran out: lower batch_size, then clone the run."
    except Exception as defect:  # the last line of defence: the run must end in words, and the log keeps the rest
        traceback.print_exc()
        status, error = "failed", _in_words(defect)
    lease.release()
    return commands.finish(context.engine, run_id=run_id, attempt=attempt, status=status, error=error)


def train_in_process(context: Context, run_id: str, *, on_event: Sink | None = None) -> str:
    """`ganboard train`: claim and train in this process, without Redis. Returns the final status. Raises LeaseLost if it is taken."""
    claim = commands.claim(context.engine, run_id=run_id, worker=f"{socket.gethostname()}:train-{os.getpid()}")
    if claim is None:
        raise LeaseLost(f"Run {run_id} cannot be started: another worker has it, or it has ended.")
    return train_attempt(context, run_id, claim.attempt, interrupt="stop", also=on_event)


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, instead of what they do otherwise."""
    interrupted = threading.Event()
    before = {sig: signal.signal(sig, lambda *_: interrupted.set()) for sig in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield interrupted
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _in_words(defect: Exception) -> str:
    if type(defect).__name__ == "ResourceExhaustedError":
        return "The device's memory ran out: lower batch_size, then clone the run."
    first_line = (str(defect).strip().splitlines() or [""])[0][:300]
    return f"The trainer failed with {type(defect).__name__}: {first_line} The log has the details."


def main() -> int:
    die_with_named_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run_id, attempt = sys.argv[1], int(sys.argv[2])
    settings = Settings()
    try:
        status = train_attempt(Context(settings, make_engine(settings.database)), run_id, attempt, interrupt="suspend")
    except LeaseLost as error:
        logging.warning("%s Ending.", error)
        return EXIT_LEASE_LOST
    logging.info("Run %s attempt %d: %s", run_id, attempt, status)
    return 0


if __name__ == "__main__":
    sys.exit(main())
