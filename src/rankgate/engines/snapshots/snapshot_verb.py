"""The verb ``snapshot``: send every query to an engine, and keep its results as a run.

`EngineSnapshot` holds the state of one engine: its remaining queries and its outcomes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.files.conversion import choose_format
from rankgate.data.formats.run_companions import PARTIAL, corpus_facts
from rankgate.engines.configuration import Configuration, Pace, read_engine
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.kinds.local_engines import FunctionConnection, Python
from rankgate.engines.requests.secrets import Secrets, plain_text_secrets
from rankgate.engines.snapshots.query_outcomes import Outcome, Outcomes
from rankgate.engines.snapshots.query_sender import QuerySender, queries_of
from rankgate.engines.snapshots.run_files import RunTarget, gather_run
from rankgate.engines.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.formats.format import Format
    from rankgate.engines.snapshots.query_sender import QueriesLike


@dataclass(frozen=True)
class EngineSnapshot:
    """An engine with its queries and its files; closed by `finish` or `close`.

    Attributes:
        chosen: the configuration of the engine, with its pace.
        queries: all queries.
        target: the file of the run.
        outcomes: the outcome of each query.
        left: the queries to send now.
    """

    chosen: Configuration
    queries: Sequence[Query]
    target: RunTarget
    outcomes: Outcomes
    left: tuple[Query, ...]

    @classmethod
    def open(
        cls,
        configuration: Configuration,
        queries: Sequence[Query],
        target: RunTarget,
        *,
        again: bool,
        more: Mapping[str, str] | None = None,
    ) -> Self:
        """Begin a snapshot, or continue an unfinished one.

        Args:
            configuration: the engine, with its pace.
            queries: all of them.
            target: the file of the run.
            again: True to send failed queries again.
            more: additional values that must be equal to continue.

        Raises:
            InputError: a file that is not an unfinished snapshot.
            UsageError: a snapshot of another engine, other parameters or queries; a value of a query
                that does not fit the engine's parameters.
        """
        header = {**_snapshot_identity(configuration, queries), **(more or {})}
        queries = configuration.engine.with_typed_values(queries)
        for query in queries:
            target.refuse_unheld(query.query_id)
        outcomes = Outcomes.open(Path(f"{target.path}{PARTIAL}"), header)
        with ExitStack() as stack:
            stack.callback(outcomes.close)
            for outcome in outcomes.stored(queries if outcomes.answered else ()):
                target.refuse_unheld(outcome.query_id, outcome.doc_ids)
            stack.pop_all()
        failed = {query_id for query_id, state in outcomes.states.items() if state == "failed"}
        repeated = failed if again else failed & outcomes.down
        first = [query for query in queries if query.query_id not in outcomes.states]
        if first and not outcomes.answered:  # begin with another query than in earlier calls
            shift = (len(outcomes.facts) + 1) // 2 % len(first)
            first = [*first[shift:], *first[:shift]]
        last = [query for query in queries if query.query_id in repeated]
        return cls(configuration, queries, target, outcomes, (*first, *last))

    def keep(self, outcome: Outcome) -> None:
        """Write an outcome to disk.

        Raises:
            UsageError: an id that the format of the run cannot hold.
        """
        self.outcomes.keep(outcome)
        self.target.refuse_unheld(outcome.query_id, outcome.doc_ids)

    def note_facts(self) -> None:
        """Record the current facts about the engine and its index; they may change."""
        if not self.left and self.outcomes.facts:
            return
        connection = self.chosen.engine.connect()
        try:
            self.outcomes.note(connection.facts())
        finally:
            connection.close()

    def finish(self, problem: str, seconds: float, down: Sequence[str]) -> Snapshot:
        """Write the run and its companion files; an unfinished snapshot can be continued later.

        Args:
            problem: the reason why some queries were not sent.
            seconds: the time of all requests.
            down: queries that failed while the engine was down.
        """
        outcomes = self.outcomes
        self.note_facts()
        known_facts = [facts for facts in outcomes.facts if facts != Facts()] or outcomes.facts
        run, table, lists = gather_run(outcomes, self.queries, self.chosen)
        texts = outcomes.text_hashes()
        result = Snapshot(
            engine=self.chosen.name,
            engine_kind=self.chosen.engine.engine_kind,
            configuration=self.chosen.sha256,
            parameters=Secrets.in_plain_text(self.chosen.engine).scrubbed(self.chosen.engine.parameters),
            depth=self.chosen.engine.depth,
            facts=known_facts[0],
            finished=not (table["state"] == "not_run").any(),
            problem=problem,
            seconds=round(seconds, 3),
            asked=sum(query.query_id in outcomes.states for query in self.left),
            lists=lists,
            queries=table,
            latency_from=" and ".join(table["latency_from"].drop_nulls().unique().sort()) or "first send",
            changed=_fact_changes(known_facts),
            texts=texts,
            output=str(self.target.path),
            plain_secrets=tuple(name for name, _ in plain_text_secrets(self.chosen.engine)),
            run=replace(run, corpus=corpus_facts(vars(known_facts[0]), texts)),
        )
        result = self.target.write(result, outcomes)
        is_done = result.finished and not result.states["failed"]
        if not is_done:
            outcomes.note_written(down)
        self.close()
        if is_done:
            outcomes.path.unlink()
        return result

    def close(self) -> None:
        """Close the file."""
        self.outcomes.close()


def _fact_changes(facts: Sequence[Facts]) -> tuple[str, ...]:
    """The facts of an engine that changed since the beginning."""
    changes = []
    for field in fields(Facts):
        if field.name == "refreshed":  # can grow without a change
            continue
        field_values = [getattr(facts_at_time, field.name) for facts_at_time in facts]
        values = list(dict.fromkeys(value for value in field_values if value not in ("", None)))
        if len(values) > 1:
            changes.append(f"{field.name}: {values[0]}, later {values[-1]}")
    return tuple(changes)


def _snapshot_identity(configuration: Configuration, queries: Sequence[Query]) -> dict[str, str]:
    """The values that identify a snapshot; a call continues only a snapshot with equal values."""
    queries_hash = hashlib.sha256()
    for query in queries:
        values = repr(sorted(query.values.items())) if query.values else ""
        queries_hash.update(f"{query.query_id}\0{query.text}\0{values}".encode())
    return {
        "engine": configuration.name,
        "configuration": configuration.engine_sha256,
        "queries": queries_hash.hexdigest(),
        "latencies": "all attempts",  # files of earlier versions have those of the last one
    }


EngineLike: TypeAlias = "str | Path | Engine | Configuration | Callable[..., Any]"
"""An engine: a TOML file, a declaration, or a function of a query's text and ``depth``."""


