"""What a server of generators counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Measures:
    """One server's figures; a model is NAME:VERSION."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.answers = Counter(
            "ganboard_serve_answers",
            "Answers by version and outcome",
            ["model", "outcome"],
            registry=registry,
        )
        self.refused = Counter(
            "ganboard_serve_refused",
            "Requests that no version was asked, by status",
            ["status"],
            registry=registry,
        )
        self.examples = Counter(
            "ganboard_serve_examples",
            "Examples that versions were asked for",
            ["model"],
            registry=registry,
        )
        self.seconds = Histogram(
            "ganboard_serve_seconds",
            "From a request to its outputs",
            ["model"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.rows = Histogram(
            "ganboard_serve_batch_examples",
            "Examples of one call",
            ["model"],
            buckets=[2**i for i in range(11)],
            registry=registry,
        )
        self.waiting = Gauge(
            "ganboard_serve_waiting_examples",
            "Examples that wait or are being made",
            ["model"],
            registry=registry,
        )
        self.share = Gauge(
            "ganboard_serve_canary_share",
            "Share of requests that the canary gets now",
            registry=registry,
        )
        self.rolled_back = Counter(
            "ganboard_serve_rollbacks", "Times that the canary was rolled back", registry=registry
        )
