"""The REST API against its own OpenAPI document, by Schemathesis: whatever is asked, no answer is
an error of the server, and each has a documented status, content type and form; without a token
nothing is answered."""

from __future__ import annotations

from functools import partial

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import positive_data_acceptance

from ganboard.app.web import callers
from ganboard.db.access import tokens
from ganboard.db.settings import Settings
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.context import Context
from tests import factories
from tests.sign_in import identity

DOCUMENT = schemathesis.openapi.from_dict(application.document() | {"servers": [{"url": "/"}]})
# streams end with their run: a test of their own follows some
TESTED = DOCUMENT.exclude(path_regex="/stream$")
# settings and expressions have rules that no schema can say
EXCLUDED = [positive_data_acceptance]


def bearer(context: Context) -> dict[str, str]:
    _, text = tokens.create(context.engine, name="t", owner=identity.OPERATOR, scope="write")
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def app(context: Context, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    """The API of a dashboard with sign-in, over runs of several kinds."""
    for status in ("finished", "failed", "queued"):
        factories.make_run(context, status, status=status, quality_every=1)
    for name, value in identity.environment("https://ganboard.example").items():
        monkeypatch.setenv(name, value)
    identify = partial(callers.identify, Settings(), context=lambda: context)
    return application.make(Access(lambda: context, identify))


@pytest.mark.thorough
@TESTED.parametrize()
@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_documented(case: Case, app: FastAPI, context: Context) -> None:
    for token in tokens.listed(context.engine):  # a case may have revoked it
        tokens.revoke(context.engine, token_id=token.id, who="test")
    case.operation.schema.app = app  # some checks send requests of their own
    case.call_and_validate(app=app, headers=bearer(context), excluded_checks=EXCLUDED)
