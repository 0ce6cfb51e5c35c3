"""Query metadata of a run: state, latency and tags.

It is in a companion of the run's file, ``RUN.meta.jsonl``, one object a query.
"""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.target import replacing
from rankgate.data.streams.source import source
from rankgate.data.text.json_text import dumped, lines

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

SUFFIX = ".meta.jsonl"
STATES = ("ok", "zero", "failed", "not_run")

ASKED = ("attempts", "returned", "total_hits", "started_at", "concurrency")
"""How a snapshot asked a query: no tags to compare by."""


def with_meta(run: Run, place: InputFile) -> Run:
    """The run with what its companion says of its queries; as it is if there is none.

    Raises:
        InputError: the companion cannot be read, with its line.
    """
    if place.path is None:
        return run
    companion = companion_of(place.path)
    return replace(run, queries=read(companion)) if companion.is_file() else run


def companion_of(path: str | PathLike[str]) -> Path:
    """Where the companion of a run's file is."""
    return Path(f"{path}{SUFFIX}")


def write(queries: pl.DataFrame, path: Path) -> None:
    """One object a query, without what is not known of it.

    Raises:
        UsageError: a place where nothing can be written.
    """
    with replacing(path) as stream:
        for row in queries.iter_rows(named=True):
            values = {key: value for key, value in row.items() if value is not None}
            stream.write(dumped(values).encode() + b"\n")


def read(path: str | Path) -> pl.DataFrame:
    """``query_id``, ``state``, ``latency_ms``, ``error``, then tags as strings.

    Raises:
        InputError: a line that is not an object, an unknown state, a latency that is not 0
            or more, a query twice; with its line.
    """
    place = source(path)
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for line, value in lines(place):
        row = _row(value, place.label, line)
        before = seen.setdefault(row["query_id"], line)
        if before != line:
            problem = f"query {row['query_id']!r} is in line {before} already; keep one."
            raise InputError(problem, source=place.label, line=line, code="duplicate-query")
        rows.append(row)
    if not rows:
        raise InputError("there are no queries in it.", source=place.label, code="no-queries")
    tags = dict.fromkeys(name for row in rows for name in row if name not in _KNOWN)
    schema = {**_KNOWN, **dict.fromkeys(tags, pl.String)}
    return pl.DataFrame(rows, schema=schema)


_KNOWN = {"query_id": pl.String, "state": pl.String, "latency_ms": pl.Float64, "error": pl.String}


def _row(value: Any, label: str, line: int) -> dict[str, Any]:
    if not isinstance(value, dict) or "query_id" not in value:
        problem = 'a line must be an object with a query_id, as in {"query_id": "q1"}.'
        raise InputError(problem, source=label, line=line, code="wrong-type")
    row = {name: None if each is None else str(each) for name, each in value.items()}
    row["state"] = row.get("state") or "ok"
    if row["state"] not in STATES:
        problem = f"state {row['state']!r} is not one of {', '.join(STATES)}."
        raise InputError(problem, source=label, line=line, code="wrong-type")
    taken = value.get("latency_ms")
    number = isinstance(taken, int | float) and not isinstance(taken, bool)
    if taken is not None and not (number and math.isfinite(taken) and taken >= 0):
        problem = f"latency_ms {taken!r} is not a number of milliseconds, 0 or more."
        raise InputError(problem, source=label, line=line, code="not-a-number")
    return {**row, "latency_ms": taken}
