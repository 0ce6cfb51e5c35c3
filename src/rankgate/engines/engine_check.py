"""Ask an engine one query, and show what a snapshot would keep of the answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.engines.engine import Answer, Facts, Query
from rankgate.engines.snapshots.asking import answered
from rankgate.engines.snapshots.snapshot import Lists, incomplete
from rankgate.engines.snapshots.take import configuration_of
from rankgate.engines.snapshots.writing import counted

if TYPE_CHECKING:
    from rankgate.engines.snapshots.take import EngineLike

_SHOWN = 5
_TEXT = 60  # characters of a field


@dataclass(frozen=True)
class EngineCheck(Result):
    """What came of one query.

    Attributes:
        engine: its name.
        engine_kind: what it is.
        query: what was asked.
        facts: what the engine said of itself.
        seconds: that the answer took.
        problem: why there is none; empty where there is.
        returned: documents.
        total: documents that match, as the engine says.
        scored: whether they have scores.
        documents: the first ones: ``doc_id``, ``score`` and fields as text.
        missing: display fields that none of the documents has.
        unknown: fields of the request that the index does not have.
        lists: what the answer lacks.
        depth: documents that were asked for.
    """

    kind: ClassVar[str] = "engine_check"
    document_from: ClassVar[str] = "rankgate.engines.documents.engines:check"

    engine: str
    engine_kind: str
    query: str
    facts: Facts
    seconds: float
    problem: str = ""
    returned: int = 0
    total: int | None = None
    scored: bool = False
    documents: tuple[dict[str, Any], ...] = ()
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    lists: Lists = Lists()
    depth: int = 0

    @property
    def failed(self) -> bool:
        """Whether something must be mended before a snapshot: no documents, or wrong fields."""
        return not self.returned or bool(self.missing or self.unknown)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is missing for a snapshot."""
        found = []
        if self.problem:
            found.append(Notice("failed-queries", f"no answer: {self.problem}"))
        elif not self.returned:
            found.append(Notice("no-results", "no document matches; try another --query"))
        elif not self.scored:
            found.append(Notice("no-scores", "there are no scores; the run's come from the ranks"))
        found += [
            Notice("missing-field", f"no document has the field {name}", name)
            for name in self.missing
        ]
        found += [
            Notice("unknown-field", f"the index has no field {name}, which the request names", name)
            for name in self.unknown
        ]
        return (*found, *incomplete(self.lists, self.depth))

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(list(self.documents))


def check_engine(
    engine: EngineLike,
    query: str = "test",
    parameters: Mapping[str, Any] | Sequence[str] = (),
) -> EngineCheck:
    """Ask an engine one query.

    Args:
        engine: an engine's TOML file, a declaration, or a function.
        query: what is asked.
        parameters: of the engine's request, as `snapshot` takes them.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: settings that cannot work; a secret that is not set.
        MissingExtraError: the library of the engine is not installed.
    """
    chosen = configuration_of(engine).having(parameters)
    connection = chosen.engine.connect()
    try:
        facts, unknown = connection.facts(), tuple(connection.unknown_fields())
        began = time.perf_counter()
        reply = connection.ask(Query("check", query))
        seconds = round(time.perf_counter() - began, 6)
    finally:
        connection.close()
    about = (chosen.name, chosen.engine.engine_kind, query, facts, seconds)
    if not isinstance(reply, Answer):
        return EngineCheck(*about, problem=reply.problem, unknown=unknown)
    shown = list(reply.fields) or [{}] * len(reply.doc_ids)
    wanted = chosen.engine.fields if reply.doc_ids else {}
    return EngineCheck(
        *about,
        returned=len(reply.doc_ids),
        total=reply.total,
        scored=reply.scores is not None,
        documents=tuple(
            {
                "doc_id": doc_id,
                "score": reply.scores[place] if reply.scores is not None else None,
                **{name: str(value)[:_TEXT] for name, value in shown[place].items()},
            }
            for place, doc_id in enumerate(reply.doc_ids[:_SHOWN])
        ),
        missing=tuple(name for name in wanted if not any(name in each for each in shown)),
        unknown=unknown,
        lists=counted(answered(Query("check", query), reply), Lists(), chosen.engine.depth),
        depth=chosen.engine.depth,
    )
