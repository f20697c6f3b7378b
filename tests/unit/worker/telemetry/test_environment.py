"""OpenTelemetry's own variables decide whether there are traces."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ganboard.worker.doctor import telemetry
from ganboard.worker.telemetry import environment
from ganboard.worker.telemetry.environment import NoExporter

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
ADDRESS = "http://collector:4318"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "lab"}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: ADDRESS}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ADDRESS}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", ENDPOINT: ADDRESS}, False),
        ({"OTEL_SDK_DISABLED": "true", ENDPOINT: ADDRESS}, False),
    ],
)
def test_traces_are_sent_only_where_they_are_asked_for(
    variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment.wanted() is expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["otlp_proto_http"]),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ["otlp_proto_http", "console"]),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ["otlp_proto_http"]),
    ],
)
def test_exporters_are_found_by_name_and_protocol(
    variables: dict[str, str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert [one.name for one in environment.exporters()] == expected


def test_an_exporter_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, ADDRESS)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(NoExporter, match="'otlp_proto_grpc', which is not installed"):
        environment.exporters()
    (found,) = telemetry.checks()
    assert (found.name, found.status) == ("traces", "warn")
    assert "pip install 'ganboard[otel]'" in found.remedy


def test_the_doctor_says_where_traces_go_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(telemetry.checks()) == []
    monkeypatch.setenv(ENDPOINT, "https://user:secret@collector:4318/path?key=secret")
    (found,) = telemetry.checks()
    assert found.text == "sent by otlp_proto_http to https://collector:4318"
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "otlp")
    assert [one.status for one in telemetry.checks()] == ["ok", "warn"]


def test_nothing_of_opentelemetry_is_loaded_otherwise() -> None:
    script = (
        "import sys\n"
        "from ganboard.worker.queue import attempt\n"
        "from ganboard.worker.training import trainer\n"
        "from ganboard.worker.telemetry import recording\n"
        "with recording.of_training(None, 'abc', 1) as spans: assert spans is None\n"
        "with recording.of_attempt(None, 'abc', 1): pass\n"
        "recording.died('abc', 1)\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
