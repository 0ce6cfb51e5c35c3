"""Read files as trec_eval does, with its tolerance and its errors."""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.formats.trec import qrels as trec_qrels
from rankgate.data.formats.trec import run as trec_run
from rankgate.data.streams.source import open_source

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.streams.source import InputFile

_END_BYTES = 1 << 16  # bytes at the end of a file that are searched for its last line first
_TAG_FIELD = 5
_BLANK = re.compile(rb"^\s*$\n", re.MULTILINE)


def read_judgments(qrels: QrelsLike, *, te9: bool = False) -> Qrels:
    """Read judgments: grades are the whole number that their field begins with.

    Raises:
        InputError: what trec_eval would not read.
        UsageError: standard input, which is kept for the run.
    """
    if not isinstance(qrels, str | Path):
        return read_qrels(qrels)
    if str(qrels) == "-":
        raise UsageError(
            "only the run can be standard input; name the file of judgments.", code="stdin-twice"
        )
    input_file = open_source(qrels)
    if te9:
        _refuse_comments(input_file)
        _refuse_blank_lines(input_file)
    return trec_qrels.read(input_file, loose=True)


def read_ranking(run: RunLike, *, te9: bool = False, tagged: bool = True) -> Run:
    """Read a run: fields after the tag are ignored, a score that is not a number is 0.

    Args:
        run: a path, ``-`` for standard input, a frame or a dict of dicts.
        te9: refuse comments, as trec_eval 9 does.
        tagged: find the tag of the last line; otherwise it is that of the first.

    Raises:
        InputError: what trec_eval would not read.
    """
    if not isinstance(run, str | Path):
        return read_run(run)
    input_file = open_source(run)
    if te9:
        _refuse_comments(input_file)
    parsed_run = trec_run.read(input_file, loose=True)
    return (
        replace(parsed_run, tag=_last_tag(input_file) or parsed_run.tag) if tagged else parsed_run
    )


def _refuse_comments(input_file: InputFile) -> None:
    """Check that no line begins with ``#``: trec_eval 9 reads such lines like any other."""
    line = 1
    for piece in input_file.chunks():
        position = 0 if piece.startswith(b"#") else piece.find(b"\n#") + 1
        if position or piece.startswith(b"#"):
            problem = "a comment, which trec_eval 9 cannot read; remove it, or leave out --te9."
            raise InputError(
                problem,
                source=input_file.label,
                line=line + piece.count(b"\n", 0, position),
                code="comment-line",
            )
        line += piece.count(b"\n")


def _refuse_blank_lines(input_file: InputFile) -> None:
    """Check that no line of judgments is empty: trec_eval 9 calls such lines malformed."""
    line = 1
    for piece in input_file.chunks():
        if blank := _BLANK.search(piece):
            problem = "an empty line, which trec_eval 9 cannot read; remove it, or leave out --te9."
            count = line + piece.count(b"\n", 0, blank.start())
            raise InputError(problem, source=input_file.label, line=count, code="blank-line")
        line += piece.count(b"\n")


def _last_tag(input_file: InputFile) -> str | None:
    """The tag of the last line that is neither blank nor a comment."""
    fields = _last_fields(_last_lines(input_file))
    if len(fields) <= _TAG_FIELD:  # compressed, or the end holds no whole line
        for piece in input_file.chunks():
            fields = _last_fields(piece) or fields
    return fields[_TAG_FIELD].decode(errors="replace") if len(fields) > _TAG_FIELD else None


def _last_lines(input_file: InputFile) -> bytes:
    """The last lines of a file that can be read from its end; empty for others."""
    with input_file.open() as stream:
        if not isinstance(getattr(stream, "raw", None), io.FileIO) or not stream.seekable():
            return b""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _END_BYTES, 0))
        last_bytes = stream.read()
    return last_bytes if size <= _END_BYTES else last_bytes[last_bytes.find(b"\n") + 1 :]


def _last_fields(data: bytes) -> list[bytes]:
    end = len(data)
    while end > 0:
        begin = data.rfind(b"\n", 0, end) + 1
        content = data[begin:end].strip()
        if content and not content.startswith(b"#"):
            return content.split()
        end = begin - 1
    return []
