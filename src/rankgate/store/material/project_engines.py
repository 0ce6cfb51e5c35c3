"""The search engines of a project, by name; they answer its queries.

A definition holds the kind of engine and its settings, in the form of an engine file. Secrets are
not stored: the settings only name environment variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.rows import refuse_unaddressable, unknown_error

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Json, JsonObject


_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class ProjectEngine:
    """The definition of an engine of a project.

    Attributes:
        name: unique in the project.
        kind: the kind of engine, such as ``opensearch``.
        settings: the keys with a value, as in the table ``[engine]`` of an engine file.
    """

    name: str
    kind: str
    settings: Mapping[str, Any]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the environment variables that the settings use, sorted."""
        names = {name for text in _texts(self.settings) for name in _VARIABLE.findall(text)}
        return tuple(sorted(names))

    @classmethod
    def from_json(cls, name: str, definition: Mapping[str, Any]) -> Self:
        """Create an engine from its stored definition."""
        return cls(name, str(definition["kind"]), dict(definition["settings"]))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, nested in value.items():
            yield from _texts(name)
            yield from _texts(nested)
    elif isinstance(value, list):
        for nested in value:
            yield from _texts(nested)


def list_engines(connection: Connection, project: int) -> list[ProjectEngine]:
    """The engines of a project by name."""
    definitions = projects.get(connection, project).settings.get("engines", {})
    return [ProjectEngine.from_json(name, definitions[name]) for name in sorted(definitions)]


def get_engine(connection: Connection, project: int, name: str) -> ProjectEngine:
    """An engine of a project by name.

    Raises:
        UsageError: the engine does not exist.
    """
    engines = {engine.name: engine for engine in list_engines(connection, project)}
    if name not in engines:
        raise unknown_error("engine", name)
    return engines[name]


def save_engine(connection: Connection, project: int, engine: ProjectEngine) -> None:
    """Add an engine to a project, or replace the engine of the same name.

    Raises:
        UsageError: the name is not valid.
    """
    if not _NAME.fullmatch(engine.name):
        raise UsageError(
            f"{engine.name!r} is not an engine's name; use lower case letters, digits and - . _",
            code="invalid-name",
        )
    refuse_unaddressable("an engine", engine.name)
    definitions = _lock_definitions(connection, project)
    definitions[engine.name] = {"kind": engine.kind, "settings": dict(engine.settings)}
    projects.change_settings(connection, project, {"engines": definitions})


def delete_engine(connection: Connection, project: int, name: str) -> None:
    """Delete an engine of a project; its runs stay.

    Raises:
        UsageError: the engine does not exist.
    """
    definitions = _lock_definitions(connection, project)
    if definitions.pop(name, None) is None:
        raise unknown_error("engine", name)
    projects.change_settings(connection, project, {"engines": definitions})


def _lock_definitions(connection: Connection, project: int) -> dict[str, JsonObject]:
    """Lock and return the definitions by name, until the transaction ends."""
    projects.lock(connection, project)
    return dict(projects.get(connection, project).settings.get("engines", {}))
