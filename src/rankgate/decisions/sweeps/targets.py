"""Targets of sweeps: an engine, a command that writes a run; `FusionTarget` is a fusion of runs.

The target of a sweep takes a point, and gives a run. A command writes the run of each point. A search
engine has its parameters, and the keys of its file.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun, format_setting
from rankgate.core.progress import progress
from rankgate.data import read_run
from rankgate.data.answers.engine_answers import Answer
from rankgate.data.formats.run_companions import PARTIAL, RESULT
from rankgate.decisions.sweeps.point_latencies import Timing, time_engines
from rankgate.decisions.sweeps.setup_steps import run_program
from rankgate.engines.requests.secrets import fill, template_names
from rankgate.engines.snapshots.run_files import DEFAULT_FORMAT
from rankgate.engines.snapshots.snapshot import Snapshot
from rankgate.engines.snapshots.snapshot_verb import snapshot

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data import Run
    from rankgate.data.query_latencies import Bounds
    from rankgate.decisions.sweeps.dials import Dial, Point, Program
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Facts, Query


UNSET = object()
"""The present value of a dial without one."""


class SweepInterrupted(Exception):  # noqa: N818 - it is not an error
    """The sweep is interrupted while another thread measures a point."""


@dataclass(frozen=True)
class PointRun:
    """The run of one point, or its failure.

    Attributes:
        run: the rankings of the point; None if it failed.
        problem: the reason why the point failed.
        latency: bounds of quantiles in milliseconds, if the target measures latencies.
        file: the file of the run, if the run has one.
        empty: True if every query was answered, but without results.
        unfinished: True if queries were not sent, as the engine may be down.
    """

    run: Run | None
    problem: str = ""
    latency: Mapping[str, Bounds] = field(default_factory=dict)
    file: Path | None = None
    unfinished: bool = False
    empty: bool = False


class Target(ABC):
    """The target of a sweep.

    Attributes:
        name: the name of the engine, fusion or command.
        kind: engine, fusion or command.
    """

    name: str
    kind: str

    @abstractmethod
    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """The problem of a dial or of one of its values; empty if there is no problem.

        Args:
            dial: the dial.
            values: the known values that the sweep will try.
            elsewhere: True if a step of the set-up uses the dial.
        """

    @abstractmethod
    def current(self, name: str) -> Any:
        """The present value of a dial, or `UNSET`."""

    def applies(self, name: str, point: Point) -> bool:  # noqa: ARG002 - most targets use every dial everywhere
        """True if the other values of a point allow a dial to have an effect."""
        return True

    def check(self, point: Point) -> None:  # noqa: B027 - a command checks its arguments itself
        """Refuse a point whose settings cannot work together, before anything is measured.

        Raises:
            UsageError: the settings of the point do not fit each other.
        """

    @property
    def template_values(self) -> JsonObject:
        """Values of names in double braces that are not dials."""
        return {}

    @property
    def names(self) -> set[str]:
        """Names in double braces that need a dial."""
        return set()

    @property
    def query_ids(self) -> frozenset[str] | None:
        """The queries of every point; None if the runs decide."""
        return None

    @abstractmethod
    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on, as plain values."""

    def stored(self, path: Path) -> PointRun | None:  # noqa: ARG002 - not every target keeps runs
        """The run of an earlier call, if it is complete."""
        return None

    @abstractmethod
    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point.

        Args:
            point: a value for each dial.
            path: the file of the run, without a suffix.
            watch: a function that is called often; raises `SweepInterrupted` if the sweep is
                interrupted.
        """

    def with_queries(self, query_ids: Collection[str]) -> Target:  # noqa: ARG002 - runs that are there cost nothing
        """The target with these queries alone, where others would cost requests."""
        return self

    def requests(self, points: Sequence[Point], queries: int) -> int:  # noqa: ARG002 - not every target sends some
        """The number of requests that the runs of points take at most."""
        return 0

    def lists(self, point: Point, folder: Path) -> Mapping[str, Run]:  # noqa: ARG002 - only a fusion has several
        """The lists that a point is made of, by name; empty if they are unknown."""
        return {}

    @property
    def data_hash(self) -> str:
        """A hash of the data that `identity` does not name; empty if there are none."""
        return ""

    def time(self, points: Sequence[Point], seed: int) -> Timing:  # noqa: ARG002 - not every target has latencies
        """The latencies of points, queried in turn.

        Args:
            points: the points with figures.
            seed: the seed of the order.
        """
        return Timing()

    def answers(self) -> bool:
        """True if the target answers; a check after an unfinished point."""
        return True


def digest(values: object) -> str:
    """A hash of plain values."""
    text = json.dumps(values, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


RUN = "run"
"""The name of the file that a command writes."""


@dataclass
class CommandTarget(Target):
    """A command.

    Attributes:
        program: the command, with names of dials.
        folder: the working directory.
    """

    program: Program
    folder: Path
    kind: str = "command"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The program."""
        return Path(str(self.program.command[0])).name

    @property
    def names(self) -> set[str]:
        """The names of the command, without its run."""
        return {*template_names(self.program.command)} - {RUN}

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:  # noqa: ARG002 - the signature of targets
        """The problem of a dial or of one of its values."""
        if elsewhere or dial.name in self.names:
            return ""
        return f"{dial.name} is not in the command; write {{{{{dial.name}}}}} in it"

    def current(self, name: str) -> Any:  # noqa: ARG002 - a command has no present values
        """The value that a dial has now."""
        return UNSET

    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on."""
        return {"command": fill(self.program.command, {**point, RUN: ""})}

    def stored(self, path: Path) -> PointRun | None:
        """The run of an earlier call."""
        output = path.with_suffix(".run")
        return PointRun(read_run(output, self.name), file=output) if output.exists() else None

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point."""
        output, new_output = path.with_suffix(".run"), path.with_suffix(".new.run")
        arguments = fill(self.program.command, {**point, RUN: str(new_output.resolve())})
        problem = run_program(arguments, self.folder, self.program.timeout, watch)
        if not problem and not new_output.exists():
            problem = "the command wrote no run; its file is {{run}}"
        if problem:
            return PointRun(None, problem)
        try:
            read_run(new_output).table  # noqa: B018 - reads and checks every row
        except RankgateError as error:
            return PointRun(None, error.problem.rstrip("."))
        new_output.replace(output)
        return PointRun(read_run(output, self.name), file=output)


