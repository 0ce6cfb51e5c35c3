"""The options that make a language model the rater."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import option
from rankgate.core.console.pairs import pairs
from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.protocols import PARAMETERS

_SAID = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())


def _declared(*names: str) -> list[Callable[..., Any]]:
    """Options that fields of `Judge` declare; a second word is what the value is called."""
    declared = fields_of(Judge)
    split = (words.partition(" ") for words in names)
    return [option(declared[name], metavar=metavar or None) for name, _, metavar in split]


_OPTIONS = (
    click.option(
        "--llm",
        metavar="MODEL",
        help="Rate with this language model; the options below apply to it.",
    ),
    *_declared("protocol", "url URL", "key_from VARIABLE"),
    click.option(
        "--template",
        type=click.Path(),
        metavar="FILE",
        help="The prompt file, with {{query}} and {{document}}; by default a built-in one for "
        "grades 0 to 3, or for 0 and 1.",
    ),
    *_declared("structure"),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=JSON",
        help=f"A parameter of requests; null removes it. Default: {_SAID}.",
    ),
    *_declared("concurrency", "retries", "backoff", "timeout"),
    click.option(
        "--prices",
        type=(float, float),
        metavar="INPUT OUTPUT",
        help="The price of a million tokens of input and of output.",
    ),
    *_declared(
        "ceiling MONEY",
        "calls N",
        "tokens N",
        "longest CHARACTERS",
        "again",
        "confidence",
        "attack",
    ),
)
_NAMES = tuple(each for each in fields_of(Judge) if each != "model")


def judge(function: Callable[..., Any]) -> Callable[..., Any]:
    """All of them; the command gets the ``judge`` that they make, None without ``--llm``."""

    @functools.wraps(function)
    def chosen(*args: Any, llm: str | None, **rest: Any) -> Any:  # noqa: ANN401
        given = {name: rest.pop(name) for name in _NAMES}
        return function(*args, judge=_judge(llm, given), **rest)

    for each in reversed(_OPTIONS):
        chosen = each(chosen)
    return chosen


def _judge(model: str | None, given: dict[str, Any]) -> Judge | None:
    if model is None:
        ctx = click.get_current_context()
        for name in given:
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = next(each.opts[0] for each in ctx.command.params if each.name == name)
                raise UsageError(
                    f"{flag} is for language models; name one with --llm.",
                    code="conflicting-options",
                )
        return None
    if given["prices"] is not None:
        given["prices"] = Prices(*given["prices"])
    given["parameters"] = pairs(given["parameters"], "--parameter", _value)
    return Judge(model, **given)


def _value(word: str) -> Any:  # noqa: ANN401 - what JSON holds
    try:
        return json.loads(word)
    except ValueError:
        return word
