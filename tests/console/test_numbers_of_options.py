"""Numeric parameters of Python are also numeric on the command line, with the same limits."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache

import click
import pytest

from rankgate import online
from rankgate.interface.cli import rankgate as program

NUMBER = re.compile(r"^(?:Annotated\[)?(?:int|float|Count|Share|Cutoff)\b")

VALUES = [online.Events, online.Design, online.ExperimentTest, online.Grading, online.Privacy]


def _commands(command, context, *path):
    if not isinstance(command, click.Group):
        yield path, command
        return
    with click.Context(command, parent=context) as child_context:
        for name in command.list_commands(child_context):
            subcommand = command.get_command(child_context, name)
            if subcommand is not None:
                yield from _commands(subcommand, child_context, *path, name)


def _verbs(command):
    """The functions that the module of a command imports, and the values that they take."""
    module = sys.modules[inspect.unwrap(command.callback).__module__]
    verbs = [function for function in vars(module).values() if inspect.isfunction(function)]
    return verbs + VALUES * module.__name__.startswith("rankgate.online.")


@cache
def _parameters(verb):
    return inspect.signature(verb).parameters


def _numbers():
    for path, command in _commands(program, None):
        for option in command.params:
            if not isinstance(option, click.Option) or option.multiple:
                continue
            for verb in _verbs(command):
                declared = _parameters(verb).get(option.name)
                if declared is not None and NUMBER.match(str(declared.annotation)):
                    yield pytest.param(option, id=f"{' '.join(path)} {option.opts[-1]}")
                    break


NUMBERS = list(_numbers())


def test_optional_numbers_are_among_them():
    names = {case.id for case in NUMBERS}
    assert {"online ab --winsorise", "online kpi --threads", "online ingest --rank-base"} <= names
    assert len(names) > 80


@pytest.mark.parametrize("option", NUMBERS)
def test_a_number_in_python_is_a_number_on_the_command_line(option):
    value = (
        option.type.convert("1", option, click.Context(click.Command("any")))
        if (not isinstance(option.type, click.FloatRange | click.IntRange))
        else _inside(option.type)
    )
    assert isinstance(value, int | float)
    with pytest.raises(click.BadParameter):
        option.type.convert("many", option, click.Context(click.Command("any")))


def _inside(limits):
    low = -1 if limits.min is None else limits.min
    high = low + 2 if limits.max is None else limits.max
    middle = (low + high) // 2 if isinstance(limits, click.IntRange) else (low + high) / 2
    return limits.convert(str(middle), None, None)


def test_open_ends_are_refused():
    (share,) = [case.values[0] for case in NUMBERS if case.id == "online ab --winsorise"]
    assert share.type.convert("0.999", share, None) == 0.999
    for end in ("0.5", "1", "1.5"):
        with pytest.raises(click.BadParameter):
            share.type.convert(end, share, None)
