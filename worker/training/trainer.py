"""The trainer process: `python -m ganboard.worker.training.trainer RUN_ID ATTEMPT VERDICT`. The
only place outside `gan` where TensorFlow comes to life.

VERDICT is what SIGTERM means: suspend or stop. With strategy=multi_worker several of these
processes train one run. Rank 0 owns it: it alone holds the lease and writes. The others follow it
and say in the log what goes wrong with them.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import cast

from ganboard.db.engine import make_engine
from ganboard.db.errors import LeaseLost
from ganboard.db.models import Run
from ganboard.db.placement import groups
from ganboard.db.runs import commands, queries
from ganboard.db.settings import Settings
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.distributed import cluster
from ganboard.gan.events import Control, ControlSignal, Event, Note, Phase, Sink, TrainingFailed
from ganboard.gan.settings import registry
from ganboard.worker import logs, placement
from ganboard.worker.artifacts import picture_caches, transfers
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.process import machine
from ganboard.worker.process.parent_death import die_with_named_parent
from ganboard.worker.telemetry import recording
from ganboard.worker.tensorboard import installed
from ganboard.worker.training import worker_group
from ganboard.worker.training.db_sink import DbSink, Sinks
from ganboard.worker.training.lease import EXIT_LEASE_LOST, Lease
from ganboard.worker.training.process_group import EXIT_ERROR, EXIT_HANGS, EXIT_PARTNER
from ganboard.worker.training.retry import DatabaseUnavailable, retry_while_unavailable
from ganboard.worker.training.run_log import RunLog
from ganboard.worker.training.worker_group import MEMBER

_SHRUNK = (
    "Machines were lost: this attempt trains with {now.replicas} replicas on {now.hosts} machines"
    " instead of {whole.replicas} on {whole.hosts}, at the same global batch. Its losses are those"
    " of replicas={now.replicas}."
)
# TensorFlow's words for a collective that lost a process, or a connection
_PARTNER_LOST = {"AbortedError", "CancelledError", "DeadlineExceededError", "UnavailableError"}
_COLLECTIVE_LOST = "Collective ops is aborted"


def train_attempt(
    context: Context,
    run_id: str,
    attempt: int,
    *,
    interrupt: ControlSignal,
    held: bool = False,
    also: Sink | None = None,
) -> str:
    """Train a claimed run to its end; returns its final status. SIGTERM and Ctrl-C ask for
    `interrupt` ("suspend" or "stop").

    `held`: a work-horse renews the lease until TensorFlow is loaded.
    """
    lease = Lease(context.engine, run_id, attempt)
    if not held:
        lease.start()
    with recording.of_training(context, run_id, attempt) as spans, _signals() as interrupted:

        def control() -> ControlSignal:
            return interrupt if interrupted.is_set() else "stop" if lease.stop_requested else "go"

        @contextmanager
        def make_sink(run: Run, config: RunConfig) -> Iterator[Sink]:
            here = machine.name(context.settings)
            with ExitStack() as stack:
                sink = stack.enter_context(
                    DbSink(
                        context.engine, run_id, attempt, config, interrupted.is_set, machine=here
                    )
                )
                sinks: list[Sink] = [sink, RunLog(config)]
                if config.tensorboard:
                    installed.require()
                    from ganboard.worker.tensorboard.live import EventFiles

                    folder = context.settings.run_dir(run_id)
                    sinks.append(stack.enter_context(EventFiles(folder, run, config, sink)))
                if spans is not None:
                    sinks.append(spans)
                stored = Sinks(*sinks)

                def store(event: Event) -> None:
                    lease.take_over(event)
                    stored(event)
                    if event == Phase("importing"):
                        sink.flush()  # no write may be pending then: see worker/training/start.py

                yield Sinks(store, also) if also else store

        status, error = _train(context, run_id, attempt, make_sink, control)
        lease.release()
        finish = partial(commands.finish, context.engine, run_id=run_id, attempt=attempt)
        status = retry_while_unavailable(partial(finish, status=status, error=error))
    level = logging.ERROR if status == "failed" else logging.INFO
    because = f": {error}" if error else ""
    logging.log(level, "Run %s attempt %d: %s%s", run_id, attempt, status, because)
    return status


def follow_attempt(context: Context, run_id: str, attempt: int) -> int:
    """A process that is not rank 0: take part in the attempt and write nothing but the log. Returns
    the exit code."""

    def log(event: Event) -> None:
        if isinstance(event, Note) and event.level != "info":
            logging.warning("Rank %d: %s", cluster.rank(), event.text)

    with _signals():  # rank 0 receives them, and all end together
        _, error = _train(context, run_id, attempt, lambda *_: nullcontext(log), lambda: "go")
    if error is None:
        return 0
    logging.error("Rank %d: %s", cluster.rank(), error)
    if index := os.environ.get(MEMBER):
        _report_failure(context, run_id, attempt, int(index), error)
    return EXIT_ERROR


def _report_failure(context: Context, run_id: str, attempt: int, index: int, error: str) -> None:
    """To the leader of the group, on another machine: the next attempt would fail alike."""
    members = retry_while_unavailable(partial(groups.members, context.engine, run_id))
    own = next((one for one in members if (one.index, one.attempt) == (index, attempt)), None)
    if own is not None:
        failure = f"{worker_group.place(own)}: {error}"
        report = partial(groups.report, context.engine, own, failure=failure, final=True)
        retry_while_unavailable(report)


def _train(
    context: Context,
    run_id: str,
    attempt: int,
    make_sink: Callable[[Run, RunConfig], AbstractContextManager[Sink]],
    control: Control,
) -> tuple[str, str | None]:
    """The outcome, or "failed" and why. Raises LeaseLost and DatabaseUnavailable, and SystemExit
    when another process of the run is gone."""
    run = retry_while_unavailable(partial(queries.get_run, context.engine, run_id))
    assert run is not None, "a claimed run has a row"
    try:
        whole = parse(run.config)
        config = _shrunk(whole)
        registry.check_source(config, run.facts, run.id)
        with make_sink(run, config) as sink:
            sink(Phase("importing"))
            if config is not whole:
                sink(Note("warning", _SHRUNK.format(whole=whole, now=config)))
            if config.start_from:
                transfers.ensure(context, config.start_from)
            picture_caches.offer(context)
            from ganboard.gan.training.loop import train

            settings = context.settings
            places = {
                "run_dir": settings.run_dir(run_id),
                "data_dir": settings.data,
                "cache_dir": settings.state / "quality",
            }
            return (
                train(
                    config,
                    **places,
                    attempt=attempt,
                    sink=sink,
                    control=control,
                    on_hang=_end,
                    of=whole,
                ),
                None,
            )
    except (LeaseLost, DatabaseUnavailable):
        raise
    except cluster.NotJoined as missing:
        if not cluster.hosts():
            return "failed", str(missing)
        # a connection or a machine was lost, which their leases or the next group will show
        logging.error("%s", missing)
        sys.exit(EXIT_PARTNER)
    except CLEAR_ERRORS as clear:
        return "failed", _on_which_host(clear)
    except MemoryError:
        return "failed", "Out of memory. Clone the run with a smaller batch_size."
    # the last line of defence: the run must end in words, and the log keeps the rest
    except Exception as defect:
        if run.config.get("strategy") == "multi_worker" and _is_lost(defect):
            logging.error("Another process of this run has ended (%s).", type(defect).__name__)
            sys.exit(EXIT_PARTNER)
        logging.exception("The trainer failed")
        return "failed", _in_words(defect)


def _shrunk(config: RunConfig) -> RunConfig:
    """The configuration for the machines that this attempt has, which may be fewer than the run
    wants."""
    if config.on_lost_host != "shrink" or cluster.size() == config.replicas:
        return config
    return config.on_hosts(cluster.size() // config.processes) or config


def train_in_process(context: Context, run_id: str, *, on_event: Sink | None = None) -> str:
    """`ganboard train`: claim and train in this process, without Redis. Returns the final status.
    Raises LeaseLost if it is taken."""
    claim = placement.claim(context, run_id, f"{socket.gethostname()}:train-{os.getpid()}")
    if claim is None:
        raise LeaseLost(
            f"Run {run_id} cannot be started: it has ended or is claimed by another worker."
        )
    with (
        logs.copied_to(context.settings.log_path(run_id)),
        recording.of_attempt(context, run_id, claim.attempt),
    ):
        return train_attempt(context, run_id, claim.attempt, interrupt="stop", also=on_event)


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, instead of what they do otherwise."""
    interrupted = threading.Event()
    before = {
        sig: signal.signal(sig, lambda *_: interrupted.set())
        for sig in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield interrupted
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _end() -> None:
    logging.error("Training has stalled; restarting.")
    os._exit(EXIT_HANGS)


def _on_which_host(clear: Exception) -> str:
    """What this host lacks, as rank 0 stores it, with its name where there are several; what became
    of the numbers is of all of them. Other hosts' names are added by `_report_failure`."""
    hosts = cluster.hosts()
    local = not isinstance(clear, TrainingFailed) and cluster.rank() == 0
    return f"{hosts[0]}: {clear}" if hosts and local else str(clear)


def _is_lost(defect: Exception) -> bool:
    """Whether a collective says that another process of the run is gone."""
    return type(defect).__name__ in _PARTNER_LOST or _COLLECTIVE_LOST in str(defect)


def _in_words(defect: Exception) -> str:
    if type(defect).__name__ == "ResourceExhaustedError":
        return "The device ran out of memory. Clone the run with a smaller batch_size."
    first_line = (str(defect).strip().splitlines() or [""])[0][:300]
    return f"The trainer failed with {type(defect).__name__}: {first_line} See the log for details."


def main() -> int:
    die_with_named_parent()
    logs.configure(text=logs.OF_RUN)
    logs.quiet_libraries()
    run_id, attempt, interrupt = sys.argv[1], int(sys.argv[2]), cast("ControlSignal", sys.argv[3])
    logs.bind(run=run_id, attempt=attempt)
    settings = Settings()
    context = Context(settings, make_engine(settings.database))
    try:
        if cluster.rank():
            return follow_attempt(context, run_id, attempt)
        train_attempt(context, run_id, attempt, interrupt=interrupt, held=True)
    except LeaseLost as error:
        logging.warning("%s Ending.", error)
        return EXIT_LEASE_LOST
    except DatabaseUnavailable as error:
        logging.warning("%s", error)
        return EXIT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
