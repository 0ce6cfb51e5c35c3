"""Request and response bodies of the two model protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.errors import UsageError
from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.judging.llm.prompts import Prompt

_TASK = "Gives the document its grade."
_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_OURS = {"model", "messages", "system", "stream", "n", "tools", "tool_choice", "response_format"}


@dataclass(frozen=True)
class Said:
    """What the endpoint sent.

    Attributes:
        text: the model's answer; JSON where the model used the structure it was given.
        input_tokens: as the endpoint counts them; None where it does not.
        output_tokens: as above.
        ended: why the answer may lack a grade: it was refused, or cut off; empty otherwise.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    ended: str = ""


class Wire(Protocol):
    """How a family of endpoints is spoken to."""

    name: str
    url: str
    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers of a request, with the key where there is one."""
        ...

    def body(self, model: str, prompt: Prompt, form: Mapping[str, Any], structure: str) -> Any:
        """A request without parameters; ``form`` is the JSON schema of answers."""
        ...

    def said(self, body: Mapping[str, Any]) -> Said:
        """What an answer says.

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
        found: dict[str, Any] = {"model": model, "messages": messages}
        if structure == "object":
            found["response_format"] = {"type": "json_object"}
        if structure == "schema":
            named = {"name": "grade", "strict": True, "schema": form}
            found["response_format"] = {"type": "json_schema", "json_schema": named}
        return found

    def said(self, body: Mapping[str, Any]) -> Said:
        """The first choice."""
        choice = body["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        usage = body.get("usage") or {}
        ended = {"length": "cut off at max_tokens", "content_filter": "blocked by a filter"}
        refusal = message.get("refusal")
        why = f"refused: {refusal}" if refusal else ended.get(str(finish), "")
        if content is not None and not isinstance(content, str):
            raise ValueError("content is not text")
        return Said(
            content or "", _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), why
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
        found: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if prompt.system:
            found["system"] = prompt.system
        if structure != "none":
            tool = {"name": "grade", "description": _TASK, "input_schema": form}
            found |= {"tools": [tool], "tool_choice": {"type": "tool", "name": "grade"}}
        return found

    def said(self, body: Mapping[str, Any]) -> Said:
        """The tool's input; the text if there is none."""
        import json

        blocks = body["content"]
        texts = [json.dumps(each["input"]) for each in blocks if each.get("type") == "tool_use"]
        texts = texts or [each["text"] for each in blocks if each.get("type") == "text"]
        usage = body.get("usage") or {}
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        counts = [_count(usage, name) for name in names]
        result = None if counts[0] is None else sum(count or 0 for count in counts)
        ended = {"max_tokens": "cut off at max_tokens", "refusal": "refused"}
        why = ended.get(str(body.get("stop_reason")), "")
        return Said("\n".join(texts), result, _count(usage, "output_tokens"), why)


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
    """A request with parameters; None takes one away.

    Raises:
        UsageError: a parameter that is not the user's to set.
    """
    if wrong := sorted(_OURS & parameters.keys()):
        raise UsageError(
            f"parameter {wrong[0]} is rankgate's own; leave it out.", code="conflicting-options"
        )
    return {**body, **{name: value for name, value in parameters.items() if value is not None}}


def most_tokens(parameters: Mapping[str, Any]) -> int | None:
    """The longest answer that the parameters allow; None where they set no end."""
    for name in _TOKENS:
        value = parameters.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
