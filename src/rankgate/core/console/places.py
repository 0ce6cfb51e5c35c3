"""Where a command reads and writes: ``-`` once, and files whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rankgate.core.errors import UsageError
from rankgate.core.present.resolve import above

_PIECE = 1 << 15


def inputs() -> tuple[str, ...]:
    """The files that the command at work reads: the values of its parameters that are paths."""
    context = click.get_current_context()
    found: list[str] = []
    for each in context.command.params:
        if isinstance(each.type, click.Path) and not each.type.writable and each.name != "output":
            value = context.params[str(each.name)]
            found += value if isinstance(value, tuple) else [value] if value else []
    return tuple(found)


def refuse_clashes(inputs: Sequence[str], output: str | None = None) -> None:
    """Check that standard input is read once, and that the output can be and hits no input.

    An input may be ``NAME:PATH``, where the name is of a format.

    Raises:
        UsageError: what clashes, and how to say it otherwise.
    """
    places = [above("path_of_input")(each) for each in inputs]
    if places.count("-") > 1:
        raise UsageError(
            "'-' is given for two inputs, but standard input can be read only once; name a file.",
            code="stdin-twice",
        )
    if output in (None, "-"):
        return
    place = Path(str(output))
    if place.is_dir():
        raise UsageError(f"{output}: a folder, where a file is to be written.", code="cannot-write")
    if not place.parent.is_dir():
        raise UsageError(
            f"{output}: there is no folder {place.parent}; create it first.", code="cannot-write"
        )
    for each in places:
        if place.exists() and Path(each).exists() and place.samefile(each):
            raise UsageError(
                f"{output}: would replace an input; name another file.", code="output-is-input"
            )


def deliver(text: str | bytes, output: str | None = None) -> None:
    """Write a result to standard output, or to a file that is replaced in one step.

    Args:
        text: words; or the bytes of a picture.
        output: a file; None and ``-`` are standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if output in (None, "-"):
        # in pieces, as an unbuffered stream tells only the next write that nobody reads any more
        for begin in range(0, len(text), _PIECE):
            click.echo(text[begin : begin + _PIECE], nl=False, color=True)  # ids keep their escapes
        return
    from rankgate.core.present.saving import save

    save(str(output), text)
