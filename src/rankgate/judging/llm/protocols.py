"""Prompt templates, and the requests and responses of the two model protocols.

The module also creates the messages from the templates.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


_SYSTEM, _USER = "[system]", "[user]"
_TAG = re.compile(r"</?\s*([a-z][\w.-]*)\s*>", re.IGNORECASE)
_PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_REQUIRED_SOURCES = ("query", "document")
_ALL_SOURCES = (*_REQUIRED_SOURCES, "grades")


@dataclass(frozen=True)
class Prompt:
    """The messages of one request.

    Attributes:
        system: the system prompt; may be empty.
        user: the user prompt.
    """

    system: str
    user: str


@dataclass(frozen=True)
class Template:
    """The text of a prompt with placeholders for the query and the document.

    The placeholders are ``{{query}}`` and ``{{document}}`` (all fields), ``{{document.title}}``
    (one field) and ``{{grades}}`` (the scale, one grade per line). Placeholders in inserted texts
    are not replaced. Tags of the template, such as ``<document>``, lose their ``<`` in inserted
    texts, so that a document cannot close the part of the prompt that contains it.

    Attributes:
        name: the name of the template.
        system: the text between the lines ``[system]`` and ``[user]``.
        user: the text after the line ``[user]``; the whole text if there is no such line.
    """

    name: str
    system: str
    user: str

    @property
    def sha256(self) -> str:
        """The hash of both texts."""
        return hashlib.sha256(f"{self.system}\x1f{self.user}".encode()).hexdigest()

    def filled(
        self, query: Mapping[str, str], document: Mapping[str, str], grades: Mapping[float, str] | None = None
    ) -> Prompt:
        """The prompt for one pair; a missing field becomes an empty text.

        Args:
            query: the fields of the query, by name.
            document: the fields of the document, by name.
            grades: the grades of the scale with their labels.
        """
        tags = {match[1] for match in _TAG.finditer(f"{self.system}\n{self.user}")}
        fields_of_source = {"query": _without_tags(query, tags), "document": _without_tags(document, tags)}
        scale = "\n".join(
            f"{grade:g}" if label == f"{grade:g}" else f"{grade:g}  {label}"
            for grade, label in (grades or {}).items()
        )

        def put(match: re.Match[str]) -> str:
            source, _, field = match[1].partition(".")
            if source == "grades":
                return scale
            return (
                fields_of_source[source].get(field, "") if field else _fields_text(fields_of_source[source])
            )

        return Prompt(_PLACE.sub(put, self.system), _PLACE.sub(put, self.user))

    @classmethod
    def parse(cls, text: str, name: str = "template") -> Template:
        """Read a template.

        Raises:
            InputError: a placeholder with an unknown name, or no placeholder for the query or the
                document; with the line.
        """
        parts: dict[str, list[str]] = {_SYSTEM: [], _USER: []}
        current, headings = _USER, set[str]()
        for number, line in enumerate(text.splitlines(), 1):
            _refuse_unknown_places(line, name, number)
            heading = line.strip()
            if heading not in parts:
                parts[current].append(line)
                continue
            if heading in headings or (heading == _SYSTEM and "".join(parts[_USER]).strip()):
                problem = f"{heading} is repeated or too late; [system] comes first, then [user]."
                raise InputError(problem, source=name, line=number, code="invalid-template")
            headings.add(heading)
            current = heading
        system, user = ("\n".join(lines).strip() for lines in parts.values())
        placeholders = {match[1].partition(".")[0] for match in _PLACE.finditer(f"{system}\n{user}")}
        for needed in _REQUIRED_SOURCES:
            if needed not in placeholders:
                problem = f"no place for the {needed}; write {{{{{needed}}}}} where it belongs."
                raise InputError(problem, source=name, code="invalid-template")
        if not user:
            raise InputError("[user] is empty; put the question there.", source=name, code="invalid-template")
        return cls(name, system, user)


def _refuse_unknown_places(line: str, name: str, number: int) -> None:
    for match in _PLACE.finditer(line):
        source, dot, field = match[1].partition(".")
        is_known = bool(field) and source in _REQUIRED_SOURCES if dot else source in _ALL_SOURCES
        if not is_known:
            problem = (
                f"unknown placeholder {match[0]}; known: {{{{query}}}}, {{{{document}}}}, one of their "
                "fields, "
                "as in {{document.title}}, and {{grades}}."
            )
            raise InputError(problem, source=name, line=number, code="invalid-template")


def _without_tags(fields: Mapping[str, str], tags: set[str]) -> Mapping[str, str]:
    """The fields, with ``&lt;`` at the start of each tag of the template."""
    if not tags:
        return fields
    names = "|".join(sorted(map(re.escape, tags)))
    begins = re.compile(rf"<(?=\s*/?\s*(?:{names})\b)", re.IGNORECASE)
    return {name: begins.sub("&lt;", text) for name, text in fields.items()}


def _fields_text(fields: Mapping[str, str]) -> str:
    """The text of a single field; several fields are joined with their names."""
    if len(fields) == 1:
        return next(iter(fields.values()))
    return "\n".join(f"{name}: {value}" for name, value in fields.items())


_TASK = "Gives the document its grade."
PARAMETERS: JsonObject = {"temperature": 0, "max_tokens": 512}
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
        text: the model's answer; JSON if the model used the requested structure.
        input_tokens: the number counted by the endpoint; None if it is not counted.
        output_tokens: the same for the output.
        ended: the reason for an incomplete answer (refused, blocked or cut off), which is never a
            grade; empty otherwise.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    ended: str = ""


class Wire(Protocol):
    """The protocol of a family of model endpoints."""

    name: str
    url: str
    path: str

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers of a request, with the key if there is one."""
        ...

    def body(self, model: str, prompt: Prompt, form: JsonObject, structure: str) -> dict[str, Json]:
        """The body of a request without parameters; ``form`` is the JSON schema of answers."""
        ...

    def parse_answer(self, body: JsonObject) -> EndpointAnswer:
        """Parse the response of an endpoint.

        Raises:
            KeyError, IndexError, TypeError, AttributeError, ValueError: the response has another
                form.
        """
        ...


