"""Write tables into files: the format by name or suffix, the file completely or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import UsageError
from rankgate.core.target import replace_file, suffix_of
from rankgate.data.contents import FileContents
from rankgate.data.formats import registry
from rankgate.data.notes import STATES

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.notes import Loss
    from rankgate.data.run import Run


def choose_format(
    target: str | Path | None, format_name: str | None = None, part_name: str | None = None
) -> Format:
    """The format for writing a file.

    Args:
        target: the file, whose suffix names the format; None for a stream.
        format_name: the name of the format; by the suffix if not given.
        part_name: a part that the format must hold, such as ``runs``; anything if not given.

    Raises:
        UsageError: no such format; one that is read only or does not hold the part; a suffix
            that is ambiguous.
    """
    writers = [
        format_
        for format_ in registry.FORMATS
        if format_.write and (part_name is None or part_name in format_.holds)
    ]
    if format_name is not None:
        return _find_writer(format_name, part_name, writers)
    suffix = "" if target is None else suffix_of(str(target))
    matching_formats = [format_ for format_ in writers if suffix in format_.suffixes]
    tables = [
        format_ for format_ in matching_formats if format_.streams
    ]  # what any tool reads, before a product's
    best_formats = tables or [
        format_
        for format_ in matching_formats
        if suffix == f".{format_.name}" or len(matching_formats) == 1
    ]
    if best_formats:
        return best_formats[0]
    names = ", ".join(format_.name for format_ in matching_formats or writers)
    if matching_formats:
        raise UsageError(
            f"several formats end in {suffix}: choose with --to: {names}.", code="ambiguous-input"
        )
    reason = f"nothing is known to end in '{suffix}'" if suffix else "the target has no suffix"
    raise UsageError(f"{reason}; choose a format with --to: {names}.", code="unknown-format")


def _find_writer(format_name: str, part_name: str | None, writers: list[Format]) -> Format:
    format_ = registry.find_format(format_name)
    if format_.write is None:
        raise UsageError(
            f"{format_.name} is read, not written; see rankgate formats.", code="format-not-written"
        )
    if part_name is not None and part_name not in format_.holds:
        names = ", ".join(format_.name for format_ in writers)
        raise UsageError(
            f"{format_.name} holds no {part_name}; choose with --to: {names}.",
            code="format-cannot-hold",
        )
    return format_


def write_run(run: Run, target: str | Path | BinaryIO, format_: Format) -> tuple[Loss, ...]:
    """Write a run; return the losses, without the states of queries.

    Args:
        run: a run with the rows of each query adjacent.
        target: a path, which may end in ``.gz`` or ``.zst`` and is replaced in one step; or a
            stream of bytes.
        format_: a format that holds a run, from `choose_format`.
    """
    assert format_.write is not None
    contents = FileContents(runs=(run,))
    if isinstance(target, str | Path):
        with replace_file(target) as stream:
            losses = format_.write(contents, stream)
    else:  # a stream, too, is written completely or not at all
        with tempfile.TemporaryFile() as temporary_file:
            losses = format_.write(contents, temporary_file)
            temporary_file.seek(0)
            shutil.copyfileobj(temporary_file, target)
    return tuple(loss for loss in losses if loss.what != STATES)
