"""How every command prints its result: the form that was asked for, on a terminal or in a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.places import deliver
from rankgate.core.console.recording import record_chosen
from rankgate.core.console.terminal import styled, width, without_commands
from rankgate.core.console.verbosity import quiet
from rankgate.core.present.forms.as_text import WIDTH
from rankgate.core.present.forms.paragraphs import wrapped
from rankgate.core.present.grid import printable
from rankgate.core.present.write import rendered

if TYPE_CHECKING:
    from rankgate.core.present.result import Result


def print_result(result: Result, form: str, output: str | None = None, **options: Any) -> None:
    """Print a result, or write it to a file in one step.

    Args:
        result: what the verb returned.
        form: one of ``present.write.FORMS``.
        output: a file; None and ``-`` are standard output.
        options: as the result's ``document`` takes them (``to_dict`` for JSON).

    Raises:
        UsageError: the file cannot be written.
    """
    record_chosen(result)
    text = rendered(result, form, width(output), **options)
    deliver(styled(text, form, output), output)


def print_summary(lines: Iterable[str]) -> None:
    """Print sentences for the person who ran the command on standard error.

    Args:
        lines: a paragraph each; the result itself goes to standard output or to a file.
    """
    if quiet():
        return
    for line in lines:
        print_report("\n".join(wrapped(printable(line), WIDTH)) + "\n")


def print_report(text: str) -> None:
    """Print a text for people on standard error, without commands to a build server."""
    click.echo(without_commands(text), nl=False, err=True)
