"""docs.generator.rest_api: the page of an application's OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from docs.generator.rest_api import openapi_page, schema_text


class NewRun(BaseModel):
    """Settings of a run."""

    preset: str | None = Field(None, description="Where to begin, see docs/data.md", max_length=80)
    tags: list[str] = Field(default=[], max_length=8)
    strategy: Literal["auto", "mirrored"] = "auto"


class Stored(BaseModel):
    id: str
    made_from: NewRun


@pytest.fixture(scope="module")
def page() -> str:
    app = FastAPI(title="ganboard", version="1", description="Runs of *all* models.")

    @app.post("/api/v1/runs", status_code=201, responses={409: {"description": "It is there"}})
    def create(new: NewRun) -> Stored:
        """Queue a run."""
        return Stored(id="k7m", made_from=new)

    @app.get("/api/v1/runs/{run}")
    def read(run: str, limit: Annotated[int, Query(ge=1, le=9, description="At most")] = 5) -> None:
        """One run."""

    return openapi_page(app.openapi())


def section(page: str, heading: str) -> str:
    return page.split(f"{heading}\n")[1].split("\n## ")[0].split("\n### ")[0]


def test_an_operation_has_body_and_answers(page: str) -> None:
    create = section(page, "## POST /api/v1/runs")
    assert "Queue a run." in create
    assert "Body (required): `application/json` [NewRun](#newrun)." in create
    assert "| `201` | `application/json` [Stored](#stored) | Successful Response |" in create
    assert "| `409` |  | It is there |" in create


def test_an_operation_has_its_parameters_with_limits(page: str) -> None:
    read = section(page, "## GET /api/v1/runs/{run}")
    assert "| `run` (required) | path | string |  |" in read
    assert "| `limit` | query | integer, from 1, to 9, default `5` | At most |" in read


def test_schemas_are_tables_of_fields(page: str) -> None:
    new = section(page, "### NewRun")
    assert "Settings of a run." in new
    assert (
        "| `preset` | string, at most 80 characters or null | Where to begin, see [docs/data.md]"
        in (new)
    )
    assert "| `tags` | array of string, at most 8 items, default `[]` |" in new
    assert '| `strategy` | `"auto"` or `"mirrored"`, default `"auto"` |' in new
    assert "| `made_from` (required) | [NewRun](#newrun) |" in section(page, "### Stored")
    assert page.startswith("# REST API\n\nRuns of \\*all\\* models.")


def test_parts_that_are_referred_to_are_followed() -> None:
    shared = {"name": "run", "in": "path", "required": True, "schema": {"type": "string"}}
    document = {
        "info": {},
        "paths": {
            "/x": {
                "parameters": [{"$ref": "#/components/parameters/run"}],
                "delete": {"responses": {"204": {"$ref": "#/components/responses/gone"}}},
            }
        },
        "components": {
            "parameters": {"run": shared},
            "responses": {"gone": {"description": "It is gone"}},
        },
    }
    page = openapi_page(document)
    assert "| `run` (required) | path | string |  |" in page
    assert "| `204` |  | It is gone |" in page


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "any value"),
        ({"const": 3}, "`3`"),
        ({"type": ["string", "null"], "format": "date-time"}, "string or null (date-time)"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, "number, to 0.5, more than 0"),
        (
            {"type": "object", "additionalProperties": {"type": "boolean"}},
            "object with values: boolean",
        ),
    ],
)
def test_schemas_in_words(schema: dict[str, object], words: str) -> None:
    assert sorted(schema_text(schema).split(", ")) == sorted(words.split(", "))
