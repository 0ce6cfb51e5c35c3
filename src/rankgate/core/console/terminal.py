"""Terminal width and colours; files and pipes get neither."""

from __future__ import annotations

import re
import shutil
import sys

import click

from rankgate.core.console.verbosity import colours

_LEAST, _NARROW, _WIDE = 40, 80, 160

# GitHub and Azure run lines such as ::error:: and ##[error] in the output of a job as commands
_COMMAND = re.compile(r"(?m)^(\s*):(?=:)|(?<=#)#(?=\[|vso\[)")

# the first line, a heading, and a label at the beginning of a line, with two blanks behind it
_BARS = re.compile("█+|░+")
_LABEL = re.compile(r"^( *)(\S+(?: \S+)*?)(?=  )")


def width(output: str | None = None) -> int:
    """The columns that a text may take: a terminal's, between 40 and 160; elsewhere 80."""
    if output not in (None, "-") or not sys.stdout.isatty():
        return _NARROW
    return max(_LEAST, min(shutil.get_terminal_size((_NARROW, 24)).columns, _WIDE))


def styled(text: str, form: str, output: str | None = None) -> str:
    """A text for people: without commands to a build server, coloured at a terminal.

    Args:
        text: the rendered text.
        form: its form; only ``text`` is for people.
        output: where it goes instead, if anywhere; a file stays plain.
    """
    if form != "text":
        return text
    text = without_commands(text)
    plain = output not in (None, "-") or not sys.stdout.isatty()
    if plain or not colours():
        return text
    return painted(text)


def without_commands(text: str) -> str:
    r"""The same text, in which a build server finds no command that came from an id or a query.

    >>> without_commands("a::b\n::error::c\n##[error]d\n")
    'a::b\n�:error::c\n#�[error]d\n'
    """
    return _COMMAND.sub(lambda found: f"{found[1] or ''}�", text)


def painted(text: str) -> str:
    r"""The same text with its title bold, its labels and bars coloured; nothing moves.

    >>> painted("trec\nsource  a page\n")
    '\x1b[1mtrec\x1b[0m\n\x1b[36msource\x1b[0m  a page\n'
    """
    title, *lines = text.split("\n")
    return "\n".join([click.style(title, bold=True), *map(_line, lines)])


def _line(line: str) -> str:
    barred = _BARS.sub(
        lambda found: click.style(found[0], fg="blue" if found[0][0] == "█" else "yellow"), line
    )
    return _LABEL.sub(lambda found: found[1] + click.style(found[2], fg="cyan"), barred, count=1)
