"""Files that belong to a run: query metadata, and facts about its snapshot.

Query metadata of a run (state, latency and tags) is in the companion file ``RUN.meta.jsonl``, with
one object per query. The display fields of its documents are in ``RUN.docs.jsonl``.

A snapshot writes its answers to ``RUN.partial.jsonl`` while it runs, and its description to
``RUN.snapshot.json`` at the end.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.output_files import replace_file
from rankgate.data.streams.source import open_source
from rankgate.data.text.json_text import format_json, read_json_lines

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


SUFFIX = ".meta.jsonl"
FIELDS_SUFFIX = ".docs.jsonl"
STATES = ("ok", "zero", "failed", "not_run")

REQUEST_COLUMNS = (
    "latency_from",
    "last_attempt_ms",
    "waited_ms",
    "attempts",
    "returned",
    "total_hits",
    "started_at",
    "concurrency",
    "rate",
    "arrival_rate",
)
"""The keys of how a snapshot asked a query: not tags to compare by."""


def with_meta(run: Run, input_file: InputFile) -> Run:
    """The run with the query data of its companion file; unchanged if there is none.

    Raises:
        InputError: the companion cannot be read, with its line.
    """
    if input_file.path is None:
        return run
    companion = companion_path(input_file.path)
    if not companion.is_file():
        return run
    companion_queries = read(companion)
    if run.queries is None or not input_file.path.is_dir():
        return replace(run, queries=companion_queries)
    # for a folder with one file per query, the companion has only the queries without a file
    other_queries = run.queries.filter(~pl.col("query_id").is_in(companion_queries["query_id"].implode()))
    return replace(run, queries=pl.concat([companion_queries, other_queries], how="diagonal_relaxed"))


def companion_path(path: str | PathLike[str]) -> Path:
    """The path of the companion file of a run."""
    return Path(f"{path}{SUFFIX}")


def write(queries: pl.DataFrame, path: Path) -> None:
    """Write one object for each query, without unknown values.

    Raises:
        UsageError: the path cannot be written.
    """
    with replace_file(path) as stream:
        for row in queries.iter_rows(named=True):
            known_values = {key: value for key, value in row.items() if value is not None}
            stream.write(format_json(known_values).encode() + b"\n")


def read(path: str | Path) -> pl.DataFrame:
    """``query_id``, ``state``, ``latency_ms``, ``error``, ``censored``, then tags as strings.

    Raises:
        InputError: a line that is not an object, an unknown state, a latency that is not 0
            or more, ``censored`` that is not true or false, a query twice; with its line.
    """
    input_file = open_source(path)
    rows: list[dict[str, Json]] = []
    line_of_query: dict[str, int] = {}
    for line, value in read_json_lines(input_file):
        row = _parse_row(value, input_file.label, line)
        first_line = line_of_query.setdefault(row["query_id"], line)
        if first_line != line:
            problem = f"query {row['query_id']!r} is already in line {first_line}; keep one."
            raise InputError(problem, source=input_file.label, line=line, code="duplicate-query")
        rows.append(row)
    if not rows:
        raise InputError("there are no queries in it.", source=input_file.label, code="no-queries")
    tags = dict.fromkeys(name for row in rows for name in row if name not in _META_SCHEMA)
    schema = {**_META_SCHEMA, **dict.fromkeys(tags, pl.String)}
    return pl.DataFrame(rows, schema=schema)


_META_SCHEMA = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "error": pl.String,
    "censored": pl.Boolean,
}


def _parse_row(value: Json, label: str, line: int) -> dict[str, Any]:
    if not isinstance(value, dict) or "query_id" not in value:
        problem = 'a line must be an object with a query_id, as in {"query_id": "q1"}.'
        raise InputError(problem, source=label, line=line, code="wrong-type")
    row = {name: None if cell is None else str(cell) for name, cell in value.items()}
    row["state"] = row.get("state") or "ok"
    if row["state"] not in STATES:
        problem = f"state {row['state']!r} is not one of {', '.join(STATES)}."
        raise InputError(problem, source=label, line=line, code="wrong-type")
    latency = value.get("latency_ms")
    is_number = isinstance(latency, int | float) and not isinstance(latency, bool)
    if latency is not None and not (is_number and math.isfinite(latency) and latency >= 0):
        problem = f"latency_ms {latency!r} is not a number of milliseconds, 0 or more."
        raise InputError(problem, source=label, line=line, code="not-a-number")
    censored = value.get("censored")
    if censored is not None and not isinstance(censored, bool):
        problem = f"censored {censored!r} is not true or false."
        raise InputError(problem, source=label, line=line, code="wrong-type")
    return {**row, "latency_ms": latency, "censored": censored}


PARTIAL = ".partial.jsonl"
"""The suffix of an unfinished snapshot."""

RESULT = ".snapshot.json"
"""The suffix of the snapshot itself."""

WRITTEN_KEY = "written"
"""The key of the last line of a snapshot that has written its run and can be continued."""

CAUTIONS_KEY = "cautions"
"""The key of the cautions for every result of the run's scores."""

