"""Options of a command come from the signature and the docstring of its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import click
import pytest
from click.testing import CliRunner

from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import help_text
from rankgate.core.console.terminal_output import prints
from rankgate.core.declare import Range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.data.input_types import QrelsLike


def verb(
    *,
    depth: Annotated[int, Range(1)] = 10,
    share: Annotated[float, Range(0, 1)] = 0.5,
    level: Annotated[float, Range(0, 1, exclusive=True)] = 0.95,
    way: Literal["near", "far"] = "near",
    judged: QrelsLike | None = None,
    tags: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    shuffle: bool = False,
    query: str,
) -> None:
    """Do nothing.

    Args:
        depth: how far, with ``share`` and ``other``.
        share: how much.
        level: between 0 and 1.
        way: where to.
        judged: judgments.
        tags: names.
        weights: numbers by name.
        shuffle: in random order.
        query: an id.
    """


NAMES = ("depth N -k", "share", "level", "way", "judged", "tags TAG --tag", "weights", "shuffle", "query")


@click.command()
@verb_options(verb, *NAMES)
def command(**chosen):
    click.echo(repr(chosen))


def chosen(*words):
    ended = CliRunner().invoke(command, words)
    return eval(ended.output) if ended.exit_code == 0 else ended.exit_code  # noqa: S307


def test_defaults_are_those_of_the_function():
    assert chosen("--query", "q") == {
        "depth": 10,
        "share": 0.5,
        "level": 0.95,
        "way": "near",
        "judged": None,
        "tags": (),
        "weights": None,
        "shuffle": False,
        "query": "q",
    }


def test_values_have_the_types_of_the_annotations():
    numbers = ("-k", "3", "--share", "1", "--weights", "a=2", "--weights", "b=0.5")
    option_values = chosen("--query", "q", "--judged", "x.txt", "--tag", "a", "--shuffle", *numbers)
    assert option_values["depth"] == 3
    assert option_values["share"] == 1.0
    assert option_values["weights"] == {"a": 2.0, "b": 0.5}
    assert (option_values["judged"], option_values["tags"], option_values["shuffle"]) == (
        "x.txt",
        ("a",),
        True,
    )


@pytest.mark.parametrize("words", [("-k", "0"), ("--share", "2"), ("--way", "up"), ("--depth",)])
def test_other_values_are_refused(words):
    assert chosen("--query", "q", *words) == 2


def test_what_has_no_default_is_required():
    assert chosen() == 2


def test_the_help_is_that_of_the_docstring():
    help_of = {parameter.name: parameter for parameter in command.params}
    assert help_of["depth"].help == "How far, with --share and other."
    assert help_of["depth"].metavar == "N"
    assert help_of["judged"].metavar == "QRELS"
    assert help_of["judged"].type.name == "path"
    assert help_of["tags"].help == "Names. May be given several times."


@pytest.mark.parametrize(("value", "is_refused"), [("0", True), ("1", True), ("0.5", False)])
def test_the_ends_of_an_exclusive_range_are_refused(value, is_refused):
    assert (chosen("--query", "q", "--level", value) == 2) == is_refused
    assert chosen("--query", "q", "--share", value) != 2


@click.command()
@own_options("path FILE -p", "names NAME --name", "count", "table_only", kinds={"count": click.INT})
def own(
    *, path: str | None = None, names: tuple[str, ...] = (), count: str = "2", table_only: bool = True
) -> None:
    """Do what the options say.

    \b
    own -p here
    \f

    Options:
        path: where, see ``count``.
        names: a name.
        count: nDCG's cutoff.
        table_only: only the table.
    """
    click.echo(repr((path, names, count, table_only)))


def run_own(*words):
    ended = CliRunner().invoke(own, words)
    return eval(ended.output) if ended.exit_code == 0 else ended.exit_code  # noqa: S307


def test_a_command_declares_its_own_options():
    assert run_own() == (None, (), 2, True)
    arguments = ("-p", "x", "--name", "a", "--name", "b", "--count", "3", "--no-table-only")
    assert run_own(*arguments) == ("x", ("a", "b"), 3, False)
    assert run_own("--count", "x") == 2
    option_of = {option.name: option for option in own.params}
    assert option_of["path"].help == "Where, see --count."
    assert (option_of["path"].type.name, option_of["path"].opts) == ("path", ["-p", "--path"])
    assert option_of["names"].help == "A name. May be given several times."
    assert option_of["count"].help == "nDCG's cutoff."


def test_the_help_of_a_command_ends_before_its_options():
    assert help_text(own) == "Do what the options say.\n\n\b\nown -p here"
    assert "Options:\n  path" not in CliRunner().invoke(own, ["--help"]).output


@pytest.mark.parametrize("value", ["pass", "fail"])
def test_a_command_exits_with_the_status_of_its_result(value):
    from rankgate.judging.store.store_people import StoreListing

    class Checked(StoreListing):
        status = 0 if value == "pass" else 3

    @click.command()
    @prints
    def check():
        return Checked("here", "users", ({"name": "ann"},))

    ended = CliRunner().invoke(check, ["--format", "csv"])
    assert (ended.output.splitlines()[-1], ended.exit_code) == ("ann", Checked.status)
