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
from ganboard.db.alerts import deliveries
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.worker.alerts import configuration
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access
from ganboard.worker.context import Context
from ganboard.worker.searches import driver
from ganboard.worker.studies import study
from tests import factories
from tests.sign_in import identity
from tests.surfaces import make_surface
from tests.unit.worker.claims import pairs
from tests.unit.worker.searches import conftest as searches
from tests.unit.worker.studies.test_study import SMALL

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


@pytest.fixture
def there(context: Context) -> dict[str, str]:
    """A claim with pairs, a search with trials, a study, a surface, and alerts; what addresses
    call them."""
    pairs.play(
        context, pairs.stated(context), lambda treated, _: 1.0 if treated else 1.6, lambda *_: 5.0
    )
    searches.start(context)
    driver.advance(context)
    study.launch(context, SMALL)
    channel = configuration.add_channel(
        context, name="lab", kind="webhook", secret="https://example.org/hook/abcdefgh"
    )
    configuration.add_rule(context, channel, event="failed")
    deliveries.begin_test(context.engine, channel.id)
    run = factories.make_run(context, quality_every=1)
    surface = make_surface(context, [run.id])
    named = {"run": run.id, "surface": surface, "request_id": surface, "metric": "g_loss"}
    return named | dict.fromkeys(("study", "search", "claim", "epoch"), "latest")


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


@pytest.mark.thorough
def test_what_is_there_is_answered_as_documented(
    there: dict[str, str], app: FastAPI, context: Context
) -> None:
    asked = 0
    for found in TESTED.get_all_operations():
        operation = found.ok()
        needed = {one.name for one in operation.path_parameters}
        if operation.method != "get" or not needed <= there.keys():
            continue
        query = {one.name: there[one.name] for one in operation.query if one.is_required}
        if operation.path == "/comparison":
            query = {"run": [one.id for one in queries.list_runs(context.engine, limit=2)]}
        case = operation.Case(path_parameters={name: there[name] for name in needed}, query=query)
        operation.schema.app = app
        answer = case.call_and_validate(app=app, headers=bearer(context), excluded_checks=EXCLUDED)
        assert answer.status_code == 200, (operation.path, answer.text)
        asked += 1
    assert asked > 25
