"""Figures of results as OpenTelemetry metrics, for dashboards that a team already has.

A result becomes gauges, in the JSON of `OTLP over HTTP
<https://opentelemetry.io/docs/specs/otlp/#otlphttp>`__. Only figures leave: no queries, no documents.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rankgate.core.errors import UsageError
from rankgate.workspace.records.figures import figures_of

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.workspace.records.figures import Figures

_ENDPOINTS = (  # the variable, and the path below its address
    ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", ""),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/metrics"),
)
_HEADERS = ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")  # in milliseconds
_SECONDS = 10.0
_PREFIX = "rankgate"
_DESCRIPTIONS = {  # by the name after the prefix
    "value": "mean of a metric, or value of a KPI",
    "value.low": "lower bound of the 95 % interval of a value",
    "value.high": "upper bound of the 95 % interval of a value",
    "count": "queries or units behind a value",
    "verdict": "1 for the verdict of a gate",
}


def send_figures(result: Result, service: str) -> None:
    """Send the figures of a result to the endpoint that the environment names.

    Args:
        result: the result, such as an evaluation or a verdict.
        service: the name of the service (``service.name``) that the figures are of.

    Raises:
        UsageError: no endpoint is named, or it does not take the figures; the message has no header.
    """
    from rankgate.engines.requests.secrets import Secrets
    from rankgate.engines.requests.transport import Response, Transport

    address = next(
        (os.environ[name].rstrip("/") + path for name, path in _ENDPOINTS if os.environ.get(name)), ""
    )
    if not address:
        problem = "--also otlp sends figures to the address in OTEL_EXPORTER_OTLP_ENDPOINT, which is not set."
        raise UsageError(problem, code="missing-input")
    # name=value,name=value, with values encoded as in URLs
    header_text = next(filter(None, map(os.environ.get, _HEADERS)), "")
    pairs = [pair.partition("=") for pair in header_text.split(",")]
    headers = {name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals}
    milliseconds = next(filter(None, map(os.environ.get, _TIMEOUTS)), "")
    timeout = float(milliseconds) / 1000 if milliseconds.isdecimal() else _SECONDS
    secrets = Secrets()
    for value in headers.values():
        for secret in (value, value.rpartition(" ")[2]):  # also a token without the word Bearer
            secrets.add(secret)
    body = json.dumps(export_request(result, service, time.time_ns()), allow_nan=False).encode()
    reply = Transport(address, headers, timeout=timeout).send("POST", "", body)
    problem = "" if isinstance(reply, Response) else reply.problem
    if isinstance(reply, Response):
        with suppress(ValueError, AttributeError):
            partial = json.loads(reply.data).get("partialSuccess") or {}
            if int(partial.get("rejectedDataPoints") or 0):
                problem = f"it rejected figures: {partial.get('errorMessage', '')}"
    if problem:
        raise UsageError(f"the figures were not sent: {secrets.message(problem)}", code="not-sent")


def export_request(result: Result, service: str, nanoseconds: int) -> dict[str, Any]:
    """The figures of a result as an export request: a gauge for values, bounds, counts and the verdict.

    Args:
        result: the result.
        service: ``service.name``.
        nanoseconds: the time since 1970, where the result states none.
    """
    figures = figures_of(result)
    moment = nanoseconds if figures.at is None else int(figures.at.timestamp() * 1e9)
    shared = {
        "kind": result.kind,
        "judgments": figures.qrels,
        "convention": str(figures.convention.get("name") or ""),
    }
    points: dict[str, list[dict[str, Any]]] = {}
    for name, number, attributes in _points(figures):
        point = {
            "timeUnixNano": str(moment),
            "attributes": _attributes({**attributes, **shared}, f"{_PREFIX}."),
        }
        value: dict[str, Any] = {"asInt": str(number)} if isinstance(number, int) else {"asDouble": number}
        points.setdefault(name, []).append({**point, **value})
    metrics = [
        {
            "name": f"{_PREFIX}.{name}",
            "description": _DESCRIPTIONS[name],
            "unit": "1",
            "gauge": {"dataPoints": rows},
        }
        for name, rows in points.items()
    ]
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": _attributes({"service.name": service})},
                "scopeMetrics": [{"scope": {"name": "rankgate"}, "metrics": metrics}],
            }
        ]
    }


def _points(figures: Figures) -> Iterator[tuple[str, float | int, Mapping[str, str]]]:
    """The name, the number and the attributes of each point; undefined numbers are left out."""
    for value in figures.values:
        attributes = {"metric": value.metric, "system": value.system, "slice": value.slice}
        for name, number in (("value", value.value), ("value.low", value.low), ("value.high", value.high)):
            if number is not None:
                yield name, float(number), attributes
        yield "count", value.n, attributes
    if figures.verdict is not None:
        yield "verdict", 1, {"verdict": figures.verdict, "system": figures.system}


def _attributes(attributes: Mapping[str, str], prefix: str = "") -> list[dict[str, Any]]:
    """Attributes in OTLP's form; empty ones are left out."""
    return [
        {"key": prefix + name, "value": {"stringValue": text}} for name, text in attributes.items() if text
    ]
