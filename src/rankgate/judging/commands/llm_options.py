"""The options that make a language model the rater."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from rankgate.console.pairs import pairs
from rankgate.errors import UsageError
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.judge import PARAMETERS, Judge
from rankgate.judging.llm.protocols import STRUCTURES, WIRES

_DEFAULT = Judge("default")
_SAID = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())

_OPTIONS = (
    click.option(
        "--llm",
        metavar="MODEL",
        help="Rate with this language model; the options below apply to it.",
    ),
    click.option(
        "--protocol",
        type=click.Choice(tuple(WIRES)),
        default=_DEFAULT.protocol,
        show_default=True,
        help="The protocol of the endpoint; most model servers use openai.",
    ),
    click.option(
        "--url",
        default="",
        metavar="URL",
        help="The endpoint, such as http://localhost:11434/v1; by default that of the protocol.",
    ),
    click.option(
        "--key-from",
        metavar="VARIABLE",
        help="The environment variable with the API key; the key is never stored.",
    ),
    click.option(
        "--template",
        type=click.Path(),
        metavar="FILE",
        help="The prompt file, with {{query}} and {{document}}; by default a built-in one for "
        "grades 0 "
        "to 3, or for 0 and 1.",
    ),
    click.option(
        "--structure",
        type=click.Choice(STRUCTURES),
        default=_DEFAULT.structure,
        show_default=True,
        help="How the endpoint enforces JSON answers: by schema, as any object, or not.",
    ),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=JSON",
        help=f"A parameter of requests; null removes it. Default: {_SAID}.",
    ),
    click.option(
        "--concurrency",
        "concurrency",
        type=click.IntRange(1, 256),
        default=_DEFAULT.concurrency,
        show_default=True,
        help="The largest number of requests at the same time.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=_DEFAULT.retries,
        show_default=True,
        help="How often a request is tried again.",
    ),
    click.option(
        "--backoff",
        "backoff",
        type=click.FloatRange(min=0),
        default=_DEFAULT.backoff,
        show_default=True,
        help="Seconds to wait before the first retry, doubled each time.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=_DEFAULT.timeout,
        show_default=True,
        help="The time limit of a request in seconds.",
    ),
    click.option(
        "--prices",
        type=(float, float),
        default=None,
        metavar="INPUT OUTPUT",
        help="The price of a million tokens of input and of output.",
    ),
    click.option(
        "--ceiling",
        type=click.FloatRange(min=0),
        metavar="MONEY",
        help="The cost limit of all requests for this file of ratings; needs --prices.",
    ),
    click.option(
        "--longest",
        type=click.IntRange(min=1),
        metavar="CHARACTERS",
        help="Shorten each field of a document to this length; without it fields are complete.",
    ),
    click.option("--again", is_flag=True, help="Ask again for pairs whose answer had no grade."),
)
_NAMES = ("protocol", "url", "key_from", "template", "structure", "parameters", "concurrency",
          "retries", "backoff", "timeout", "prices", "ceiling", "longest", "again")  # fmt: skip


def judge(function: Callable[..., Any]) -> Callable[..., Any]:
    """All of them; the command gets the ``judge`` that they make, None without ``--llm``."""

    @functools.wraps(function)
    def chosen(*args: Any, llm: str | None, **rest: Any) -> Any:  # noqa: ANN401
        given = {name: rest.pop(name) for name in _NAMES}
        return function(*args, judge=_judge(llm, given), **rest)

    for option in reversed(_OPTIONS):
        chosen = option(chosen)
    return chosen


def _judge(model: str | None, given: dict[str, Any]) -> Judge | None:
    if model is None:
        ctx = click.get_current_context()
        for name in given:
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                option = next(each.opts[0] for each in ctx.command.params if each.name == name)
                raise UsageError(
                    f"{option} is for language models; name one with --llm.",
                    code="conflicting-options",
                )
        return None
    prices = given["prices"]
    if prices is not None:
        if not all(math.isfinite(price) and price >= 0 for price in prices):
            raise UsageError("--prices: a price is a number of 0 or more.", code="out-of-range")
        given["prices"] = Prices(*prices)
    given["parameters"] = pairs(given["parameters"], "--parameter", _value)
    return Judge(model, **given)


def _value(word: str) -> Any:  # noqa: ANN401 - what JSON holds
    try:
        return json.loads(word)
    except ValueError:
        return word
