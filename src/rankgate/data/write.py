"""Write tables into files: the format by name or suffix, the file whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import UsageError
from rankgate.core.target import replacing, suffix_of
from rankgate.data.contents import FileContents
from rankgate.data.formats import registry
from rankgate.data.notes import STATES

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.notes import Loss
    from rankgate.data.run import Run


def format_for(target: str | Path | None, to: str | None = None, part: str | None = None) -> Format:
    """The format that a file is written in.

    Args:
        target: the file, whose suffix names the format; None for a stream.
        to: the name of the format; by the suffix if not given.
        part: what the format must hold, such as ``runs``; anything if not given.

    Raises:
        UsageError: no such format; one that is read only or does not hold the part; a suffix
            that says too little.
    """
    writers = [
        each for each in registry.FORMATS if each.write and (part is None or part in each.holds)
    ]
    if to is not None:
        return _named(to, part, writers)
    suffix = "" if target is None else suffix_of(str(target))
    fitting = [each for each in writers if suffix in each.suffixes]
    tables = [each for each in fitting if each.streams]  # what any tool reads, before a product's
    plain = tables or [each for each in fitting if suffix == f".{each.name}" or len(fitting) == 1]
    if plain:
        return plain[0]
    names = ", ".join(each.name for each in fitting or writers)
    if fitting:
        raise UsageError(
            f"several formats end in {suffix}: choose with --to: {names}.", code="ambiguous-input"
        )
    words = f"nothing is known to end in '{suffix}'" if suffix else "the target has no suffix"
    raise UsageError(f"{words}; choose a format with --to: {names}.", code="unknown-format")


def _named(to: str, part: str | None, writers: list[Format]) -> Format:
    found = registry.named(to)
    if found.write is None:
        raise UsageError(
            f"{found.name} is read, not written; see rankgate formats.", code="format-not-written"
        )
    if part is not None and part not in found.holds:
        names = ", ".join(each.name for each in writers)
        raise UsageError(
            f"{found.name} holds no {part}; choose with --to: {names}.", code="format-cannot-hold"
        )
    return found


def write_run(run: Run, target: str | Path | BinaryIO, found: Format) -> tuple[Loss, ...]:
    """Write a run; return what the format cannot hold of it, but the states of queries.

    Args:
        run: its queries' rows must be together.
        target: a path, which may end in ``.gz`` or ``.zst`` and is replaced in one step; or a
            stream of bytes.
        found: a format that holds a run, as `format_for` finds it.
    """
    assert found.write is not None
    contents = FileContents(runs=(run,))
    if isinstance(target, str | Path):
        with replacing(target) as stream:
            losses = found.write(contents, stream)
    else:  # whole or not at all here too
        with tempfile.TemporaryFile() as whole:
            losses = found.write(contents, whole)
            whole.seek(0)
            shutil.copyfileobj(whole, target)
    return tuple(each for each in losses if each.what != STATES)
