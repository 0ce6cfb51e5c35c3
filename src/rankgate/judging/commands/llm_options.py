"""The options that make a language model the rater."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import option
from rankgate.core.console.pairs import parse_pairs
from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.protocols import PARAMETERS

_DEFAULTS = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())


def _field_options(*names: str) -> list[Callable[..., Any]]:
    """Options declared by fields of `Judge`; a second word is the metavar."""
    declared = fields_of(Judge)
    split = (field_spec.partition(" ") for field_spec in names)
    return [option(declared[name], metavar=metavar or None) for name, _, metavar in split]


_OPTIONS = (
    click.option(
        "--llm",
        metavar="MODEL",
        help="Rate with this language model; the options below apply to it.",
    ),
    *_field_options("protocol", "url URL", "key_from VARIABLE"),
    click.option(
        "--template",
        type=click.Path(),
        metavar="FILE",
        help="The prompt file, with {{query}} and {{document}}; by default a built-in one for "
        "grades 0 to 3, or for 0 and 1.",
    ),
    *_field_options("structure"),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=JSON",
        help=f"A parameter of requests; null removes it. Default: {_DEFAULTS}.",
    ),
    *_field_options("concurrency", "retries", "backoff", "timeout"),
    click.option(
        "--prices",
        type=(float, float),
        metavar="INPUT OUTPUT",
        help="The price of a million tokens of input and of output.",
    ),
    *_field_options(
        "ceiling MONEY",
        "calls N",
        "tokens N",
        "longest CHARACTERS",
        "again",
        "confidence",
        "attack",
    ),
)
_NAMES = tuple(name for name in fields_of(Judge) if name != "model")


def add_judge_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add all these options; the command gets their ``judge``, None without ``--llm``."""

    @functools.wraps(function)
    def chosen(*args: Any, llm: str | None, **arguments: Any) -> Any:  # noqa: ANN401
        judge_options = {name: arguments.pop(name) for name in _NAMES}
        return function(*args, judge=_judge(llm, judge_options), **arguments)

    for decorator in reversed(_OPTIONS):
        chosen = decorator(chosen)
    return chosen


def _judge(model: str | None, judge_options: dict[str, Any]) -> Judge | None:
    if model is None:
        ctx = click.get_current_context()
        for name in judge_options:
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = next(
                    parameter.opts[0] for parameter in ctx.command.params if parameter.name == name
                )
                raise UsageError(
                    f"{flag} is for language models; name one with --llm.",
                    code="conflicting-options",
                )
        return None
    if judge_options["prices"] is not None:
        judge_options["prices"] = Prices(*judge_options["prices"])
    judge_options["parameters"] = parse_pairs(
        judge_options["parameters"], "--parameter", _parse_json
    )
    return Judge(model, **judge_options)


def _parse_json(text: str) -> Any:  # noqa: ANN401 - what JSON holds
    try:
        return json.loads(text)
    except ValueError:
        return text
