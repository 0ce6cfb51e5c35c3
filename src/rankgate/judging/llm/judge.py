"""Configuration of a model as a judge, and its requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankgate.core.declare import Count, Range, check_fields, fields_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.attacks import Attack, attack_document
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.prompts import Template
from rankgate.judging.llm.protocols import (
    WIRES,
    most_tokens,
    schema,
    with_defaults,
    with_parameters,
)

if TYPE_CHECKING:
    from rankgate.judging.rating.tasks import Task

_CONFIDENCE_PROMPT = (
    'Add "confidence" to the object: how sure you are of the grade, a number from 0 to 1.'
)


@dataclass(frozen=True)
class JudgeRequest:
    """One request to be made.

    Attributes:
        task: the pair.
        body: the bytes of the request.
        request: the hash of body and scale, which identifies a saved answer.
    """

    task: Task
    body: bytes
    request: str


@dataclass(frozen=True)
class Judge:
    """A language model, and how it is asked.

    Attributes:
        model: its name at the endpoint.
        protocol: The protocol of the endpoint; most model servers use openai.
        url: The endpoint, such as http://localhost:11434/v1; by default that of the protocol.
        key_from: The environment variable with the API key; the key is never stored.
        template: a file; without it the one that comes with rankgate for grades 0 to 3 or 0 and 1.
        structure: How the endpoint enforces JSON answers: by schema, as any object, or not.
        parameters: of requests, over ``protocols.PARAMETERS``; None takes one away.
        concurrency: The largest number of requests at the same time.
        retries: How often a request is tried again.
        timeout: The time limit of a request in seconds.
        backoff: Seconds to wait before the first retry, doubled each time.
        prices: of tokens, by the million.
        ceiling: The cost limit of all requests for this file of ratings; needs --prices.
        calls: The largest number of requests for this file of ratings, or for this run in a store.
        tokens: The largest number of tokens, of input and output together, counted as requests are.
        longest: Shorten each field of a document to this length; without it fields are complete.
        again: Ask again for pairs whose answer had no grade.
        confidence: Ask for a confidence from 0 to 1 with each grade.
        attack: Show documents changed in a way that must not change their grade, for rankgate
            admit --attacked; the rater is then "MODEL under ATTACK".

    Raises:
        UsageError: a protocol or structure that there is not; a number out of its range; a
            parameter that JSON cannot hold; a ceiling without prices.
    """

    model: str
    protocol: Literal["openai", "anthropic"] = "openai"
    url: str = ""
    key_from: str | None = None
    template: str | Path | Template | None = None
    structure: Literal["schema", "object", "none"] = "schema"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    concurrency: Annotated[int, Range(1, 256)] = 4
    retries: Annotated[int, Range(0)] = 5
    timeout: Annotated[float, Range(0, exclusive=True)] = 60.0
    backoff: Annotated[float, Range(0)] = 1.0
    prices: Prices | None = None
    ceiling: Annotated[float, Range(0)] | None = None
    calls: Count | None = None
    tokens: Count | None = None
    longest: Count | None = None
    again: bool = False
    confidence: bool = False
    attack: Attack = "none"

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise UsageError("no model is named.", code="missing-input")
        kinds = {name: declared.kind for name, declared in fields_of(Judge).items()}
        choices = [name for name, kind in kinds.items() if kind == "choice"]
        numbers = [name for name, kind in kinds.items() if kind in {"int", "float"}]
        check_fields(self, *choices, code="unknown-choice")
        check_fields(self, *numbers, code="out-of-range")
        with_parameters({}, self.sent_parameters)
        if self.ceiling is not None and self.prices is None:
            raise UsageError(
                "a ceiling needs the prices of tokens; name both.", code="missing-input"
            )
        if (self.ceiling, self.tokens) != (None, None) and self.most_tokens is None:
            raise UsageError(
                "a limit of tokens or money needs an end to answers; set the parameter max_tokens.",
                code="missing-input",
            )

    @property
    def name(self) -> str:
        """The rater's name: the model, and the attack on its documents if there is one."""
        return self.model if self.attack == "none" else f"{self.model} under {self.attack}"

    @property
    def ceilings(self) -> dict[str, float | None]:
        """Its limits, by the names of a `Budget`."""
        return {"requests": self.calls, "tokens": self.tokens, "money": self.ceiling}

    @property
    def most_tokens(self) -> int | None:
        """The token limit of an answer; None without one."""
        return most_tokens(self.sent_parameters)

    @property
    def sent_parameters(self) -> dict[str, Any]:
        """Parameters of requests: the user's, over the defaults."""
        return with_defaults(self.parameters)

    def ask(self, task: Task, template: Template, scale: Mapping[float, str]) -> JudgeRequest:
        """The request for a pair.

        Raises:
            UsageError: a parameter that is not the user's to set.
        """
        fields = {name: text[: self.longest] for name, text in task.document.items()}
        document = attack_document(
            self.attack, task.query.get("text", ""), fields, f"{max(scale):g}"
        )
        prompt = template.filled(task.query, document, scale)
        if self.confidence:
            prompt = replace(prompt, user=f"{prompt.user}\n\n{_CONFIDENCE_PROMPT}")
        form = schema(tuple(scale), confidence=self.confidence)
        body = WIRES[self.protocol].body(self.model, prompt, form, self.structure)
        request = with_parameters(body, self.sent_parameters)
        request_bytes = json.dumps(request, ensure_ascii=False).encode()
        scale_text = json.dumps([[grade, label] for grade, label in scale.items()])
        return JudgeRequest(
            task,
            request_bytes,
            hashlib.sha256(request_bytes + b"\x1f" + scale_text.encode()).hexdigest(),
        )
