"""Send the queries of a snapshot to engines.

The queries are read first. Threads send them, and send them again after failures, until an engine
is down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, count, repeat
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.declare.parameter import parse_literal
from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data import contents_of
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.data.column_names import ALIASES
from rankgate.data.foreign_frames import is_frame, polars_frame
from rankgate.data.formats.registry import detect_format, open_input, split_prefix
from rankgate.data.formats.tables.jsonl import JsonlTable
from rankgate.data.formats.tables.parquet_arrow import nested_values
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, open_source
from rankgate.data.text.text_values import BOM, decode_utf8
from rankgate.engines.engine import Query
from rankgate.engines.requests.workers import Workers
from rankgate.engines.snapshots.query_outcomes import Outcome

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.engines.configuration import Pace
    from rankgate.engines.engine import Connection, Engine


QueriesLike: TypeAlias = "str | Path | Mapping[str, str] | pl.DataFrame | list[Query]"
"""Queries: a file in any format that holds their texts, ``{query_id: text}``, or a frame.

Other columns are parameters of the engine, where it has parameters of their names."""


def queries_of(queries: QueriesLike) -> list[Query]:
    """Every query with its text, in order.

    Raises:
        InputError: no queries, no texts, a query twice or without a text.
    """
    label = str(queries) if isinstance(queries, str | Path) else "queries"
    if isinstance(queries, list):
        return queries
    rows = list(_rows(queries, label))
    if not rows:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    seen_ids: set[str] = set()
    for query_id, text, line, _ in rows:
        if query_id in seen_ids:
            problem = f"query {query_id!r} appears twice; keep one."
            raise InputError(problem, source=label, line=line, code="duplicate-query")
        if text is None or not str(text).strip():
            problem = f"query {query_id!r} has no text; give it one, or leave it out."
            raise InputError(problem, source=label, line=line, code="no-such-content")
        seen_ids.add(query_id)
    return [Query(str(query_id), str(text), values) for query_id, text, _, values in rows]


def _rows(queries: Any, label: str) -> list[tuple[Any, Any, int | None, Mapping[str, Any]]]:
    """The ids and texts, their lines if these are known, and the other columns."""
    if isinstance(queries, Mapping):
        return [(query_id, text, None, {}) for query_id, text in queries.items()]
    if isinstance(queries, str | Path) and split_prefix(queries)[0] is None:
        rows = _two_columns(open_source(queries))
        if rows:
            return rows
    is_in_memory = is_frame(queries)
    table = polars_frame(queries, "queries") if is_in_memory else contents_of(queries).queries
    if table is None or not {"query_id", "text"} <= set(table.columns):
        problem = "it holds no texts of queries; columns query_id and text are needed."
        raise InputError(problem, source=label, code="no-such-content")
    nested_rows = nested_values(table) if is_in_memory else _nested_values(queries)
    return [
        (row.pop("query_id"), row.pop("text"), None, {**_values(row), **nested_row})
        for row, nested_row in zip(
            table.iter_rows(named=True), nested_rows or repeat({}, len(table)), strict=True
        )
    ]


def _nested_values(queries: str | Path) -> list[JsonObject]:
    """The lists and objects of each row of a file, in the order of its queries."""
    input_file, format_ = open_input(queries, None)
    format_ = format_ or detect_format(input_file)[0]
    make_table = JsonlTable if format_.name == "beir" else format_.table
    files = list_part_files(input_file) if is_folder(input_file) else [input_file]
    return [values for file in files for values in make_table(file).nested_values()] if make_table else []


def _values(row: JsonObject) -> dict[str, Json]:
    """The non-empty cells, parsed like parameter values of a command line."""
    return {
        name: parse_literal(value) if isinstance(value, str) else value
        for name, value in row.items()
        if value not in (None, "")
    }


def _is_header(first: str, second: str) -> bool:
    """True if the cells are column names; a query text can also be "title" or "query"."""
    id_names, text_names = ALIASES["query_id"], ALIASES["text"]
    first, second = first.strip().lower(), second.strip().lower()
    return first in id_names or (first in text_names and second in id_names)


def _two_columns(input_file: InputFile) -> list[tuple[str, str, int | None, JsonObject]]:
    """Ids, texts and lines of a file without a header and with one tab per line; else empty.

    Raises:
        InputError: the file is not UTF-8, with the line.
    """
    data = b"".join(input_file.chunks())
    lines = [
        (number, line) for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1) if line.strip()
    ]
    if not lines or any(line.count(b"\t") != 1 for _, line in lines):
        return []
    text = decode_utf8(data, input_file.label).removeprefix("\ufeff").split("\n")
    rows = [text[number - 1].rstrip("\r").split("\t") for number, _ in lines]
    if _is_header(*rows[0]):
        return []
    return [
        (query_id.strip(), query_text.strip(), number, {})
        for (number, _), (query_id, query_text) in zip(lines, rows, strict=True)
    ]


_WAIT_SECONDS = 0.2  # seconds between two checks of the stop signal

Task: TypeAlias = "tuple[int, Query]"
"""The number of an engine, and the query for it."""


@dataclass
class QuerySender:
    """Sends queries until all are sent, or an engine counts as down.

    There are more threads than connections: while one thread writes its answers to disk, which
    takes time, another one uses its connection. A thread sends its next query only after its last
    outcomes are on disk.

    Attributes:
        engines: one engine, or several engines to compare.
        pace: the rate, concurrency and retries.
        keep: writes an outcome of an engine to disk; called by many threads.
        answered: for each engine, True if it has ever answered.
        problem: the reason why sending ended early.
        ended: the index of the engine that had the problem.
    """

    engines: Sequence[Engine]
    pace: Pace
    keep: Callable[[int, Outcome], None]
    answered: list[bool]
    workers: Workers = field(init=False)
    problem: str = ""
    ended: int = 0
    _lock: Lock = field(default_factory=Lock)
    _failed: list[list[Outcome]] = field(init=False)
    _slots: SimpleQueue[list[Connection]] = field(default_factory=SimpleQueue)
    _connected: int = 0

    def __post_init__(self) -> None:
        self.workers = Workers(self.pace.backoff, self.pace.rate)
        self._failed = [[] for _ in self.engines]

    def run(self, groups: Sequence[Sequence[Task]]) -> None:
        """Send every query; all requests have ended when this returns or is interrupted.

        With an arrival rate, group i arrives i / rate seconds after the start, and its latencies
        count from then, however late a connection is free: a slow answer that delays later queries
        counts in their latencies too (correction for coordinated omission).

        Args:
            groups: groups of queries; one thread sends the queries of a group in order.

        Raises:
            RankgateError: an engine cannot be connected to; an error of ``keep``.
            KeyboardInterrupt: after running requests were answered and kept.
        """
        with ExitStack() as stack:
            self._warm_up(groups[: self.pace.warm_up], stack)
            # the time at which each group arrives; None where groups wait for connections
            rate, start = self.pace.arrival_rate, time.perf_counter()
            arrivals = repeat(None) if rate is None else (start + number / rate for number in count())
            remaining_groups = zip(groups, arrivals, strict=False)
            threads = self.pace.concurrency + self.pace.concurrency // 2 + 1
            self.workers.run(lambda: self._through(remaining_groups, stack), min(threads, len(groups)))

    def failed_while_down(self, number: int) -> list[str]:
        """The queries that failed since an engine's last answer, if the engine is down."""
        if self.answered[number] and not self.problem:
            return []
        return [outcome.query_id for outcome in self._failed[number] if outcome.down]

    def _warm_up(self, groups: Sequence[Sequence[Task]], stack: ExitStack) -> None:
        if not groups:
            return
        connections = [self._opened(engine, stack) for engine in self.engines]
        for number, query in chain.from_iterable(groups):
            if isinstance(connections[number].ask(query), Answer):
                self.answered[number] = True
        self._slots.put(connections)
        self._connected = 1

    def _through(
        self, remaining_groups: Iterator[tuple[Sequence[Task], float | None]], stack: ExitStack
    ) -> None:
        """Send queries with free connections; write answers to disk while another thread sends."""
        self._connect(stack)
        while (connections := self._free()) is not None:
            try:
                with self._lock:
                    group, arrival = next(remaining_groups, ((), None))
                outcomes = [
                    (number, self._ask_query(number, connections[number], query, arrival))
                    for number, query in group
                ]
                self._count(outcomes)
            finally:
                self._slots.put(connections)
            if not group:
                return
            for number, outcome in outcomes:
                if outcome is not None:
                    self.keep(
                        number,
                        replace(
                            outcome,
                            concurrency=self.pace.concurrency,
                            rate=self.pace.rate,
                            arrival_rate=self.pace.arrival_rate,
                        ),
                    )

    def _connect(self, stack: ExitStack) -> None:
        """Connect to each engine, once for each thread that may send at the same time."""
        with self._lock:
            if self._connected == self.pace.concurrency:
                return
            self._connected += 1
        self._slots.put([self._opened(engine, stack) for engine in self.engines])

    def _opened(self, engine: Engine, stack: ExitStack) -> Connection:
        connection = engine.connect()
        with self._lock:
            stack.callback(connection.close)
        return connection

    def _free(self) -> list[Connection] | None:
        """Connections that are free; None if the work has ended."""
        while not self.workers.stop.is_set():
            with suppress(Empty):
                return self._slots.get(timeout=_WAIT_SECONDS)
        return None

    def _ask_query(
        self, number: int, connection: Connection, query: Query, arrival: float | None
    ) -> Outcome | None:
        """The outcome of a query; None if the work ended before the outcome was known."""
        if arrival is not None and self.workers.stop.wait(max(arrival - time.perf_counter(), 0)):
            return None
        start_time = datetime.now(UTC)
        latencies: list[float] = []
        elapsed = 0.0
        reply: Answer | Failure | None = None
        while len(latencies) <= self.pace.retries and self.workers.wait_for_turn(len(latencies)):
            sent_at = time.perf_counter()
            arrival = sent_at if arrival is None else arrival
            reply = connection.ask(query)
            answered_at = time.perf_counter()
            latencies.append(_milliseconds(sent_at, answered_at))
            elapsed = _milliseconds(arrival, answered_at)
            if not isinstance(reply, Failure) or reply.kind != "again":
                break
            if not self._waits(number, reply):
                break
        if reply is None:
            return None
        started_at = start_time.isoformat(timespec="milliseconds")
        if isinstance(reply, Answer):
            self.answered[number] = True
            return replace(outcome_of_answer(query, reply, started_at, latencies), elapsed=elapsed)
        if reply.kind == "fatal" and not self.answered[number]:  # not caused by this query
            self._end(number, reply.problem)
            return None
        tries_left = reply.kind == "again" and len(latencies) <= self.pace.retries
        if tries_left and self.workers.stop.is_set():
            return None  # the next run sends it again
        down = reply.kind != "refused"
        return Outcome(
            query.query_id, "failed", started_at, latencies, elapsed, error=reply.problem, down=down
        )

    def _waits(self, number: int, failure: Failure) -> bool:
        """Wait as long as the engine requests; return True if the query should be sent again."""
        if failure.wait is None or self.workers.hold(failure.wait):
            return True
        problem = f"{failure.problem} (it asks to wait {failure.wait:.0f} seconds)"
        self._end(number, problem)
        return False

    def _count(self, outcomes: Sequence[tuple[int, Outcome | None]]) -> None:
        """Count failures in a row; an engine with too many is down."""
        for number, outcome in outcomes:
            if outcome is None:
                continue
            with self._lock:
                row = [*self._failed[number], outcome] if outcome.state == "failed" else []
                self._failed[number] = row
            if len(row) >= self.pace.give_up:
                self._end(number, f"{count_noun(len(row), 'query')} in a row failed: {outcome.error}")

    def _end(self, number: int, problem: str) -> None:
        with self._lock:
            if not self.problem:
                self.problem, self.ended = problem, number
        self.workers.stop.set()


def _milliseconds(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)


def outcome_of_answer(
    query: Query, answer: Answer, started: str = "", latencies: Sequence[float] = ()
) -> Outcome:
    """The outcome of an answer."""
    display_fields = {
        doc_id: values for doc_id, values in zip(answer.doc_ids, answer.fields, strict=False) if values
    }
    return Outcome(
        query.query_id,
        "ok" if answer.doc_ids else "zero",
        started,
        latencies,
        doc_ids=answer.doc_ids,
        scores=answer.scores,
        total=answer.total,
        repeated=answer.repeated,
        shared=answer.shared,
        unusable=answer.unusable,
        partial=answer.partial,
        shown=display_fields,
    )
