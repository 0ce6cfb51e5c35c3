"""Shared options of the commands ndeval and gdeval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def web_track_options(program: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The arguments and options of both programs."""
    declared = (
        click.argument("qrels", type=click.Path(), metavar="QRELS"),
        click.argument("run", type=click.Path(), metavar="RUN"),
        click.option(
            "-c",
            "complete",
            is_flag=True,
            help="Divide by all judged topics, not by those that RUN has.",
        ),
        click.option(
            "-baseline",
            type=click.Path(),
            metavar="RUN",
            help=f"Print differences from this run, as {program} does.",
        ),
        click.option(
            "-riskAlpha",
            "risk",
            default="0",
            show_default=True,
            metavar="A",
            callback=_number,
            help="With -baseline: a loss weighs 1 + A times as much as a gain.",
        ),
    )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(declared):
            function = decorator(function)
        return function

    return decorate


def _number(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """The text of a number that is not below 0; it is printed as it is written."""
    try:
        if float(value) >= 0:
            return value
    except ValueError:
        pass
    raise click.BadParameter(f"'{value}' is not a number from 0 on.", ctx, parameter)
