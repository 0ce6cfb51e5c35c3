"""Help and usage errors of commands whose modules are not loaded."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from rankgate.interface.cli import COMMANDS, rankgate
from rankgate.interface.cli.startup import described_command
from support.command import assert_refused


def helps(command, context, width):
    """The help of a command and its subcommands, by path."""
    context = click.Context(command, parent=context, info_name=command.name, terminal_width=width)
    command._help_option = None  # click keeps that of the first context, perhaps of another test
    pages = {context.command_path: command.get_help(context)}
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        pages |= helps(command.get_command(context, name), context, width)
    return pages


def arguments(command, context):
    """The parameters of a command and its subcommands; help shows only a part of them."""
    kinds = ("opts", "secondary_opts", "nargs", "multiple", "required", "is_flag", "envvar")
    parameters = [
        [*(getattr(param, kind, None) for kind in kinds), param.callback is not None]
        for param in command.params
    ]
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        parameters += arguments(command.get_command(context, name), context)
    return parameters


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "trec_eval"])
def test_a_described_command_has_the_help_of_the_command(name):
    context = click.Context(rankgate, info_name="rankgate", **rankgate.context_settings)
    command, described = rankgate.get_command(context, name), described_command(name)
    for width in (50, 78):
        assert helps(described, context, width) == helps(command, context, width)
    assert arguments(described, context) == arguments(command, context)


def test_help_and_usage_errors_load_no_numeric_library():
    script = (
        "import sys\n"
        "from rankgate.interface.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    for option in ('--help', '--no-such-option'):\n"
        "        sys.argv = ['rankgate', name, option]\n"
        "        try:\n            main()\n"
        "        except SystemExit as end:\n"
        "            assert (end.code == 0) == (option == '--help'), sys.argv\n"
        "print({'numpy', 'polars', 'scipy', 'duckdb'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.endswith("\nset()\n")


def of_type(command, kind):
    """The parameters of a command and of its subcommands that have a type."""
    subcommands = getattr(command, "commands", {}).values()
    own = [parameter for parameter in command.params if isinstance(parameter.type, kind)]
    return [*own, *(parameter for subcommand in subcommands for parameter in of_type(subcommand, kind))]


@pytest.mark.parametrize("digits", [20, 400])
def test_numbers_that_64_bits_do_not_hold_are_refused_by_every_option(digits):
    described = [command for command in map(described_command, COMMANDS) if command]
    parameters = [
        parameter for command in described for parameter in of_type(command, click.types.IntParamType)
    ]
    assert len(parameters) > 20
    for parameter in parameters:
        for sign in ("", "-"):
            with pytest.raises(click.BadParameter):
                parameter.type.convert(sign + "1" * digits, parameter, None)


def test_numbers_are_finite_in_every_option():
    described = [command for command in map(described_command, COMMANDS) if command]
    parameters = [
        parameter for command in described for parameter in of_type(command, click.types.FloatParamType)
    ]
    assert len(parameters) > 20
    for parameter in parameters:
        for text in ("nan", "inf", "-inf", "1e999"):
            with pytest.raises(click.BadParameter):
                parameter.type.convert(text, parameter, None)


def test_cutoffs_have_a_limit(run, small):
    for digits in (20, 400):
        assert_refused(run("eval", *small, "-m", f"P@{'1' * digits}"), "invalid-parameter")
