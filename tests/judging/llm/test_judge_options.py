"""The options of a language model need its name."""

import click
import pytest
from click.testing import CliRunner

from rankgate.core.errors import UsageError
from rankgate.judging.commands.rate_commands import add_judge_options


@click.command()
@add_judge_options
def command(judge):
    click.echo(judge and f"{judge.model} {judge.calls} {judge.parameters}")


def invoke(*words):
    return CliRunner().invoke(command, words)


def test_without_a_model_there_is_no_judge():
    assert invoke().output == "\n"


@pytest.mark.parametrize(
    "words",
    [("--calls", "3"), ("--parameter", "temperature=1"), ("--prices", "1", "2"), ("--template", "a.txt")],
)
def test_an_option_without_a_model_is_named(words):
    error = invoke(*words).exception
    assert isinstance(error, UsageError)
    assert error.code == "conflicting-options"
    assert str(error).partition(" ")[0] == words[0]


def test_a_model_gets_its_options():
    assert invoke("--llm", "m", "--calls", "3", "--parameter", "temperature=1").output == (
        "m 3 {'temperature': 1}\n"
    )
