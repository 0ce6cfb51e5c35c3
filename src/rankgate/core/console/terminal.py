"""Terminal width and colours; files and pipes get neither."""

from __future__ import annotations

import re
import shutil
import sys

import click

from rankgate.core.console.verbosity import uses_colours

_LEAST, _NARROW, _WIDE = 40, 80, 160

# GitHub and Azure run lines such as ::error:: and ##[error] in the output of a job as commands
_COMMAND = re.compile(r"(?m)^(\s*):(?=:)|(?<=#)#(?=\[|vso\[)")

# the first line, a heading, and a label at the beginning of a line, with two blanks behind it
_BARS = re.compile("█+|░+")
_LABEL = re.compile(r"^( *)(\S+(?: \S+)*?)(?=  )")


def output_width(output: str | None = None) -> int:
    """The columns that a text may take: a terminal's, between 40 and 160; elsewhere 80."""
    if output not in (None, "-") or not sys.stdout.isatty():
        return _NARROW
    return max(_LEAST, min(shutil.get_terminal_size((_NARROW, 24)).columns, _WIDE))


def style_output(text: str, form: str, output: str | None = None) -> str:
    """A text for people: without commands to a build server, coloured at a terminal.

    Args:
        text: the rendered text.
        form: its form; only ``text`` is for people.
        output: where it goes instead, if anywhere; a file stays plain.
    """
    if form != "text":
        return text
    text = remove_server_commands(text)
    is_plain = output not in (None, "-") or not sys.stdout.isatty()
    if is_plain or not uses_colours():
        return text
    return colour_text(text)


def remove_server_commands(text: str) -> str:
    r"""The same text, in which a build server finds no command that came from an id or a query.

    >>> remove_server_commands("a::b\n::error::c\n##[error]d\n")
    'a::b\n�:error::c\n#�[error]d\n'
    """
    return _COMMAND.sub(lambda match: f"{match[1] or ''}�", text)


def colour_text(text: str) -> str:
    r"""The same text with its title bold, its labels and bars coloured; nothing moves.

    >>> colour_text("trec\nsource  a page\n")
    '\x1b[1mtrec\x1b[0m\n\x1b[36msource\x1b[0m  a page\n'
    """
    title, *lines = text.split("\n")
    return "\n".join([click.style(title, bold=True), *map(_colour_line, lines)])


def _colour_line(line: str) -> str:
    line_with_bars = _BARS.sub(
        lambda match: click.style(match[0], fg="blue" if match[0][0] == "█" else "yellow"), line
    )
    return _LABEL.sub(
        lambda match: match[1] + click.style(match[2], fg="cyan"), line_with_bars, count=1
    )
