"""Read an engine from TOML; errors name the line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.declare.parameter import parse_literal
from rankgate.core.declare.toml import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.catalogue import ENGINES
from rankgate.engines.pace import Pace

if TYPE_CHECKING:
    from rankgate.engines.engine import Engine

_TABLES = ("engine", "snapshot")


@dataclass(frozen=True)
class Configuration:
    """An engine, with the pace of its requests.

    Attributes:
        name: of the engine and of its run.
        engine: its declaration.
        pace: the rate, concurrency and retries of requests.
    """

    name: str
    engine: Engine
    pace: Pace

    @property
    def sha256(self) -> str:
        """A hash of all settings and of the concurrency, on which latencies depend."""
        hashed_text = f"{self.engine_sha256} {self.pace.concurrency}"
        return hashlib.sha256(hashed_text.encode()).hexdigest()

    @property
    def engine_sha256(self) -> str:
        """A hash of all settings; secrets are in it by the names of their variables only."""
        values = {
            setting.name: _portable_value(self.engine, setting) for setting in fields(self.engine)
        }
        hashed_text = json.dumps(
            {"kind": self.engine.engine_kind, **values}, sort_keys=True, default=repr
        )
        return hashlib.sha256(hashed_text.encode()).hexdigest()

    def having(
        self, parameters: Mapping[str, Any] | Sequence[str] = (), depth: int | None = None
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
        declaration = ENGINES.named(kind).declaration
    except UsageError as error:
        raise toml.error(str(error), "engine", "kind") from None
    read_values = toml.read_values(values, fields_of(declaration).values(), "engine")
    pace = toml.read_values(toml.values.get("snapshot", {}), fields_of(Pace).values(), "snapshot")
    engine = _resolve_paths(declaration(**read_values), Path(path).resolve().parent)
    try:
        engine.check()
    except UsageError as error:
        raise toml.error(error.problem, "engine", code=error.code) from None
    return Configuration(str(name or Path(path).stem), engine, Pace(**pace))


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


def _parse_parameters(assignments: Sequence[str]) -> dict[str, Any]:
    parameters = {}
    for word in assignments:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not NAME=VALUE.", code="invalid-parameter")
        parameters[name.strip()] = parse_literal(value.strip())
    return parameters
