"""/metrics for Prometheus: figures of the database, taken at each scrape, and of this web process.
Nothing is counted here but those."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ganboard.app.navigation import context
from ganboard.db import stats
from ganboard.worker.clear_errors import CLEAR_ERRORS


class Platform(Collector):
    """One census per scrape. A counter never falls while this process lives, though runs that are
    deleted take their share along."""

    def __init__(self) -> None:
        self._lock = Lock()
        # by counter: its newest figure, and what deletions took from it
        self._seen: dict[str, tuple[int, int]] = {}

    def collect(self) -> Iterator[Metric]:
        began = time.perf_counter()
        try:
            taken = stats.take(context().engine)
        except CLEAR_ERRORS:
            yield GaugeMetricFamily(
                "ganboard_database_up", "1 when the database answers, 0 when it does not", 0
            )
            return
        yield GaugeMetricFamily(
            "ganboard_database_up", "1 when the database answers, 0 when it does not", 1
        )
        yield from self._families(taken)
        with suppress(OSError):  # an unmounted disk has no figure
            free = shutil.disk_usage(context().settings.state).free
            yield GaugeMetricFamily(
                "ganboard_disk_free_bytes", "Free bytes of the disk with GANBOARD_HOME", free
            )
        seconds = time.perf_counter() - began
        yield GaugeMetricFamily(
            "ganboard_census_seconds", "What reading these figures from the database took", seconds
        )

    def describe(self) -> list[Metric]:
        return []  # so that registering asks no database

    def _families(self, taken: stats.Census) -> Iterator[Metric]:
        runs = GaugeMetricFamily(
            "ganboard_runs", "Runs by status, archived ones included", labels=["status"]
        )
        for status, count in taken.runs.items():
            runs.add_metric([status], count)
        yield runs
        events = CounterMetricFamily(
            "ganboard_events", "Events of all runs by level", labels=["level"]
        )
        for level, count in taken.events.items():
            events.add_metric([level], self._total(f"events {level}", count))
        yield events
        for name, words, count in (
            ("epochs", "Epochs that were finished", taken.epochs),
            ("images", "Training images that steps have taken", taken.images),
            ("attempts", "Attempts at training, one for every start of a run", taken.attempts),
        ):
            yield CounterMetricFamily(f"ganboard_{name}", words, self._total(name, count))
        for name, words, value in (
            (
                "run_failures",
                "Deaths of trainers without an epoch finished since, over all runs",
                taken.failures,
            ),
            (
                "queue_oldest_seconds",
                "How long the run that waits longest has waited, 0 when none does",
                taken.waiting_seconds,
            ),
            ("workers_alive", "Workers whose last heartbeat is younger than 15 s", taken.workers),
            (
                "inference_workers_alive",
                "Inference workers whose last heartbeat is younger than 15 s",
                taken.inference_workers,
            ),
            (
                "oldest_heartbeat_seconds",
                "Age of the oldest last heartbeat of a worker of either kind",
                taken.oldest_heartbeat_seconds,
            ),
            (
                "checkpoint_bytes",
                "Bytes of all checkpoints that the database lists",
                taken.checkpoint_bytes,
            ),
            ("database_bytes", "Bytes of the database", taken.database_bytes),
        ):
            yield GaugeMetricFamily(f"ganboard_{name}", words, value)

    def _total(self, name: str, count: int) -> int:
        with self._lock:
            before, lost = self._seen.get(name, (count, 0))
            lost += max(0, before - count)
            self._seen[name] = count, lost
            return count + lost


REGISTRY = CollectorRegistry()
REGISTRY.register(Platform())
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)


def metrics(request: Request) -> Response:
    """Prometheus's text format; 200 even when the database is away, which `ganboard_database_up`
    then says."""
    return Response(
        generate_latest(REGISTRY),
        media_type=CONTENT_TYPE_LATEST,
        headers={"Cache-Control": "no-store"},
    )


ROUTES = [Route("/metrics", metrics)]
