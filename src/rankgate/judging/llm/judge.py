"""Configuration of a model as a judge, and its requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.judging.llm.protocols import STRUCTURES, WIRES, most_tokens, with_parameters

if TYPE_CHECKING:
    from rankgate.judging.llm.costs import Prices
    from rankgate.judging.llm.prompts import Template
    from rankgate.judging.rating.tasks import Task

PARAMETERS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 512}
"""What requests say where nothing else is said."""


@dataclass(frozen=True)
class Ask:
    """One request to be made.

    Attributes:
        task: the pair.
        body: what is sent.
        request: the hash of what is sent and of the scale, by which an answer is known again.
    """

    task: Task
    body: bytes
    request: str


@dataclass(frozen=True)
class Judge:
    """A language model, and how it is asked.

    Attributes:
        model: its name at the endpoint.
        protocol: ``openai`` (chat completions, which most servers speak) or ``anthropic``.
        url: the endpoint's base; the protocol's own where it is empty.
        key_from: the environment variable that holds the key; None for an endpoint without one.
        template: a file; without it the one that comes with rankgate for grades 0 to 3 or 0 and 1.
        structure: ``schema``, ``object`` or ``none``: how far the endpoint sees to the JSON.
        parameters: of requests, over ``PARAMETERS``; None takes one away.
        concurrency: the largest number of requests at the same time.
        retries: how many times a request is tried again.
        timeout: the time limit of a request in seconds.
        backoff: seconds before a request is tried again for the first time.
        prices: of tokens, by the million.
        ceiling: the most that all requests of one file of ratings may cost.
        longest: characters of a field of a document that are shown; all without it.
        again: ask again where an answer had no grade.

    Raises:
        UsageError: a protocol or structure that there is not; a ceiling without prices.
    """

    model: str
    protocol: str = "openai"
    url: str = ""
    key_from: str | None = None
    template: str | Path | None = None
    structure: str = "schema"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 4
    retries: int = 5
    timeout: float = 60.0
    backoff: float = 1.0
    prices: Prices | None = None
    ceiling: float | None = None
    longest: int | None = None
    again: bool = False

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise UsageError("no model is named.", code="missing-input")
        if self.protocol not in WIRES:
            known = " and ".join(WIRES)
            raise UsageError(
                f"unknown protocol '{self.protocol}'; there are {known}.", code="unknown-choice"
            )
        if self.structure not in STRUCTURES:
            known = ", ".join(STRUCTURES)
            raise UsageError(
                f"unknown structure '{self.structure}'; there are {known}.", code="unknown-choice"
            )
        if self.ceiling is not None and self.prices is None:
            raise UsageError(
                "a ceiling needs the prices of tokens; name both.", code="missing-input"
            )
        if self.ceiling is not None and self.most_tokens is None:
            raise UsageError(
                "a ceiling needs an end to answers; set the parameter max_tokens.",
                code="missing-input",
            )

    @property
    def most_tokens(self) -> int | None:
        """Of an answer; None where the parameters set no end."""
        return most_tokens({**PARAMETERS, **self.parameters})

    def ask(self, task: Task, template: Template, scale: Mapping[float, str]) -> Ask:
        """The request for a pair.

        Raises:
            UsageError: a parameter that is not the user's to set.
        """
        document = {name: text[: self.longest] for name, text in task.document.items()}
        prompt = template.filled(task.query, document, scale)
        body = WIRES[self.protocol].body(self.model, prompt, tuple(scale), self.structure)
        asked = with_parameters(body, {**PARAMETERS, **self.parameters})
        sent = json.dumps(asked, ensure_ascii=False).encode()
        on = json.dumps([[grade, label] for grade, label in scale.items()])
        return Ask(task, sent, hashlib.sha256(sent + b"\x1f" + on.encode()).hexdigest())
