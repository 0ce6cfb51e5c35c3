"""A page for each command, from the command line itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from _pages.words import MADE, code, prose, table, toctree
from rankgate.core.console.option_types import DefiningCommand, help_text
from rankgate.interface.cli import COMMANDS
from rankgate.interface.cli import rankgate as program

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODES = {
    "0": "done, or passed",
    "1": "a gate failed, and nothing else",
    "2": "bad input or usage: one sentence names the error, its place and the fix",
    "3": "inconclusive",
    "70": "internal error of rankgate",
    "130": "interrupted",
    "141": "the reader of the output closed the pipe",
}


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its place below ``reference/commands``."""
    yield "index.md", _index()
    with click.Context(program, info_name="rankgate", **program.context_settings) as parent:
        for name in COMMANDS:
            command = program.get_command(parent, name)
            assert command is not None
            yield f"{name}.md", f"{MADE}\n{_section(command, name, parent, '#')}"


def _index() -> str:
    rows = [(f"[{name}]({name}.md)", prose(description)) for name, description in COMMANDS.items()]
    return "\n".join(
        [
            MADE,
            "# Commands\n",
            table(("command", "does"), rows),
            "## What holds for all\n",
            (
                "Data goes to standard output, words and progress to standard error. `-` is standard input. "
                "The same option means the same everywhere. Same inputs, same bytes out: seeds are options, "
                "and recorded. A file named with `-o` is written whole or not at all.\n"
            ),
            table(("exit code", "says"), [(code(key), meaning) for key, meaning in _CODES.items()]),
            toctree(COMMANDS),
        ]
    )


def _section(command: click.Command, name: str, parent: click.Context, level: str) -> str:
    # Click keeps the help option of the first context: without the parent it would have other names
    with click.Context(command, parent, name) as context:
        path = context.command_path
        usage = command.get_usage(context).removeprefix("Usage: ")
        options = [param for param in command.params if isinstance(param, click.Option)]
        rows = [_option(option, context) for option in options if not option.hidden]
    usage_block = f"```text\n{' '.join(usage.split())}\n```\n"
    parts = [f"{level} {path}\n", usage_block, _help(help_text(command))]
    if rows:
        parts.append(table(("option", "says"), rows))
    parts.append(_help(command.epilog or ""))
    if isinstance(command, DefiningCommand):
        for heading, entries in command.definitions.items():
            marked = [(code(name), prose(description)) for name, description in entries]
            parts.append(table((heading.lower(), "meaning"), marked))
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        subcommands = ((name, command.get_command(context, name)) for name in names)
        parts += [
            _section(subcommand, name, context, f"{level}#") for name, subcommand in subcommands if subcommand
        ]
    return "\n".join(block for block in parts if block)


def _help(text: str) -> str:
    """Help as Markdown: paragraphs, and literal text (after a backspace) as a block."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            plain = paragraph.removeprefix("\b").strip("\n")
            parts.append(f"```text\n{inspect.cleandoc(plain)}\n```")
        elif paragraph.strip():
            parts.append(prose(" ".join(paragraph.split())))
    return "\n\n".join(parts) + "\n" if parts else ""


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    names, description = record or (", ".join(option.opts), "")
    return code(names), prose(description)