_DIAL_KINDS = frozenset({"text", "int", "float", "bool", "choice", "number", "list", "texts"})


@dataclass
class EngineTarget(Target):
    """An engine.

    Attributes:
        configuration: the present configuration.
        queries: the queries of every point.
        folder: the folder of the engine's file, for keys that are paths.
        steady: True if no set-up changes the index's settings.
    """

    configuration: Configuration
    queries: Sequence[Query]
    folder: Path
    steady: bool = True
    kind: str = "engine"
    _facts: Facts | None = field(default=None, repr=False)
    _asked: str = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the engine."""
        return self.configuration.name

    @property
    def template_values(self) -> JsonObject:
        """The parameters of the engine."""
        return self.configuration.engine.parameters

    @property
    def query_ids(self) -> frozenset[str]:
        """The queries of the file."""
        return frozenset(query.query_id for query in self.queries)

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """The problem of a dial or of one of its values."""
        engine, name = self.configuration.engine, dial.name
        if name in engine.parameters:
            used = engine.uses()
            if elsewhere or used is None or name in used:
                return ""
            return f"no request of {self.name} uses the parameter {name}; write {{{{{name}}}}} in it"
        if name in self._keys:
            return self._refused(name, values)
        if elsewhere:
            return ""
        dial_names = ", ".join([*engine.parameters, *self._keys])
        return (
            f"{name} is neither in [engine.parameters] nor a key of [engine] nor in a step of the set-up; "
            f"there are {dial_names}"
        )

    def current(self, name: str) -> Any:
        """The value that a dial has now."""
        engine = self.configuration.engine
        if name in engine.parameters:
            return engine.parameters[name]
        if name in self._keys:
            value = getattr(engine, name)
            return UNSET if value is None else value
        return UNSET

    def check(self, point: Point) -> None:
        """Refuse settings that the engine cannot have together."""
        self.engine_at(point)

    def with_queries(self, query_ids: Collection[str]) -> EngineTarget:
        """The engine with these queries alone; facts of its index are asked for once."""
        queries = [query for query in self.queries if query.query_id in query_ids]
        return replace(self, queries=queries, _facts=self._index_facts(), _asked="")

    def requests(self, points: Sequence[Point], queries: int) -> int:
        """Each query once at each point."""
        return len(points) * queries

    def _index_facts(self) -> Facts:
        if self._facts is None:
            self._facts = _facts(self.configuration)
        return self._facts

    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on."""
        index = self._index_facts()
        self._asked = self._asked or digest([(query.query_id, query.text) for query in self.queries])
        facts = [index.version, index.documents]
        return {
            "engine": self.engine_at(point).sha256,
            "scores": self.configuration.pace.scores,
            "queries": self._asked,
            "index": [*facts, index.settings] if self.steady else facts,
        }

    def engine_at(self, point: Point) -> Configuration:
        """The engine with the values of a point.

        Raises:
            UsageError: settings that do not work together.
        """
        engine = self.configuration.engine
        parameters = {name: value for name, value in point.items() if name in engine.parameters}
        paths = {field_.name for field_ in fields(engine) if field_.metadata.get("path")}
        keys: dict[str, Any] = {
            name: str(self.folder / value) if name in paths else self._read(name, value)
            for name, value in point.items()
            if name in self._keys and name not in parameters
        }
        engine = replace(engine, parameters={**engine.parameters, **parameters}, **keys)
        engine.check()
        return replace(self.configuration, engine=engine)

    def stored(self, path: Path) -> PointRun | None:
        """The run of an earlier call."""
        output = path.with_suffix(".run")
        result = _stored(output)
        return None if result is None else self._take_run(result, output)

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point."""
        output = path.with_suffix(".run")
        query_list = list(self.queries)
        configuration = self.engine_at(point)
        with progress(lambda _: watch()):
            result = snapshot(configuration, query_list, output, to=DEFAULT_FORMAT, again=True)
        return self._take_run(result, output)

    def _take_run(self, result: Snapshot, output: Path) -> PointRun:
        problem = _problem(result)
        if not problem and not result.lists.documents:
            return PointRun(None, "no query has a result", result.latency_bounds, output, empty=True)
        run = None if problem else read_run(output, self.name)
        return PointRun(run, problem, result.latency_bounds, output, unfinished=not result.finished)

    def time(self, points: Sequence[Point], seed: int) -> Timing:
        """The latencies of points, queried in turn; empty if points need a set-up."""
        if not self.steady:
            return Timing(problem="each is set up by itself")
        engines = [self.engine_at(point).engine for point in points]
        return time_engines(engines, self.queries, self.configuration.pace, seed)

    def answers(self) -> bool:
        """True if the engine answers a query with its present configuration."""
        with closing(self.configuration.engine.connect()) as connection:
            return isinstance(connection.ask(self.queries[0]), Answer)

    @property
    def _keys(self) -> Mapping[str, Any]:
        """The keys of the engine's file that a dial can set."""
        declared = fields_of(type(self.configuration.engine))
        return {name: parameter for name, parameter in declared.items() if parameter.kind in _DIAL_KINDS}

    def _refused(self, name: str, values: tuple[object, ...]) -> str:
        for value in values:
            try:
                self._read(name, value)
                self.engine_at({name: value})
            except UsageError as error:
                return f"{name} = {format_setting(value)}: {error.problem.rstrip('.')}"
            except ValueError as error:
                return f"{name} = {format_setting(value)} {str(error).rstrip('.')}"
        return ""

    def _read(self, name: str, value: object) -> Any:
        return self._keys[name].read(value)


def _facts(configuration: Configuration) -> Facts:
    with closing(configuration.engine.connect()) as connection:
        return connection.facts()


def _stored(output: Path) -> Snapshot | None:
    """The snapshot of an earlier call, if it is complete."""
    result_path = Path(f"{output}{RESULT}")
    if not result_path.exists() or not output.exists() or Path(f"{output}{PARTIAL}").exists():
        return None
    return Snapshot.from_dict(json.loads(result_path.read_bytes()))


def _problem(result: Snapshot) -> str:
    """The reason why a snapshot cannot be compared with others."""
    states = result.states
    if not result.finished:
        return result.problem or f"{count_noun(states['not_run'], 'query was', 'queries were')} not asked"
    if not states["failed"]:
        return ""
    failed = result.queries.filter(result.queries["state"] == "failed")
    top_error = failed["error"].value_counts(sort=True)["error"][0]
    return (
        f"{states['failed']:,} of {count_noun(len(result.queries), 'query')} failed, most often: {top_error}"
    )
