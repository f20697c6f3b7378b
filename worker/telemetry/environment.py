"""What OpenTelemetry's own variables ask for. They are no settings of ganboard: the SDK reads them,
here is only decided whether it is loaded. Free of OpenTelemetry."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint, entry_points
from urllib.parse import urlsplit

from ganboard.worker.errors import WorkerError

TRACES = "OTEL_TRACES_EXPORTER"
METRICS = "OTEL_METRICS_EXPORTER"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = "opentelemetry_traces_exporter"  # entry points of packages that send traces
_BY_PROTOCOL = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


class NoExporter(WorkerError):
    """Traces are asked for, and no installed package can send them."""


def wanted() -> bool:
    """Whether the environment asks for traces: by an exporter, or by the endpoint of a
    collector."""
    if _value("OTEL_SDK_DISABLED").lower() == "true":
        return False
    if exporter := _value(TRACES):
        return exporter.lower() != "none"
    return any(map(_value, ENDPOINTS))


def metrics_wanted() -> bool:
    """Whether the environment asks for metrics over OTLP, which ganboard leaves to /metrics."""
    return _value(METRICS).lower() not in ("", "none")


def exporters() -> list[EntryPoint]:
    """The exporters that the environment names. Raises NoExporter."""
    return [_exporter(name.strip()) for name in (_value(TRACES) or "otlp").split(",")]


def place() -> str:
    """Where OTLP goes, without what may be secret in an address: scheme, host and port."""
    url = urlsplit(next(filter(None, map(_value, ENDPOINTS)), "http://localhost:4318"))
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


def _exporter(name: str) -> EntryPoint:
    if name == "otlp":
        protocol = next(filter(None, map(_value, PROTOCOLS)), "http/protobuf")
        name = _BY_PROTOCOL.get(protocol, protocol)
    found = entry_points(group=EXPORTERS, name=name)
    if not found:
        raise NoExporter(
            f"Traces cannot be sent: OpenTelemetry's variables ask for the exporter {name[:40]!r},"
            " which is not installed. Run `pip install 'ganboard[otel]'` for OTLP over HTTP, or"
            f" unset {TRACES} and the OTEL_EXPORTER_OTLP_ variables."
        )
    return next(iter(found))


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()
