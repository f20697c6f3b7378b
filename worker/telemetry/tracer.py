"""Spans with given times and ids, sent by OpenTelemetry's SDK in its own thread. The only module
that loads OpenTelemetry."""

from __future__ import annotations

import logging
import os
import platform
import socket
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from ganboard.worker.telemetry import environment, identity

log = logging.getLogger("ganboard.telemetry")

CLOSE_SECONDS = 3.0  # what a collector that does not answer may delay the end of a process


class Moment(NamedTuple):
    """Something that happened during a span."""

    at: float  # seconds since 1970
    text: str
    attributes: Mapping[str, Any]


class Tracer:
    """The spans of one run, as one process sends them. Use `span` from one thread only."""

    def __init__(self, run_id: str) -> None:
        """Raises NoExporter, and what an exporter raises at variables that it cannot read."""
        self._run_id = run_id
        self._ids = _Ids(identity.trace_id(run_id))
        self._provider = TracerProvider(
            id_generator=self._ids, resource=_resource(), shutdown_on_exit=False
        )
        for entry in environment.exporters():
            exporter = _OncePerOutage(entry.load()())
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("ganboard", version("ganboard"))
        result = self._provider.sampler.should_sample(None, self._ids.trace, "submit")
        sampled = result.decision is not Decision.DROP
        self._flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)

    def span(
        self,
        name: str,
        begin: float,
        end: float,
        *,
        parent: int | None,
        span_id: int | None = None,
        attributes: Mapping[str, Any] | None = None,
        moments: Sequence[Moment] = (),
        linked: int | None = None,
        error: str | None = None,
    ) -> None:
        """A span from `begin` to `end`, in seconds since 1970. Attributes that are None are left
        out; `linked` is another span of the run that it follows from."""
        self._ids.next = span_id
        given = {"ganboard.run.id": self._run_id, **(attributes or {})}
        span = self._tracer.start_span(
            name,
            context=None if parent is None else self._below(parent),
            start_time=_nanoseconds(begin),
            attributes={key: value for key, value in given.items() if value is not None},
            links=[] if linked is None else [Link(self._context(linked))],
        )
        for moment in moments:
            span.add_event(moment.text, dict(moment.attributes), _nanoseconds(moment.at))
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(_nanoseconds(max(begin, end)))

    def close(self) -> None:
        """Send what is left, for CLOSE_SECONDS at most."""
        sending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS)
        if sending.is_alive():
            log.warning(
                "The last spans of run %s are given up: %s has not taken them within %.0f s.",
                self._run_id,
                environment.place(),
                CLOSE_SECONDS,
            )

    def _context(self, span_id: int) -> SpanContext:
        return SpanContext(self._ids.trace, span_id, is_remote=True, trace_flags=self._flags)

    def _below(self, span_id: int) -> Any:
        return set_span_in_context(NonRecordingSpan(self._context(span_id)))


class _Ids(RandomIdGenerator):
    """The trace of a run, and for the next span an id that other processes know."""

    def __init__(self, trace: int) -> None:
        self.trace = trace
        self.next: int | None = None

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        given, self.next = self.next, None
        return super().generate_span_id() if given is None else given


class _OncePerOutage(SpanExporter):
    """Logs once that spans cannot be sent, with the reason as the exporter logs it, and once that
    they can again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._down = False
        self._logger = logging.getLogger(type(exporter).__module__)
        self._logger.addFilter(self._says)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        down = result is not SpanExportResult.SUCCESS
        if down and not self._down:
            log.warning(
                "Traces cannot be sent to %s. Training is not affected; spans are lost until it"
                " answers.",
                environment.place(),
            )
        elif self._down and not down:
            log.info("Traces are sent to %s again.", environment.place())
        self._down = down
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()
        self._logger.removeFilter(self._says)

    def _says(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR and not self._down

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _resource() -> Resource:
    """Service, host and process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win."""
    own: dict[str, str | int] = {
        "service.name": "ganboard",
        "service.version": version("ganboard"),
        "host.name": socket.gethostname(),
        "host.arch": platform.machine(),
        "os.type": platform.system().lower(),
        "process.pid": os.getpid(),
    }
    return Resource.create({**own}).merge(OTELResourceDetector().detect())


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
