"""The verb ``snapshot``: send every query to an engine, and keep its results as a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.write import choose_format
from rankgate.engines.configuration import Configuration, read_engine
from rankgate.engines.engine import Connection, Engine, Query
from rankgate.engines.kinds.python import FunctionConnection, Python
from rankgate.engines.pace import Pace
from rankgate.engines.snapshots.arm import EngineSnapshot
from rankgate.engines.snapshots.asking import QuerySender
from rankgate.engines.snapshots.outcome import Outcome
from rankgate.engines.snapshots.queries import queries_of
from rankgate.engines.snapshots.snapshot import Snapshot
from rankgate.engines.snapshots.writing import RunTarget

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.engines.snapshots.queries import QueriesLike

EngineLike: TypeAlias = "str | Path | Engine | Configuration | Callable[..., Any]"
"""An engine: a TOML file, a declaration, or a function of a query's text and ``depth``."""


@dataclass(frozen=True, kw_only=True)
class FunctionEngine(Engine):
    """A function that a call passed as the engine.

    Attributes:
        function: the function.
    """

    engine_kind: ClassVar[str] = Python.engine_kind
    title: ClassVar[str] = Python.title

    function: Callable[..., Any]

    def uses(self) -> None:
        """It gets every parameter."""

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
    again: bool = False,
    force: bool = False,
    to: str | None = None,
) -> Snapshot:
    """Ask an engine every query, and keep what it returns as a run.

    Each answer is on disk (``OUTPUT.partial.jsonl``) before the next query is asked, so that a
    snapshot that was interrupted goes on where it was when it is called again. When it ends, the
    run is written, with the state and latency of each query (``OUTPUT.meta.jsonl``), the display
    fields of documents (``OUTPUT.docs.jsonl``) and the snapshot itself
    (``OUTPUT.snapshot.json``).

    Args:
        engine: an engine's TOML file, a declaration, or a function.
        queries: ids and texts: a file, ``{query_id: text}`` or a frame.
        output: the file of the run; in memory only without it.
        parameters: of the engine's request: ``{"k1": 0.9}``, or as words, ``["k1=0.9"]``.
        depth: how many documents are asked for; as the engine's file says without it.
        concurrency: queries that are asked at the same time; as the engine's file says without it.
        rate: queries a second, at most; as the engine's file says without it.
        again: ask queries that failed before anew.
        force: replace an output that exists, and begin anew.
        to: the format of the run; by the suffix of OUTPUT without it.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: an unknown parameter; an output that exists; another snapshot under way there;
            a secret that is not set; an engine that cannot be connected to.
        MissingExtraError: the library of the engine is not installed.
    """
    configuration = configure_engine(engine, parameters, depth, concurrency, rate)
    query_list = queries_of(queries)
    if output is None:
        with TemporaryDirectory() as folder:
            target = RunTarget(Path(folder) / "run", None)
            return replace(
                _take_snapshot(configuration, query_list, target, again=again), output=None
            )
    target = make_target(output, to)
    target.ready(force=force)
    return _take_snapshot(configuration, query_list, target, again=again)


def configure_engine(
    engine: EngineLike,
    parameters: Mapping[str, Any] | Sequence[str],
    depth: int | None,
    concurrency: int | None,
    rate: float | None,
) -> Configuration:
    """The configuration of an engine, with the values of a call in place of its file's."""
    configuration = configuration_of(engine).having(parameters, depth)
    pace = replace(
        configuration.pace,
        concurrency=concurrency or configuration.pace.concurrency,
        rate=rate or configuration.pace.rate,
    )
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
        f"{type(engine).__name__} is no engine; give a TOML file or a function.",
        code="wrong-type",
    )


def _take_snapshot(
    configuration: Configuration,
    queries: Sequence[Query],
    target: RunTarget,
    *,
    again: bool,
) -> Snapshot:
    arm = EngineSnapshot.open(configuration, queries, target, again=again)

    def keep(_: int, outcome: Outcome) -> None:
        arm.keep(outcome)
        step(outcome.query_id)

    with closing(arm):
        arm.note_facts()
        asking = QuerySender(
            [configuration.engine], configuration.pace, keep, [arm.outcomes.answered]
        )
        start_time = time.monotonic()
        if arm.left:
            asking.run([[(0, query)] for query in arm.left])
        down = asking.failed_while_down(0)
        return arm.finish(asking.problem, time.monotonic() - start_time, down)
