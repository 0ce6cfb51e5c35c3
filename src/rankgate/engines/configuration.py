"""Read an engine from TOML; the kinds of engines, and the pace of requests.

The kinds of engines come first: those of rankgate, then those of installed plug-ins. The pace
is the rate, concurrency and retries of requests to an engine. Errors in the TOML name the
line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankgate.core.declare import Declared, Parameter, Range, Registry, fields_of
from rankgate.core.declare.parameter import parse_docstring_section, parse_literal
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.engine import typed_value
from rankgate.engines.requests.secrets import Secrets

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.engines.engine import Engine


@dataclass(frozen=True)
class EngineKind(Declared):
    """A kind of engine.

    Attributes:
        declaration: the class with the keys of ``[engine]`` as fields.
    """

    declaration: type[Engine]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The keys of ``[engine]``."""
        from rankgate.engines.engine import Engine

        shared_help = parse_docstring_section(Engine.__doc__ or "", "Attributes")
        parameters = {
            name: parameter if parameter.help else replace(parameter, help=shared_help.get(name, ""))
            for name, parameter in fields_of(self.declaration).items()
        }
        order = sorted(parameters, key=lambda name: (not parameters[name].required, name in shared_help))
        return {name: parameters[name] for name in order}


def _kinds() -> list[EngineKind]:
    """The kinds of engines of the package, by name."""
    import pkgutil
    from importlib import import_module

    from rankgate.engines import kinds
    from rankgate.engines.engine import Engine

    declarations = [
        value
        for module_info in pkgutil.iter_modules(kinds.__path__)
        for module in [import_module(f"{kinds.__name__}.{module_info.name}")]
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, Engine)
    ]
    engine_kinds = [
        EngineKind(
            declaration.engine_kind,
            declaration,
            title=declaration.title,
            source=declaration.source,
            aliases=declaration.aliases,
        )
        for declaration in declarations
    ]
    return sorted(engine_kinds, key=lambda kind: kind.name)


ENGINES: Registry[EngineKind] = Registry(EngineKind, "kind of engine", _kinds, "rankgate.engines")
"""Every kind of engine by name."""


ONE_ENGINE = (
    "an arrival rate is for one engine at a time; take a snapshot of each engine, and compare the runs."
)
"""Why two engines that get each query in turn have no arrival rate."""


@dataclass(frozen=True)
class Pace:
    """The pace of requests to an engine: the keys of ``[snapshot]``.

    Attributes:
        concurrency: The number of queries sent at the same time.
        rate: Queries a second, at most; unlimited without it.
        arrival_rate: Queries a second that arrive whether or not earlier ones are answered; latencies
            count from the arrival, so that a slow answer counts for the queries behind it too.
            Without it a query is sent when a connection is free, and its latency counts from then.
        retries: The number of retries of a query after a failure.
        backoff: Seconds before the first of them; doubled each time.
        warm_up: Queries asked before, whose answers and latencies are thrown away.
        give_up: Failed queries in a row after which the engine counts as down.
        scores: The scores of the run: the engine's, equal ones lowered by the least step so that
            their documents stay in the order in which they were served (served); the engine's as
            they are (engine); or made of the ranks (rank).
    """

    concurrency: Annotated[int, Range(1, 256)] = 4
    rate: Annotated[float, Range(0, exclusive=True)] | None = None
    arrival_rate: Annotated[float, Range(0, exclusive=True)] | None = None
    retries: Annotated[int, Range(0, 100)] = 3
    backoff: Annotated[float, Range(0, 3600)] = 0.5
    warm_up: Annotated[int, Range(0, 100_000)] = 0
    give_up: Annotated[int, Range(1)] = 10
    scores: Literal["served", "engine", "rank"] = "served"

    def __post_init__(self) -> None:
        if self.rate is not None and self.arrival_rate is not None:
            raise UsageError(
                "rate limits how fast queries are sent, arrival_rate sends them at that rate whatever "
                "happens; keep one of them.",
                code="conflicting-options",
            )

    def slower(self, other_pace: Pace) -> Pace:
        """The pace that neither of two engines' files exceeds.

        Raises:
            UsageError: an arrival rate: both engines get each query in turn, so that a slow answer
                of one would count for the other.
        """
        if self.arrival_rate is not None or other_pace.arrival_rate is not None:
            raise UsageError(ONE_ENGINE, code="conflicting-options")
        rates = [rate for rate in (self.rate, other_pace.rate) if rate is not None]
        return Pace(
            concurrency=min(self.concurrency, other_pace.concurrency),
            rate=min(rates, default=None),
            retries=max(self.retries, other_pace.retries),
            backoff=max(self.backoff, other_pace.backoff),
            warm_up=max(self.warm_up, other_pace.warm_up),
            give_up=min(self.give_up, other_pace.give_up),
        )


