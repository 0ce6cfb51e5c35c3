"""Inputs and outputs of commands: standard input once, and no partial files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rankgate.core.errors import UsageError
from rankgate.core.present.resolve import load_upper

_CHUNK_SIZE = 1 << 15


def input_paths() -> tuple[str, ...]:
    """The files that the running command reads: the values of its parameters that are paths."""
    context = click.get_current_context()
    paths: list[str] = []
    for parameter in context.command.params:
        if (
            isinstance(parameter.type, click.Path)
            and not parameter.type.writable
            and parameter.name != "output"
        ):
            value = context.params[str(parameter.name)]
            paths += value if isinstance(value, tuple) else [value] if value else []
    return tuple(paths)


def check_paths(inputs: Sequence[str], output: str | None = None) -> None:
    """Check that standard input is read once, and that the output is writable and not an input.

    An input may be ``NAME:PATH``, where the name is of a format.

    Raises:
        UsageError: what clashes, and how to say it otherwise.
    """
    paths = [load_upper("path_of_input")(source) for source in inputs]
    if paths.count("-") > 1:
        raise UsageError(
            "'-' is given for two inputs, but standard input can be read only once; name a file.",
            code="stdin-twice",
        )
    if output in (None, "-"):
        return
    target = Path(str(output))
    if target.is_dir():
        raise UsageError(f"{output}: a folder, where a file is to be written.", code="cannot-write")
    if not target.parent.is_dir():
        raise UsageError(
            f"{output}: there is no folder {target.parent}; create it first.", code="cannot-write"
        )
    for path in paths:
        if target.exists() and Path(path).exists() and target.samefile(path):
            raise UsageError(
                f"{output}: would replace an input; name another file.", code="output-is-input"
            )


def write_output(text: str | bytes, output: str | None = None) -> None:
    """Write a result to standard output, or to a file that is replaced in one step.

    Args:
        text: words; or the bytes of a picture.
        output: a file; None and ``-`` are standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if output in (None, "-"):
        # in pieces, as an unbuffered stream tells only the next write that nobody reads any more
        for begin in range(0, len(text), _CHUNK_SIZE):
            click.echo(
                text[begin : begin + _CHUNK_SIZE], nl=False, color=True
            )  # ids keep their escapes
        return
    from rankgate.core.present.saving import save_file

    save_file(str(output), text)