@dataclass(frozen=True, kw_only=True)
class FunctionEngine(Engine):
    """An engine that is a function passed by the caller.

    Attributes:
        function: the function.
    """

    engine_kind = Python.engine_kind
    title = Python.title

    function: Callable[..., Any]

    def uses(self) -> None:
        """Return None: the function receives every parameter."""

    def connect(self) -> Connection:
        """The function."""
        return FunctionConnection(self, self.function)


def snapshot(
    engine: EngineLike,
    queries: QueriesLike,
    output: str | Path | None = None,
    *,
    parameters: Mapping[str, Any] | Sequence[str] = (),
    depth: Annotated[int, Range(1, 10_000)] | None = None,
    concurrency: Annotated[int, Range(1, 256)] | None = None,
    rate: Annotated[float, Range(0, exclusive=True)] | None = None,
    arrival_rate: Annotated[float, Range(0, exclusive=True)] | None = None,
    again: bool = False,
    force: bool = False,
    to: str | None = None,
) -> Snapshot:
    """Ask an engine every query, and keep what it returns as a run.

    Each answer is on disk (``OUTPUT.partial.jsonl``) before the next query is
    sent, so that the next call continues an interrupted snapshot. When it ends, the
    run is written, with the state and latency of each query (``OUTPUT.meta.jsonl``), the display
    fields of documents (``OUTPUT.docs.jsonl``) and the snapshot itself
    (``OUTPUT.snapshot.json``).

    Args:
        engine: an engine's TOML file, a declaration, or a function.
        queries: ids and texts: a file, ``{query_id: text}`` or a frame.
        output: the file of the run; in memory only without it.
        parameters: the parameters of the engine's request: ``{"k1": 0.9}``, or as words,
            ``["k1=0.9"]``.
        depth: the number of documents to request; by default the value in the engine's file.
        concurrency: the number of queries sent at the same time; by default the value in the
            engine's file.
        rate: queries a second, at most; by default the value in the engine's file.
        arrival_rate: queries a second that arrive whether or not earlier ones are answered; latencies
            count from the arrival. By default the value in the engine's file.
        again: ask queries again that failed before.
        force: replace an output that exists, and start again.
        to: the format of the run; by the suffix of OUTPUT without it.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: an unknown parameter; an output that exists; another snapshot under way there;
            a secret that is not set; an engine that cannot be connected to.
        MissingExtraError: the library of the engine is not installed.
    """
    configuration = configure_engine(engine, parameters, depth, concurrency, rate, arrival_rate)
    query_list = queries_of(queries)
    if output is None:
        with TemporaryDirectory() as folder:
            target = RunTarget(Path(folder) / "run", None)
            return replace(_take_snapshot(configuration, query_list, target, again=again), output=None)
    target = make_target(output, to)
    target.refuse_finished(force=force)
    return _take_snapshot(configuration, query_list, target, again=again)


