"""The kinds of engines that can be asked, with the keys of their files."""

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
        takes: what it takes.
        default: what holds without it; empty if required or there is nothing.
        required: whether it must be there.
        help: what it means.
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
        name: what ``kind`` says in a file.
        title: what it is.
        source: where it is documented.
        keys: of its file.
    """

    name: str
    title: str
    source: str
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, kind: EngineKind) -> Self:
        """The details of a kind."""
        declared = [("engine", each) for each in kind.parameters.values()]
        declared += [("snapshot", each) for each in fields_of(Pace).values()]
        keys = tuple(
            Key(
                table,
                each.name,
                each.takes,
                "" if each.default in (None, [], {}) else str(each.default),
                each.required,
                each.help.replace("`", ""),
            )
            for table, each in declared
        )
        return cls(kind.name, kind.title, kind.source, keys)


@dataclass(frozen=True)
class EngineKinds(Result):
    """Kinds of engines: all, or one.

    Attributes:
        kinds: the details of each.
    """

    kind: ClassVar[str] = "engine_kinds"
    document_from: ClassVar[str] = "rankgate.engines.documents.engines:kinds"

    kinds: tuple[KindDetails, ...]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.kinds)

    def _table(self) -> pl.DataFrame:
        rows = [
            {"kind": each.name, "title": each.title, "source": each.source} for each in self.kinds
        ]
        return pl.DataFrame(rows)


def engines(kind: str | None = None) -> EngineKinds:
    """The kinds of engines that can be asked.

    Args:
        kind: one of them only.

    Raises:
        UsageError: no such kind.
    """
    chosen = ENGINES.every if kind is None else (ENGINES.named(kind),)
    return EngineKinds(tuple(map(KindDetails.of, chosen)))
