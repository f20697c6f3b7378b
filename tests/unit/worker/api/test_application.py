"""The OpenAPI document, from which clients are generated."""

from __future__ import annotations

import re

from openapi_spec_validator import validate

from ganboard.worker.api import application


def test_the_document_is_valid_and_its_operations_have_names_for_clients() -> None:
    document = application.document()
    validate(document)
    assert document["openapi"].startswith("3.1")
    operations = [one for path in document["paths"].values() for one in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert "runs_show" in names
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    (stream,) = (one for one in operations if one["operationId"] == "results_follow")
    assert stream["responses"]["200"]["content"] == {
        "text/event-stream": {"schema": {"type": "string"}}
    }