def configure_engine(
    engine: EngineLike,
    parameters: JsonObject | Sequence[str],
    depth: int | None,
    concurrency: int | None,
    rate: float | None,
    arrival_rate: float | None = None,
) -> Configuration:
    """The configuration of an engine, with the values of a call in place of its file's."""
    configuration = configuration_of(engine).with_parameters(parameters, depth)
    pace = configuration.pace
    if rate or arrival_rate:  # instead of either in the file
        pace = replace(pace, rate=rate, arrival_rate=arrival_rate)
    pace = replace(pace, concurrency=concurrency or pace.concurrency)
    return replace(configuration, pace=pace)


def make_target(output: str | Path, format_name: str | None) -> RunTarget:
    """The file of a run in its format."""
    run_format: Format = choose_format(output, format_name, "runs")
    return RunTarget(Path(output), run_format)


def configuration_of(engine: EngineLike) -> Configuration:
    """The configuration of an engine.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the value is not an engine.
    """
    if isinstance(engine, Configuration):
        return engine
    if isinstance(engine, Engine):
        engine.check()
        return Configuration(engine.engine_kind, engine, Pace())
    if isinstance(engine, str | Path):
        return read_engine(engine)
    if callable(engine):
        name = getattr(engine, "__name__", "function")
        return Configuration(name, FunctionEngine(function=engine), Pace())
    raise UsageError(
        f"{type(engine).__name__} is not an engine; give a TOML file or a function.", code="wrong-type"
    )


def _take_snapshot(
    configuration: Configuration, queries: Sequence[Query], target: RunTarget, *, again: bool
) -> Snapshot:
    arm = EngineSnapshot.open(configuration, queries, target, again=again)

    def keep(_: int, outcome: Outcome) -> None:
        arm.keep(outcome)
        step(outcome.query_id)

    with closing(arm):
        arm.note_facts()
        asking = QuerySender([configuration.engine], configuration.pace, keep, [arm.outcomes.answered])
        start_time = time.monotonic()
        if arm.left:
            asking.run([[(0, query)] for query in arm.left])
        down = asking.failed_while_down(0)
        return arm.finish(asking.problem, time.monotonic() - start_time, down)