class OpenAI:
    """The chat completions protocol, which most model servers support."""

    name = "openai"
    url = "https://api.openai.com/v1"
    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers with a bearer token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, prompt: Prompt, form: JsonObject, structure: str) -> dict[str, Json]:
        """The body with messages and the JSON schema of the answer."""
        messages: list[JsonObject] = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        request: dict[str, Json] = {"model": model, "messages": messages}
        if structure == "object":
            request["response_format"] = {"type": "json_object"}
        if structure == "schema":
            json_schema: JsonObject = {"name": "grade", "strict": True, "schema": form}
            request["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        return request

    def parse_answer(self, body: JsonObject) -> EndpointAnswer:
        """Parse the first choice."""
        choices = body["choices"]
        if not isinstance(choices, Sequence):
            raise TypeError("choices are not a list")
        choice = _object(choices[0])
        message = _object(choice["message"])
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(_block_texts(_objects(content)))
        usage = _object(body.get("usage") or {})
        refusal = message.get("refusal")
        reason = (
            f"refused: {str(refusal)[:_MAX_REFUSAL]}"
            if refusal
            else _incomplete_reason(choice.get("finish_reason"))
        )
        if content is not None and not isinstance(content, str):
            raise ValueError("content is not text")
        return EndpointAnswer(
            content or "", _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), reason
        )


class Anthropic:
    """The messages protocol of Anthropic's API."""

    name = "anthropic"
    url = "https://api.anthropic.com"
    path = "/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers with the key and the protocol version."""
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(self, model: str, prompt: Prompt, form: JsonObject, structure: str) -> dict[str, Json]:
        """The body with a message, and a tool whose input schema defines the answer."""
        request: dict[str, Json] = {"model": model, "messages": [{"role": "user", "content": prompt.user}]}
        if prompt.system:
            request["system"] = prompt.system
        if structure != "none":
            tool: JsonObject = {"name": "grade", "description": _TASK, "input_schema": form}
            request |= {"tools": [tool], "tool_choice": {"type": "tool", "name": "grade"}}
        return request

    def parse_answer(self, body: JsonObject) -> EndpointAnswer:
        """Parse the input of the tool, or the text of an answer without a tool."""
        blocks = _objects(body["content"])
        texts = [
            json.dumps(block["input"], ensure_ascii=False)
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        texts = texts or _block_texts(blocks)
        usage = _object(body.get("usage") or {})
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        counts = [_count(usage, name) for name in names]
        input_tokens = None if counts[0] is None else sum(count or 0 for count in counts)
        reason = _incomplete_reason(body.get("stop_reason"))
        return EndpointAnswer("\n".join(texts), input_tokens, _count(usage, "output_tokens"), reason)


WIRES: dict[str, Wire] = {wire.name: wire for wire in (OpenAI(), Anthropic())}
"""The protocols by name."""


def schema(grades: tuple[float, ...], *, confidence: bool = False) -> JsonObject:
    """The JSON schema of an answer: a reason, a grade or null, and optionally a confidence."""
    plain = [int(grade) if float(grade).is_integer() else grade for grade in grades]
    properties: dict[str, JsonObject] = {
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


def with_parameters(body: dict[str, Json], parameters: JsonObject) -> dict[str, Json]:
    """A request with parameters; a parameter with the value None is removed.

    Raises:
        UsageError: a parameter may not be set by users, or JSON cannot hold its value.
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


def with_defaults(parameters: JsonObject) -> dict[str, Json]:
    """A user's parameters with the defaults, and at most one token limit.

    If a user names several limits, the largest limit is sent and is the largest cost of an answer.

    Raises:
        UsageError: a token limit is not a whole number above 0.
    """
    limits: dict[str, int] = {}
    for name in _TOKEN_LIMITS:
        limit = parameters.get(name)
        if limit is None:
            continue
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            problem = f"parameter {name} is {limit!r}; it is a whole number of 1 or more."
            raise UsageError(problem, code="out-of-range")
        limits[name] = limit
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
    """The token limit of a request's parameters; None without a limit."""
    return next((parameters[name] for name in _TOKEN_LIMITS if parameters.get(name) is not None), None)


def _incomplete_reason(reason: Json) -> str:
    return _INCOMPLETE_REASONS.get(str(reason).lower(), "")


def _count(usage: JsonObject, name: str) -> int | None:
    count = usage.get(name)
    if not isinstance(count, int) or isinstance(count, bool):
        return None
    return count if 0 <= count <= _MAX_TOKENS else None


def _object(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return value


def _objects(value: Json) -> list[JsonObject]:
    if not isinstance(value, str | Sequence | Mapping):
        raise TypeError("not a list")
    return [_object(member) for member in value]


def _block_texts(blocks: list[JsonObject]) -> list[str]:
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not text")
    return [str(text) for text in texts]
