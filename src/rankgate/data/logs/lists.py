"""Logs as lines of ``user: item item …`` in time order."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.text.utf8 import BOM, decode_utf8

if TYPE_CHECKING:
    from rankgate.data.logs.tables import Rows
    from rankgate.data.streams.source import InputFile


def read_user_lists(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """One row for each item, in one piece; ``at`` is its position in the line, from 1.

    A user may be on several lines; later lines are later in time.

    Raises:
        InputError: a line without a colon, or not UTF-8 text; with its line.
    """
    users: list[str] = []
    items: list[list[str]] = []
    line_numbers: list[int] = []
    line = 0
    for chunk in source.chunks():
        text = decode_utf8(chunk if line else chunk.removeprefix(BOM), source.label, line + 1)
        for row in StringIO(text, newline="\n"):  # one at a time: blank lines may be millions
            line += 1
            user, colon, item_text = row.partition(":")
            if not row.strip():
                continue
            if not colon or not user.strip():
                problem = "no user and colon in the line; write it as user: item item."
                raise InputError(problem, source=source.label, line=line, code="invalid-syntax")
            users.append(user.strip())
            items.append(item_text.split())
            line_numbers.append(line)
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    owner = np.repeat(np.arange(len(items)), lengths)
    frame = pl.DataFrame(
        {
            "query_id": pl.Series(users, dtype=pl.String).gather(owner),
            "doc_id": pl.Series(items, dtype=pl.List(pl.String)).explode().drop_nulls(),
        }
    )
    position = pl.int_range(1, pl.len() + 1).over("query_id").alias("at")
    lines = np.repeat(np.asarray(line_numbers, np.int64), lengths)
    return iter((frame.with_columns(position),)), RowLocation(
        source.label, lambda row: int(lines[row])
    )
