"""Whether traces that OpenTelemetry's variables ask for can be sent."""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.worker.doctor.check import Check
from ganboard.worker.telemetry import environment


def checks() -> Iterator[Check]:
    """Nothing where the environment asks for nothing. No connection is opened."""
    if environment.wanted():
        try:
            names = ", ".join(one.name for one in environment.exporters())
        except environment.NoExporter as error:
            yield Check("traces", "warn", "asked for, but no run is traced", str(error))
        else:
            yield Check("traces", "ok", f"sent by {names} to {environment.place()}")
    if environment.metrics_wanted():
        yield Check(
            "metrics",
            "warn",
            f"{environment.METRICS} is set, but ganboard sends no metrics",
            "Let the collector scrape /metrics: docs/deploy/otel-collector.yaml.",
        )
