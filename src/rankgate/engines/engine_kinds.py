"""The available kinds of engines, with the keys of their files."""

from __future__ import annotations

from typing import ClassVar, Self

import polars as pl

from rankgate.core.declare import fields_of
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.engines.catalogue import ENGINES, EngineKind
from rankgate.engines.pace import Pace


@dataclass(frozen=True)
class Key:
    """One key of an engine's file.

    Attributes:
        table: ``engine`` or ``snapshot``.
        name: the key.
        takes: the type or choices of its value.
        default: the default; empty if the key is required or has no default.
        required: True if the file must have it.
        help: its meaning.
    """

    table: str
    name: str
    takes: str
    default: str
    required: bool
    help: str


@dataclass(frozen=True)
class KindDetails:
    """One kind of engine.

    Attributes:
        name: the value of ``kind`` in a file.
        title: a short description.
        source: the URL of its documentation.
        keys: of its file.
    """

    name: str
    title: str
    source: str
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, kind: EngineKind) -> Self:
        """The details of a kind."""
        table_and_parameter = [("engine", parameter) for parameter in kind.parameters.values()]
        table_and_parameter += [("snapshot", parameter) for parameter in fields_of(Pace).values()]
        keys = tuple(
            Key(
                table,
                parameter.name,
                parameter.takes,
                "" if parameter.default in (None, [], {}) else str(parameter.default),
                parameter.required,
                parameter.help.replace("`", ""),
            )
            for table, parameter in table_and_parameter
        )
        return cls(kind.name, kind.title, kind.source, keys)


@dataclass(frozen=True)
class EngineKinds(Result):
    """Kinds of engines: all, or one.

    Attributes:
        kinds: the details of each.
    """

    kind: ClassVar[str] = "engine_kinds"
    document_from: ClassVar[str] = "rankgate.engines.documents.engines:kinds_document"

    kinds: tuple[KindDetails, ...]

    def __len__(self) -> int:
        """The number of kinds."""
        return len(self.kinds)

    def _table(self) -> pl.DataFrame:
        rows = [
            {"kind": kind.name, "title": kind.title, "source": kind.source} for kind in self.kinds
        ]
        return pl.DataFrame(rows)


def engines(kind: str | None = None) -> EngineKinds:
    """The kinds of engines that can be asked.

    Args:
        kind: one of them only.

    Raises:
        UsageError: no such kind.
    """
    kinds = ENGINES.every if kind is None else (ENGINES.named(kind),)
    return EngineKinds(tuple(map(KindDetails.of, kinds)))
