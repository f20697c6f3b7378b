"""/metrics for Prometheus: metrics of the database, read at each scrape, and of this web
process."""

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
    """One query per scrape. A counter never falls while this process lives, though runs that are
    deleted take their part along."""

    def __init__(self) -> None:
        self._lock = Lock()
        # by counter: its newest value, and what deletions took from it
        self._seen: dict[str, tuple[int, int]] = {}

    def collect(self) -> Iterator[Metric]:
        began = time.perf_counter()
        try:
            totals = stats.take(context().engine)
        except CLEAR_ERRORS:
            yield GaugeMetricFamily(
                "ganboard_database_up", "1 when the database answers, 0 when it does not", 0
            )
            return
        yield GaugeMetricFamily(
            "ganboard_database_up", "1 when the database answers, 0 when it does not", 1
        )
        yield from self._families(totals)
        with suppress(OSError):  # an unmounted disk has no figure
            free = shutil.disk_usage(context().settings.state).free
            yield GaugeMetricFamily(
                "ganboard_disk_free_bytes", "Free bytes of the disk with GANBOARD_HOME", free
            )
        seconds = time.perf_counter() - began
        yield GaugeMetricFamily(
            "ganboard_census_seconds",
            "Seconds spent reading these metrics from the database",
            seconds,
        )

    def describe(self) -> list[Metric]:
        return []  # so that registering asks no database

    def _families(self, totals: stats.Stats) -> Iterator[Metric]:
        runs = GaugeMetricFamily(
            "ganboard_runs", "Runs by status, archived ones included", labels=["status"]
        )
        for status, count in totals.runs.items():
            runs.add_metric([status], count)
        yield runs
        events = CounterMetricFamily(
            "ganboard_events", "Events of all runs by level", labels=["level"]
        )
        for level, count in totals.events.items():
            events.add_metric([level], self._total(f"events {level}", count))
        yield events
        for name, text, count in (
            ("epochs", "Finished epochs", totals.epochs),
            ("images", "Training images processed", totals.images),
            ("attempts", "Training attempts, one per start of a run", totals.attempts),
        ):
            yield CounterMetricFamily(f"ganboard_{name}", text, self._total(name, count))
        for name, text, value in (
            (
                "run_failures",
                "Trainer crashes since the last finished epoch, over all runs",
                totals.failures,
            ),
            (
                "queue_oldest_seconds",
                "Waiting time of the longest waiting run, 0 if none is waiting",
                totals.waiting_seconds,
            ),
            ("workers_alive", "Workers whose last heartbeat is younger than 15 s", totals.workers),
            (
                "inference_workers_alive",
                "Inference workers whose last heartbeat is younger than 15 s",
                totals.inference_workers,
            ),
            (
                "oldest_heartbeat_seconds",
                "Age of the oldest last heartbeat of a worker of either kind",
                totals.oldest_heartbeat_seconds,
            ),
            (
                "checkpoint_bytes",
                "Bytes of all checkpoints listed in the database",
                totals.checkpoint_bytes,
            ),
            ("database_bytes", "Bytes of the database", totals.database_bytes),
        ):
            yield GaugeMetricFamily(f"ganboard_{name}", text, value)

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
