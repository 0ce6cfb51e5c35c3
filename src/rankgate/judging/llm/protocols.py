"""Request and response bodies of the two model protocols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.judging.llm.prompts import Prompt

_TASK = "Gives the document its grade."
PARAMETERS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 512}
"""Default parameters of requests."""

_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MAX_TOKENS = 100_000_000  # tokens; an endpoint that counts more of them does not count
_MAX_REFUSAL = 1000  # characters of a refusal
_INCOMPLETE_REASONS = {
    "length": "cut off at max_tokens",
    "max_tokens": "cut off at max_tokens",
    "model_length": "cut off at the end of the context",
    "model_context_window_exceeded": "cut off at the end of the context",
    "content_filter": "blocked by a filter",
    "refusal": "refused",
    "error": "ended by an error of the endpoint",
}
"""Reasons for incomplete answers, by the stop reasons of both protocols."""

_RESERVED_PARAMETERS = {
    "model",
    "messages",
    "system",
    "stream",
    "n",
    "tools",
    "tool_choice",
    "response_format",
}


@dataclass(frozen=True)
class EndpointAnswer:
    """The answer of an endpoint.

    Attributes:
        text: the model's answer; JSON where the model used the structure it was given.
        input_tokens: as the endpoint counts them; None where it does not.
        output_tokens: as above.
        ended: why the answer is not complete, and so not a grade: it was refused, blocked or cut
            off; empty otherwise.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    ended: str = ""


class Wire(Protocol):
    """The protocol of a family of endpoints."""

    name: str
    url: str
    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers of a request, with the key where there is one."""
        ...

    def body(self, model: str, prompt: Prompt, form: Mapping[str, Any], structure: str) -> Any:
        """A request without parameters; ``form`` is the JSON schema of answers."""
        ...

    def said(self, body: Mapping[str, Any]) -> EndpointAnswer:
        """Parse an answer.

        Raises:
            KeyError, IndexError, TypeError, AttributeError, ValueError: it is of another shape.
        """
        ...


class OpenAI:
    """Chat completions, which most servers of models offer too."""

    name = "openai"
    url = "https://api.openai.com/v1"
    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer's token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, prompt: Prompt, form: Mapping[str, Any], structure: str) -> Any:
        """Messages, and the form of the answer."""
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        request: dict[str, Any] = {"model": model, "messages": messages}
        if structure == "object":
            request["response_format"] = {"type": "json_object"}
        if structure == "schema":
            json_schema = {"name": "grade", "strict": True, "schema": form}
            request["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        return request

    def said(self, body: Mapping[str, Any]) -> EndpointAnswer:
        """The first choice."""
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(block["text"] for block in content if block.get("type") == "text")
        usage = body.get("usage") or {}
        refusal = message.get("refusal")
        reason = (
            f"refused: {str(refusal)[:_MAX_REFUSAL]}"
            if refusal
            else _incomplete_reason(choice.get("finish_reason"))
        )
        if content is not None and not isinstance(content, str):
            raise ValueError("content is not text")
        return EndpointAnswer(
            content or "",
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
            reason,
        )


class Anthropic:
    """Messages of Anthropic's API."""

    name = "anthropic"
    url = "https://api.anthropic.com"
    path = "/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The key and the version of the protocol."""
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(self, model: str, prompt: Prompt, form: Mapping[str, Any], structure: str) -> Any:
        """A message, and a tool whose input is the answer, which gives it its form."""
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if prompt.system:
            request["system"] = prompt.system
        if structure != "none":
            tool = {"name": "grade", "description": _TASK, "input_schema": form}
            request |= {"tools": [tool], "tool_choice": {"type": "tool", "name": "grade"}}
        return request

    def said(self, body: Mapping[str, Any]) -> EndpointAnswer:
        """The tool's input; the text if there is none."""
        blocks = body["content"]
        texts = [
            json.dumps(block["input"], ensure_ascii=False)
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        texts = texts or [block["text"] for block in blocks if block.get("type") == "text"]
        usage = body.get("usage") or {}
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        counts = [_count(usage, name) for name in names]
        input_tokens = None if counts[0] is None else sum(count or 0 for count in counts)
        reason = _incomplete_reason(body.get("stop_reason"))
        return EndpointAnswer(
            "\n".join(texts), input_tokens, _count(usage, "output_tokens"), reason
        )


WIRES: dict[str, Wire] = {wire.name: wire for wire in (OpenAI(), Anthropic())}
"""The protocols by name."""


def schema(grades: tuple[float, ...], *, confidence: bool = False) -> dict[str, Any]:
    """The JSON schema of an answer: a reason, a grade or null, and a confidence if it is wanted."""
    plain = [int(grade) if float(grade).is_integer() else grade for grade in grades]
    properties: dict[str, Any] = {
        "reason": {"type": "string", "description": "one short sentence"},
        "grade": {"type": ["number", "null"], "enum": [*plain, None]},
    }
    if confidence:
        properties["confidence"] = {"type": "number", "description": "from 0 to 1"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def with_parameters(body: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A request with parameters; None removes one.

    Raises:
        UsageError: a parameter that is not the user's to set, or that JSON cannot hold.
    """
    if reserved := sorted(_RESERVED_PARAMETERS & parameters.keys()):
        raise UsageError(
            f"parameter {reserved[0]} is rankgate's own; leave it out.", code="conflicting-options"
        )
    for name, value in parameters.items():
        try:
            json.dumps({name: value}, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError):
            problem = f"parameter {name!r} has a value that JSON cannot hold, such as NaN; fix it."
            raise UsageError(problem, code="out-of-range") from None
    return {**body, **{name: value for name, value in parameters.items() if value is not None}}


def with_defaults(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A user's parameters with those that are set by default, and one limit of tokens at most.

    Where a user names several limits, the largest is sent, and is what an answer can cost.

    Raises:
        UsageError: a limit of tokens that is not a whole number above 0.
    """
    limits = {name: parameters[name] for name in _TOKEN_LIMITS if parameters.get(name) is not None}
    for name, limit in limits.items():
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            problem = f"parameter {name} is {limit!r}; it is a whole number of 1 or more."
            raise UsageError(problem, code="out-of-range")
    all_parameters = {**PARAMETERS, **parameters}
    if not limits:
        return all_parameters
    limit_name = max(limits, key=limits.__getitem__)
    return {
        name: value
        for name, value in all_parameters.items()
        if name not in _TOKEN_LIMITS or name == limit_name
    }


def most_tokens(parameters: Mapping[str, Any]) -> int | None:
    """The longest answer that the parameters of a request allow; None where they set no end."""
    return next(
        (parameters[name] for name in _TOKEN_LIMITS if parameters.get(name) is not None), None
    )


def _incomplete_reason(reason: Any) -> str:
    return _INCOMPLETE_REASONS.get(str(reason).lower(), "")


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS
    return value if is_count else None
