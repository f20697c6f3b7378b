"""A receiver of OTLP over HTTP on this machine: it decodes the protobuf of real exporters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.receivers import listening


@dataclass(frozen=True)
class Span:
    """A span as it arrived; times in seconds since 1970."""

    name: str
    trace: str
    id: str
    parent: str
    begin: float
    end: float
    attributes: dict[str, Any]
    resource: dict[str, Any]
    events: tuple[str, ...]
    links: tuple[str, ...]
    error: str | None


@dataclass
class OtlpReceiver:
    """`status` is that of the next answers, of which all but 200 refuse what was sent; with
    `silent` there is none until the end."""

    url: str = ""
    status: int = 200
    spans: list[Span] = field(default_factory=list)
    asked: int = 0  # requests
    silent: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def named(self, name: str, **attributes: Any) -> list[Span]:
        """The spans of this name with these attributes of ganboard, by their begin."""
        wanted = {f"ganboard.{key}": value for key, value in attributes.items()}
        return sorted(
            (one for one in self.spans if one.name == name and wanted.items() <= _items(one)),
            key=lambda one: one.begin,
        )

    def one(self, name: str, **attributes: Any) -> Span:
        (found,) = self.named(name, **attributes)
        return found


def _items(span: Span) -> Any:
    return span.attributes.items()


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked += 1
            if receiver.silent:
                receiver.ended.wait(30)
                return
            assert self.path == "/v1/traces"
            assert self.headers["Content-Type"] == "application/x-protobuf"
            if receiver.status == 200:
                receiver.spans += _decoded(ExportTraceServiceRequest.FromString(body))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(receiver.status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with listening(Handler, receiver.ended) as receiver.url:
        yield receiver


def _decoded(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for group in request.resource_spans:
        resource = _values(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Span(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.start_time_unix_nano / 1e9,
                    span.end_time_unix_nano / 1e9,
                    _values(span.attributes),
                    resource,
                    tuple(event.name for event in span.events),
                    tuple(link.span_id.hex() for link in span.links),
                    span.status.message if span.status.code == 2 else None,
                )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in attributes}
