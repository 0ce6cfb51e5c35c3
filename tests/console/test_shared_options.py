"""What commands share: the words with which one of them can be called again."""

import click
from click.testing import CliRunner

from rankgate.core.console.shared_options import repeat_arguments


@click.command()
@click.argument("files", nargs=-1)
@click.option("-m", "--metric", "metrics", multiple=True)
@click.option("-q", "--quiet", is_flag=True)
@click.option("--exact", is_flag=True)
@click.option("--depth", default=10)
@click.option("-o", "--output")
@click.pass_context
def command(context, **_):
    click.echo([repeat_arguments(context), repeat_arguments(context, ["depth", "output"])])


def repeated(words):
    return CliRunner().invoke(command, words.split()).output.strip()


def test_what_was_typed_is_repeated_but_for_the_output():
    """By the long names; defaults are left out."""
    words = "a.txt b.txt -m RR -m AP -q --exact -o out.json"
    every = ["a.txt", "b.txt", "--metric", "RR", "--metric", "AP", "--quiet", "--exact"]
    assert repeated(words) == str([every, ["--output", "out.json"]])
    assert repeated("--depth 5") == str([["--depth", "5"], ["--depth", "5"]])
