"""A manager's request to a model: an endpoint of the server, a model, a prompt, and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.prompts import Template
from rankgate.judging.llm.protocols import with_parameters

if TYPE_CHECKING:
    from rankgate.judging.models.endpoints import Endpoint

REQUEST_KEYS = (
    "endpoint",
    "model",
    "template",
    "structure",
    "parameters",
    "confidence",
    "longest",
    "concurrency",
    "calls",
    "tokens",
    "ceiling",
    "price_input",
    "price_output",
    "distance",
    "doubt",
    "depth",
)
"""The keys of such a request."""


def judge_for(endpoints: Mapping[str, Endpoint], request: Mapping[str, Any]) -> Judge:
    """The judge that a request names; the address and the key are the endpoint's.

    Raises:
        UsageError: no such endpoint; a model that it does not allow; options that do not fit.
        InputError: a prompt or parameters that cannot be read.
    """
    endpoint = endpoints.get(request["endpoint"])
    if endpoint is None:
        names = ", ".join(endpoints) or "none: start the server with --llm FILE"
        problem = f"no endpoint {request['endpoint']!r}; there are {names}."
        raise UsageError(problem, code="unknown-endpoint")
    model = request["model"]
    if endpoint.models and model not in endpoint.models:
        problem = f"{endpoint.name} offers {', '.join(endpoint.models)}, and not {model!r}."
        raise UsageError(problem, code="unknown-model")
    template_text = (request.get("template") or "").strip()
    requested_concurrency = request.get("concurrency") or endpoint.concurrency
    return Judge(
        model,
        protocol=endpoint.protocol,
        url=endpoint.url,
        key_from=endpoint.key_from,
        template=Template.parse(template_text, "prompt of the project") if template_text else None,
        structure=request.get("structure") or "schema",
        parameters=_parameters(request.get("parameters")),
        concurrency=min(max(requested_concurrency, 1), endpoint.concurrency),
        prices=_request_prices(request) or endpoint.prices.get(model),
        ceiling=request.get("ceiling"),
        calls=request.get("calls"),
        tokens=request.get("tokens"),
        longest=request.get("longest"),
        confidence=bool(request.get("confidence")),
    )


def _parameters(parameters_text: str | None) -> dict[str, Any]:
    if not parameters_text or not parameters_text.strip():
        return {}
    try:
        parameters = json.loads(parameters_text)
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict):
        problem = 'it is not an object of JSON, such as {"temperature": 0}.'
        raise InputError(problem, source="parameters", code="invalid-json")
    return with_parameters({}, parameters)


def _request_prices(request: Mapping[str, Any]) -> Prices | None:
    input_price, output_price = request.get("price_input"), request.get("price_output")
    if input_price is None and output_price is None:
        return None
    if input_price is None or output_price is None:
        raise UsageError("give both prices, of 0 or more.", code="out-of-range")
    return Prices(input_price, output_price)
