"""A search engine as the target of a sweep: its parameters, and the keys of its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress
from rankgate.data import read_run
from rankgate.data.answers.answer import Answer
from rankgate.data.formats.snapshot_files import PARTIAL, RESULT
from rankgate.decisions.sweeps.dials import value_text
from rankgate.decisions.sweeps.targets.target import UNSET, PointRun, Target, digest
from rankgate.decisions.sweeps.timing import Timing, time_engines
from rankgate.engines.snapshots.snapshot import Snapshot
from rankgate.engines.snapshots.take import snapshot
from rankgate.engines.snapshots.writing import DEFAULT_FORMAT

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial, Point
    from rankgate.engines.configuration import Configuration
    from rankgate.engines.engine import Facts, Query

_KEYS = frozenset({"text", "int", "float", "bool", "choice", "number"})


@dataclass
class EngineTarget(Target):
    """An engine.

    Attributes:
        configuration: the present configuration.
        queries: the queries of every point.
        folder: of the engine's file, for keys that are paths.
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
    def known(self) -> Mapping[str, Any]:
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
            return (
                f"no request of {self.name} uses the parameter {name}; write {{{{{name}}}}} in it"
            )
        if name in self._keys:
            return self._refused(name, values)
        if elsewhere:
            return ""
        dial_names = ", ".join([*engine.parameters, *self._keys])
        return (
            f"{name} is neither in [engine.parameters] nor a key of [engine] nor in a step of the "
            f"set-up; there are {dial_names}"
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

    def identity(self, point: Point) -> Mapping[str, Any]:
        """The values that the run of a point depends on."""
        if self._facts is None:
            self._facts = _facts(self.configuration)
            self._asked = digest([(query.query_id, query.text) for query in self.queries])
        facts = [self._facts.version, self._facts.documents]
        return {
            "engine": self.at(point).sha256,
            "scores": self.configuration.pace.scores,
            "queries": self._asked,
            "index": [*facts, self._facts.settings] if self.steady else facts,
        }

    def at(self, point: Point) -> Configuration:
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
        return None if result is None else self._taken(result, output)

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:
        """The run of a point."""
        output = path.with_suffix(".run")
        query_list = list(self.queries)
        configuration = self.at(point)
        with progress(lambda _: watch()):
            result = snapshot(configuration, query_list, output, to=DEFAULT_FORMAT, again=True)
        return self._taken(result, output)

    def _taken(self, result: Snapshot, output: Path) -> PointRun:
        problem = _problem(result)
        if not problem and not result.lists.documents:
            return PointRun(None, "no query has a result", result.latency, output, empty=True)
        run = None if problem else read_run(output, self.name)
        return PointRun(run, problem, result.latency, output, unfinished=not result.finished)

    def time(self, points: Sequence[Point], seed: int) -> Timing:
        """The latencies of points, queried in turn; none where points need a set-up."""
        if not self.steady:
            return Timing(problem="each is set up by itself")
        engines = [self.at(point).engine for point in points]
        return time_engines(engines, self.queries, self.configuration.pace, seed)

    def answers(self) -> bool:
        """True if the engine answers a query with its present configuration."""
        with closing(self.configuration.engine.connect()) as connection:
            return isinstance(connection.ask(self.queries[0]), Answer)

    @property
    def _keys(self) -> Mapping[str, Any]:
        """The keys of the engine's file that a dial can set."""
        declared = fields_of(type(self.configuration.engine))
        return {name: parameter for name, parameter in declared.items() if parameter.kind in _KEYS}

    def _refused(self, name: str, values: tuple[Any, ...]) -> str:
        for value in values:
            try:
                self._read(name, value)
                self.at({name: value})
            except UsageError as error:
                return f"{name} = {value_text(value)}: {error.problem.rstrip('.')}"
            except ValueError as error:
                return f"{name} = {value_text(value)} {str(error).rstrip('.')}"
        return ""

    def _read(self, name: str, value: Any) -> Any:
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
        return result.problem or f"{states['not_run']:,} queries were not asked"
    if not states["failed"]:
        return ""
    failed = result.queries.filter(result.queries["state"] == "failed")
    top_error = failed["error"].value_counts(sort=True)["error"][0]
    return (
        f"{states['failed']:,} of {len(result.queries):,} queries failed, most often: {top_error}"
    )
