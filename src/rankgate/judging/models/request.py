"""What a manager asks of a model: an endpoint of the server, a model, a prompt, and limits."""

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

NAMES = ("endpoint", "model", "template", "structure", "parameters", "confidence", "longest",
         "concurrency", "calls", "tokens", "ceiling", "price_input", "price_output", "distance",
         "doubt", "depth")  # fmt: skip
"""What such a request may hold."""


def judge_for(endpoints: Mapping[str, Endpoint], given: Mapping[str, Any]) -> Judge:
    """The judge that a request names; the address and the key are the endpoint's.

    Raises:
        UsageError: no such endpoint; a model that it does not allow; options that do not fit.
        InputError: a prompt or parameters that cannot be read.
    """
    endpoint = endpoints.get(given["endpoint"])
    if endpoint is None:
        known = ", ".join(endpoints) or "none: start the server with --llm FILE"
        problem = f"no endpoint {given['endpoint']!r}; there are {known}."
        raise UsageError(problem, code="unknown-endpoint")
    model = given["model"]
    if endpoint.models and model not in endpoint.models:
        problem = f"{endpoint.name} offers {', '.join(endpoint.models)}, and not {model!r}."
        raise UsageError(problem, code="unknown-model")
    words = (given.get("template") or "").strip()
    wished = given.get("concurrency") or endpoint.concurrency
    return Judge(
        model,
        protocol=endpoint.protocol,
        url=endpoint.url,
        key_from=endpoint.key_from,
        template=Template.parse(words, "prompt of the project") if words else None,
        structure=given.get("structure") or "schema",
        parameters=_parameters(given.get("parameters")),
        concurrency=min(max(wished, 1), endpoint.concurrency),
        prices=_prices(given) or endpoint.prices.get(model),
        ceiling=given.get("ceiling"),
        calls=given.get("calls"),
        tokens=given.get("tokens"),
        longest=given.get("longest"),
        confidence=bool(given.get("confidence")),
    )


def _parameters(words: str | None) -> dict[str, Any]:
    if not words or not words.strip():
        return {}
    try:
        found = json.loads(words)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        problem = 'it is not an object of JSON, such as {"temperature": 0}.'
        raise InputError(problem, source="parameters", code="invalid-json")
    return with_parameters({}, found)


def _prices(given: Mapping[str, Any]) -> Prices | None:
    one, two = given.get("price_input"), given.get("price_output")
    if one is None and two is None:
        return None
    if one is None or two is None:
        raise UsageError("give both prices, of 0 or more.", code="out-of-range")
    return Prices(one, two)
