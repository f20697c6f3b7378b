"""The reference of the REST API, from an OpenAPI 3.1 document such as FastAPI's `app.openapi()`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from docs.generator.markdown import code, table, text

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
LIMITS = {
    "minimum": "from {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "to {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
}
Document = Mapping[str, Any]


def openapi_page(document: Document) -> str:
    """A page with every operation of the document: method, path, summary, parameters, body and
    answers; then the schemas that they name."""
    about = document["info"].get("description", "")
    parts = [f"# REST API\n\n{text(about).strip()}\n\n" if about else "# REST API\n\n"]
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                shared = item.get("parameters", [])
                parts.append("".join(_operation(document, method, path, item[method], shared)))
    if schemas := document.get("components", {}).get("schemas"):
        parts.append("## Schemas\n\n")
        parts += [_schema(name, schema) for name, schema in schemas.items()]
    return "".join(parts)


def _operation(
    document: Document, method: str, path: str, operation: Document, shared: list[Document]
) -> Iterator[str]:
    yield f"## {method.upper()} {path}\n\n"
    if operation.get("deprecated"):
        yield "Deprecated.\n\n"
    if summary := operation.get("summary"):
        yield f"{text(summary).strip().rstrip('.')}.\n\n"
    if words := operation.get("description"):
        yield f"{text(words).strip()}\n\n"
    parameters = [_resolved(document, one) for one in (*shared, *operation.get("parameters", []))]
    rows = [
        (
            code(one["name"]) + (" (required)" if one.get("required") else ""),
            one["in"],
            schema_text(one.get("schema", {})),
            text(one.get("description", "")),
        )
        for one in parameters
    ]
    if rows:
        yield table(("parameter", "in", "value", "meaning"), rows)
    if "requestBody" in operation:
        body = _resolved(document, operation["requestBody"])
        need = "required" if body.get("required") else "optional"
        yield f"Body ({need}): {_content(body) or 'empty'}.\n\n"
    answers = [
        (code(status), _content(answer), text(answer.get("description", "")))
        for status, found in operation["responses"].items()
        for answer in [_resolved(document, found)]
    ]
    yield table(("answer", "content", "meaning"), answers)


def _resolved(document: Document, part: Document) -> Document:
    """A part of the document, or what it refers to."""
    while "$ref" in part:
        found = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def _content(holder: Document) -> str:
    """The media types of a body or an answer, each with what it holds."""
    found = [
        f"{code(media)} {schema_text(content.get('schema', {}))}".strip()
        for media, content in holder.get("content", {}).items()
    ]
    return " or ".join(found)


def _schema(name: str, schema: Document) -> str:
    about = f"### {name}\n\n"
    if words := schema.get("description"):
        about += f"{text(words).strip()}\n\n"
    fields = schema.get("properties")
    if not fields:
        return about + f"{schema_text(schema)}\n\n"
    required = schema.get("required", ())
    rows = [
        (
            code(key) + (" (required)" if key in required else ""),
            schema_text(value),
            text(value.get("description", "")),
        )
        for key, value in fields.items()
    ]
    return about + table(("field", "value", "meaning"), rows)


def schema_text(schema: Document) -> str:
    """What a JSON schema permits, in Markdown: type, choices, limits and default; a named schema as
    a link to its section."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        anchor = re.sub(r"[^\w-]", "", name.lower())
        return f"[{name}](#{anchor})"
    for key, words in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if key in schema:
            return words.join(map(schema_text, schema[key])) + _default(schema)
    if "enum" in schema:
        return " or ".join(code(json.dumps(one)) for one in schema["enum"]) + _default(schema)
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    kinds = schema.get("type", "any value")
    words = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    if "format" in schema:
        words += f" ({schema['format']})"
    if "items" in schema:
        words += f" of {schema_text(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        words += f" with values: {schema_text(schema['additionalProperties'])}"
    limits = [form.format(_number(schema[key])) for key, form in LIMITS.items() if key in schema]
    return ", ".join([words, *limits]) + _default(schema)


def _default(schema: Document) -> str:
    return f", default {code(json.dumps(schema['default']))}" if "default" in schema else ""


def _number(value: Any) -> str:
    if isinstance(value, str):
        return code(value)
    return str(int(value) if float(value).is_integer() else value)