_LAST_LINE_BYTES = 1 << 12  # enough bytes for the last line of a finished journal


def unfinished_reason(path: str | os.PathLike[str]) -> str:
    """The reason why the run of a snapshot is incomplete; empty if it is complete.

    An interrupted snapshot leaves its answers (``RUN.partial.jsonl``), and the file RUN is missing
    or comes from an earlier snapshot.
    """
    journal = Path(f"{path}{PARTIAL}")
    if journal.is_file() and not _is_written(journal):
        return f"a snapshot is under way, or was interrupted ({journal.name})"
    snapshot = _read_result(path)
    if snapshot.get("finished") is False and not companion_path(path).is_file():
        return f"its snapshot ended early ({snapshot.get('problem') or 'interrupted'})"
    return ""


def refuse_unfinished_file(path: str | os.PathLike[str]) -> None:
    """Reject a run with an unfinished snapshot: its file may come from an earlier snapshot.

    Raises:
        InputError: the snapshot is unfinished; the message has the reason.
    """
    if reason := unfinished_reason(path):
        raise InputError(
            f"{reason}; finish the snapshot first.", source=str(path), code="unfinished-snapshot"
        )


def with_snapshot(run: Run, path: str | os.PathLike[str]) -> Run:
    """The run with what its snapshot noted: gaps in the answers, and facts about the corpus.

    The run is unchanged if there is no snapshot next to its file.
    """
    snapshot = _read_result(path)
    cautions, facts, texts = (
        value if isinstance(value := snapshot.get(key), dict) else {}
        for key in (CAUTIONS_KEY, "facts", "texts")
    )
    cautions = {**run.cautions, **{code: str(text) for code, text in cautions.items()}}
    return replace(run, cautions=cautions, corpus=corpus_facts(facts, texts))


def corpus_facts(facts: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The facts about a corpus for `Run.corpus`: the known ones only.

    Args:
        facts: ``documents``, ``state``, ``settings`` and ``changes`` of the index, and other facts of
            an engine.
        texts: hashes of texts of documents.
    """
    corpus = {name: facts.get(name) for name in ("documents", "state", "settings", "changes")} | {
        "texts": dict(texts)
    }
    return {name: value for name, value in corpus.items() if value not in (None, "", {})}


def _is_written(journal: Path) -> bool:
    """True if the last line records that the run was written, even if queries failed."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - _LAST_LINE_BYTES))
        lines = file.read().splitlines()
    try:
        return bool(lines) and bool(json.loads(lines[-1]).get(WRITTEN_KEY))
    except (ValueError, AttributeError):
        return False


def _read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        snapshot = json.loads(Path(f"{path}{RESULT}").read_bytes())
    except (OSError, ValueError):
        return {}
    return snapshot if isinstance(snapshot, dict) else {}
