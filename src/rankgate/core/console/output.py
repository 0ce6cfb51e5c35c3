"""Print the result of a command in one of its forms, on a terminal or in a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.places import write_output
from rankgate.core.console.recording import record_if_requested
from rankgate.core.console.terminal import output_width, remove_server_commands, style_output
from rankgate.core.console.verbosity import is_quiet
from rankgate.core.present.forms.as_text import WIDTH
from rankgate.core.present.forms.paragraphs import wrap_line
from rankgate.core.present.grid import make_printable
from rankgate.core.present.write import render_result

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
    record_if_requested(result)
    text = render_result(result, form, output_width(output), **options)
    write_output(style_output(text, form, output), output)


def print_summary(lines: Iterable[str]) -> None:
    """Print sentences for people on standard error.

    Args:
        lines: a paragraph each; the result itself goes to standard output or to a file.
    """
    if is_quiet():
        return
    for line in lines:
        print_to_stderr("\n".join(wrap_line(make_printable(line), WIDTH)) + "\n")


def print_to_stderr(text: str) -> None:
    """Print a text for people on standard error, without commands to a build server."""
    click.echo(remove_server_commands(text), nl=False, err=True)