_TABLES = ("engine", "snapshot")


@dataclass(frozen=True)
class Configuration:
    """An engine, with the pace of its requests.

    Attributes:
        name: the name of the engine and of its run.
        engine: its declaration.
        pace: the rate, concurrency and retries of requests.
    """

    name: str
    engine: Engine
    pace: Pace

    @property
    def sha256(self) -> str:
        """A hash of all settings and of the load, on which latencies depend."""
        arrivals = "" if self.pace.arrival_rate is None else f" {self.pace.arrival_rate}"
        hashed_text = f"{self.engine_sha256} {self.pace.concurrency}{arrivals}"
        return hashlib.sha256(hashed_text.encode()).hexdigest()

    @property
    def engine_sha256(self) -> str:
        """A hash of all settings; secrets are in it by the names of their variables only."""
        values = {setting.name: _portable_value(self.engine, setting) for setting in fields(self.engine)}
        values = Secrets.in_plain_text(self.engine).scrubbed(values)
        hashed_text = json.dumps({"kind": self.engine.engine_kind, **values}, sort_keys=True, default=repr)
        return hashlib.sha256(hashed_text.encode()).hexdigest()

    def with_parameters(
        self, parameters: JsonObject | Sequence[str] = (), depth: int | None = None
    ) -> Configuration:
        """The configuration with other values of the engine's parameters, or another depth.

        Raises:
            UsageError: a parameter that the engine does not have.
        """
        engine = self.engine
        new_parameters = (
            dict(parameters) if isinstance(parameters, Mapping) else _parse_parameters(parameters)
        )
        for name in new_parameters:
            if name not in engine.parameters:
                names = ", ".join(engine.parameters) or "none"
                raise UsageError(
                    f"{self.name}: no parameter {name!r}; [engine.parameters] has {names}.",
                    code="unknown-parameter",
                )
            new_parameters[name] = typed_value(new_parameters[name], engine.parameters[name], name)
        engine = replace(engine, parameters={**engine.parameters, **new_parameters})
        return replace(self, engine=replace(engine, depth=depth) if depth else engine)


def read_engine(path: str | Path) -> Configuration:
    """The engine of a file.

    Raises:
        InputError: no TOML; an unknown kind or key, a value that does not fit; with the line.
        UsageError: settings that do not work together.
    """
    toml = TomlFile.read(path, code="invalid-engine")
    toml.check_keys(toml.values, _TABLES)
    engine_table = toml.values.get("engine")
    if not isinstance(engine_table, dict):
        raise toml.error("[engine] is missing: the kind of engine, and where it is.")
    values = dict(engine_table)
    name, kind = values.pop("name", None), values.pop("kind", None)
    if not isinstance(kind, str):
        kinds = ", ".join(ENGINES)
        raise toml.error(f"kind is missing; it is one of {kinds}.", "engine")
    try:
        declaration = ENGINES.find(kind).declaration
    except UsageError as error:
        raise toml.error(str(error), "engine", "kind") from None
    read_values = toml.read_values(values, fields_of(declaration).values(), "engine")
    pace_values = toml.read_values(toml.values.get("snapshot", {}), fields_of(Pace).values(), "snapshot")
    try:
        pace = Pace(**pace_values)
    except UsageError as error:
        raise toml.error(error.problem, "snapshot", "arrival_rate", code=error.code) from None
    engine = _resolve_paths(declaration(**read_values), Path(path).resolve().parent)
    try:
        engine.check()
    except UsageError as error:
        raise toml.error(error.problem, "engine", code=error.code) from None
    return Configuration(str(name or Path(path).stem), engine, pace)


def _portable_value(engine: Engine, setting: Field[Any]) -> Any:
    """The value of a setting, the same in any folder and process."""
    value = getattr(engine, setting.name)
    if setting.metadata.get("path") and value:
        return Path(value).name
    return getattr(value, "__qualname__", value)


def _resolve_paths(engine: Engine, folder: Path) -> Engine:
    """The engine with its paths resolved from the folder of its file."""
    placed: dict[str, Any] = {
        setting.name: str(folder / getattr(engine, setting.name))
        for setting in fields(engine)
        if setting.metadata.get("path") and getattr(engine, setting.name)
    }
    return replace(engine, **placed)


def _parse_parameters(assignments: Sequence[str]) -> dict[str, Json]:
    parameters = {}
    for word in assignments:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not NAME=VALUE.", code="invalid-parameter")
        parameters[name.strip()] = parse_literal(value.strip())
    return parameters
