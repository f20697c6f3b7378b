"""What a server of generators counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Measures:
    """Metrics of one server; a model is NAME:VERSION."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.answers = Counter(
            "ganboard_serve_answers",
            "Responses by version and outcome",
            ["model", "outcome"],
            registry=registry,
        )
        self.refused = Counter(
            "ganboard_serve_refused",
            "Requests rejected before reaching a version, by status",
            ["status"],
            registry=registry,
        )
        self.examples = Counter(
            "ganboard_serve_examples",
            "Examples requested from versions",
            ["model"],
            registry=registry,
        )
        self.seconds = Histogram(
            "ganboard_serve_seconds",
            "Time from a request to its outputs",
            ["model"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.rows = Histogram(
            "ganboard_serve_batch_examples",
            "Examples per call",
            ["model"],
            buckets=[2**i for i in range(11)],
            registry=registry,
        )
        self.waiting = Gauge(
            "ganboard_serve_waiting_examples",
            "Examples queued or being computed",
            ["model"],
            registry=registry,
        )
        self.share = Gauge(
            "ganboard_serve_canary_share",
            "Share of requests currently sent to the canary",
            registry=registry,
        )
        self.rolled_back = Counter(
            "ganboard_serve_rollbacks", "Rollbacks of the canary", registry=registry
        )
