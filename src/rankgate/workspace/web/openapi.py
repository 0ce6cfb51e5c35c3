"""The OpenAPI description of the REST API, created from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rankgate.workspace.web.rendering import to_json
from rankgate.workspace.web.replies import FileReply
from rankgate.workspace.web.web_request import ADMIN, ANYONE, ROUTES, SIGNED_IN, Field, FieldKind, Route, page

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.workspace.web.web_request import WebRequest


_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**53}
_TYPES: dict[FieldKind, dict[str, Json]] = {
    "number": {"type": "number"},
    "whole": {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
    "flag": {"type": "boolean"},
    "moment": {"type": "string", "format": "date-time"},
    "file": {"type": "string", "format": "binary"},
}
_ERROR = {
    "description": "Refused: what is wrong, and its code.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {
                        "type": "object",
                        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                    }
                },
            }
        }
    },
}


_RAW = {
    "name": "raw",
    "in": "query",
    "required": False,
    "schema": {"type": "boolean"},
    "description": "Cells as they are, also those that a spreadsheet would run as formulas.",
}


def describe_api(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI description of every route available to tokens."""
    paths: dict[str, dict[str, Json]] = {}
    for route in routes:
        if route.scope is None or route.needs == ANYONE:
            continue
        path = _PARAMETER.sub(r"{\1}", route.path)
        path = f"{path}.json" if has_json_twin(route) else path
        paths.setdefault(path, {})[route.method.lower()] = _describe_operation(route)
        if route.tabular:
            sheet = _describe_operation(route)
            sheet["operationId"] += "-csv"
            sheet["parameters"] = [*sheet.get("parameters", []), _RAW]
            sheet["responses"]["200"]["content"] = {"text/csv": {"schema": {"type": "string"}}}
            paths[f"{path.removesuffix('.json')}.csv"] = {"get": sheet}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rankgate",
            "version": "1",
            "description": "Everything that the pages do. A token is made on the page of an account; a "
            "rating is sent with a rating_id, and may be sent again.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def has_json_twin(route: Route) -> bool:
    """True if a page has a JSON version; files and descriptions have none."""
    return route.method == "GET" and "." not in route.path and not route.path.endswith("/file")


def _describe_operation(route: Route) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _NUMBER if kind == "int" else {"type": "string"},
        }
        for name, kind in _PARAMETER.findall(route.path)
    ]
    fields = route.fields
    if route.method == "GET":
        parameters += [
            {"name": field.name, "in": "query", "required": field.required, "schema": _field_schema(field)}
            for field in fields
        ]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.title,
        "description": f"Needs: {_describe_permission(route)}; scope of a token: {route.scope}.",
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done.", "content": _describe_content(route)},
            **{str(code): _ERROR for code in (400, 401, 403, 404, 408, 409, 413, 421, 429, 503)},
        },
    }
    if route.method == "POST":
        schema = _object_schema(route.fields)
        media = "multipart/form-data" if route.has_file else "application/json"
        operation["requestBody"] = {
            "required": bool(schema["required"]),
            "content": {media: {"schema": schema}},
        }
    return operation


def _describe_permission(route: Route) -> str:
    if isinstance(route.needs, frozenset):
        return "role " + " or ".join(sorted(route.needs))
    return {SIGNED_IN: "any user", ADMIN: "an admin of the store"}[route.needs]


def _describe_content(route: Route) -> dict[str, Json]:
    for suffix, media in (("svg", "image/svg+xml"), ("png", "image/png")):
        if route.path.endswith(f".{suffix}"):
            return {media: {"schema": {"type": "string"}}}
    if route.path.endswith("/file"):
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": {"type": "object"}}}


def _object_schema(fields: tuple[Field, ...]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {field.name: _field_schema(field) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def _field_schema(field: Field) -> dict[str, Json]:
    if field.kind == "rows":
        return {
            "type": "array",
            "minItems": 1,
            "maxItems": field.most,
            "items": _object_schema(field.columns),
            "description": field.help,
        }
    schema = dict(field.schema or _TYPES.get(field.kind, {"type": "string"}))
    if field.kind in {"json", "lines"}:
        pass
    elif field.choices:
        schema["enum"] = [choice for choice, _ in field.choices]
    elif field.kind in {"number", "whole"}:
        bounds = {"minimum": field.least, "maximum": field.largest}
        schema |= {name: bound for name, bound in bounds.items() if bound is not None}
    elif schema == {"type": "string"}:
        schema["maxLength"] = field.most
        schema["pattern"] = "^[^\\u0000]*$"
        if field.required:
            schema["minLength"] = 1
    if field.unset not in (None, "", ()):
        schema["default"] = list(field.unset) if isinstance(field.unset, tuple) else field.unset
    explanation = ". ".join(text for text in (field.label, field.help) if text)
    return schema | ({"description": explanation} if explanation else {})


@page("openapi", "/openapi.json", SIGNED_IN, "The REST API", scope="read")
def openapi_page(request: WebRequest) -> FileReply:  # noqa: ARG001 - as every handler
    """The OpenAPI description as a file."""
    return FileReply(to_json(describe_api(ROUTES.values())), "application/json")
