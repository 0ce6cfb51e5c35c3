"""Read an engine from TOML; errors name the line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.declare.parameter import literal
from rankgate.core.declare.toml import Toml
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.catalogue import ENGINES
from rankgate.engines.pace import Pace

if TYPE_CHECKING:
    from rankgate.engines.engine import Engine

_TABLES = ("engine", "snapshot")


@dataclass(frozen=True)
class Configuration:
    """An engine, and how it is asked.

    Attributes:
        name: of the engine, which its run is called.
        engine: its declaration.
        pace: how fast and how often it is asked.
    """

    name: str
    engine: Engine
    pace: Pace

    @property
    def sha256(self) -> str:
        """A hash of all settings and of the concurrency, on which latencies depend."""
        words = f"{self.engine_sha256} {self.pace.concurrency}"
        return hashlib.sha256(words.encode()).hexdigest()

    @property
    def engine_sha256(self) -> str:
        """A hash of all settings; secrets are in it by the names of their variables only."""
        values = {each.name: _portable(self.engine, each) for each in fields(self.engine)}
        words = json.dumps(
            {"kind": self.engine.engine_kind, **values}, sort_keys=True, default=repr
        )
        return hashlib.sha256(words.encode()).hexdigest()

    def having(
        self, parameters: Mapping[str, Any] | Sequence[str] = (), depth: int | None = None
    ) -> Configuration:
        """With other values of the engine's parameters, or another depth.

        Raises:
            UsageError: a parameter that the engine does not have.
        """
        engine = self.engine
        given = dict(parameters) if isinstance(parameters, Mapping) else _words(parameters)
        for name in given:
            if name not in engine.parameters:
                known = ", ".join(engine.parameters) or "none"
                raise UsageError(
                    f"{self.name}: no parameter {name!r}; [engine.parameters] has {known}.",
                    code="unknown-parameter",
                )
        engine = replace(engine, parameters={**engine.parameters, **given})
        return replace(self, engine=replace(engine, depth=depth) if depth else engine)


def read(path: str | Path) -> Configuration:
    """The engine of a file.

    Raises:
        InputError: no TOML; an unknown kind or key, a value that does not fit; with the line.
        UsageError: settings that do not work together.
    """
    toml = Toml.read(path, code="invalid-engine")
    toml.check_keys(toml.values, _TABLES)
    given = toml.values.get("engine")
    if not isinstance(given, dict):
        raise toml.error("[engine] is missing: the kind of engine, and where it is.")
    values = dict(given)
    name, kind = values.pop("name", None), values.pop("kind", None)
    if not isinstance(kind, str):
        known = ", ".join(ENGINES)
        raise toml.error(f"kind is missing; it is one of {known}.", "engine")
    try:
        declaration = ENGINES.named(kind).declaration
    except UsageError as error:
        raise toml.error(str(error), "engine", "kind") from None
    read_values = toml.read_values(values, fields_of(declaration).values(), "engine")
    pace = toml.read_values(toml.values.get("snapshot", {}), fields_of(Pace).values(), "snapshot")
    engine = _based(declaration(**read_values), Path(path).resolve().parent)
    try:
        engine.check()
    except UsageError as error:
        raise toml.error(error.problem, "engine", code=error.code) from None
    return Configuration(str(name or Path(path).stem), engine, Pace(**pace))


def _portable(engine: Engine, setting: Field[Any]) -> Any:
    """The value of a setting, the same in any folder and process."""
    value = getattr(engine, setting.name)
    if setting.metadata.get("path") and value:
        return Path(value).name
    return getattr(value, "__qualname__", value)


def _based(engine: Engine, folder: Path) -> Engine:
    """With paths from the folder of the engine's file."""
    placed: dict[str, Any] = {
        each.name: str(folder / getattr(engine, each.name))
        for each in fields(engine)
        if each.metadata.get("path") and getattr(engine, each.name)
    }
    return replace(engine, **placed)


def _words(words: Sequence[str]) -> dict[str, Any]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not NAME=VALUE.", code="invalid-parameter")
        found[name.strip()] = literal(value.strip())
    return found
