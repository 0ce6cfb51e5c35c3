"""Both lists of a query, and how its value was computed, from what a record and the store have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import ListedDocument, ListPair
from rankgate.core.present.pages.parts import side_by_side
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.documents.comparison import moved
from rankgate.decisions.gating.verdict import Verdict
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.store.kept import judgments, runs
from rankgate.workspace.web.dashboard.found import result_of
from rankgate.workspace.web.dashboard.stored import judgments_table, run_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rankgate.measurement.explanation.explanation import Explanation
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import Asked

DEPTH = 10
"""Ranks of a list that are shown."""

_DOCUMENTS = 20
"""Documents of an explanation that are shown."""

PAIR = 2
"""Lists that are shown side by side."""

Ranked = dict[int, tuple[str, float | None]]
"""Document and grade by rank."""


@dataclass(frozen=True)
class QueryLists:
    """The lists of a query in a record.

    Attributes:
        query: the query.
        systems: names, the baseline first.
        ranked: of each system.
        explained: the systems whose values can be explained.
        missing: why there are no lists, or no explanations; empty if there are.
    """

    query: str
    systems: tuple[str, ...]
    ranked: tuple[Ranked, ...]
    explained: tuple[str, ...]
    missing: str

    @property
    def documents(self) -> set[str]:
        """Every document in a list."""
        return {doc for ranked in self.ranked for doc, _ in ranked.values()}

    @property
    def data(self) -> list[dict[str, Any]]:
        """As rows of JSON: system, rank, document, grade, ranks gained against the other list."""
        rows = []
        for at, (system, ranked) in enumerate(zip(self.systems, self.ranked, strict=True)):
            other = self._places(at)
            rows += [
                {"system": system, "rank": rank, "doc_id": doc, "grade": grade,
                 "moved": other[doc] - rank if doc in other else None}
                for rank, (doc, grade) in sorted(ranked.items())
            ]  # fmt: skip
        return rows

    def _places(self, at: int) -> dict[str, int]:
        """The ranks of documents in the other list, if there is one."""
        if len(self.ranked) < PAIR:
            return {}
        return {doc: rank for rank, (doc, _) in self.ranked[1 - min(at, 1)].items()}

    def html(self, texts: Mapping[str, str]) -> str:
        """The first two lists side by side."""
        if not self.ranked:
            return ""
        sides = [
            {rank: ListedDocument(doc, grade, self._move(at, doc, rank), texts.get(doc, ""))
             for rank, (doc, grade) in ranked.items()}
            for at, ranked in enumerate(self.ranked[:2])
        ]  # fmt: skip
        one, two = (*sides, {})[:2]
        deepest = max([*one, *two], default=0)
        ranks = tuple((rank, one.get(rank), two.get(rank)) for rank in range(1, deepest + 1))
        known = [g for ranked in self.ranked for _, g in ranked.values() if g is not None]
        names = (*self.systems, "")[:2]
        pair = ListPair(
            "lists", self.query, "", "", (names[0], names[1]), ranks, max(known, default=0.0)
        )
        return side_by_side(pair)

    def _move(self, at: int, doc: str, rank: int) -> str:
        if len(self.ranked) < PAIR:
            return ""
        there = self._places(at).get(doc)
        side = "candidate" if at else "baseline"
        return moved({"system": side, "moved": None if there is None else there - rank})


def of_query(connection: Connection, asked: Asked, record: Record, query: str) -> QueryLists:
    """The lists of a query in a record: from the record, or from the runs that the store has."""
    names = systems_of(asked, record)
    found = [_run(connection, asked, record, name) for name in names]
    graded = _judgments(connection, asked, record)
    there = tuple(name for name, run in zip(names, found, strict=True) if run is not None)
    ranked = _from_record(asked, record, query, names)
    shown = names if ranked else there
    ranked = ranked or [_ranked(run, graded, query) for run in found if run is not None]
    return QueryLists(query, shown, tuple(ranked), there if graded is not None else (),
                      _missing(there, graded))  # fmt: skip


def explanation_of(
    connection: Connection, asked: Asked, record: Record, query: str, metric: str, system: str
) -> Explanation | None:
    """How the value of a metric for a query was computed.

    Returns:
        None where run, judgments or convention are not in the store.

    Raises:
        UsageError: there is no such metric, or the query has no judgments.
    """
    run = _run(connection, asked, record, system)
    graded = _judgments(connection, asked, record)
    how = _convention(asked, record)
    if run is None or graded is None or how is None:
        return None
    one = Run(system, lambda: iter([run]))
    return explain(Qrels(graded, name="judgments"), one, query, metric, how, depth=_DOCUMENTS)


def systems_of(asked: Asked, record: Record) -> tuple[str, ...]:
    """The systems of a record, of a comparison the baseline first."""
    result = result_of(asked, record)
    if isinstance(result, Verdict):
        return result.names
    if isinstance(result, Comparisons):
        one = result.comparisons[-1]
        return one.baseline.name, one.candidate.name
    return tuple(record.inputs.get("runs", {}))


def _run(
    connection: Connection, asked: Asked, record: Record, system: str
) -> pl.DataFrame | None:  # fmt: skip
    wanted = record.inputs.get("runs", {}).get(system)
    for each in runs.listed(connection, asked.project.id, archived=True):
        if wanted and each.sha256 == wanted:
            return run_table(asked, each)
    return None


def _judgments(connection: Connection, asked: Asked, record: Record) -> pl.DataFrame | None:
    for each in judgments.listed(connection, asked.project.id, archived=True):
        if each.sha256 == record.qrels_sha256:
            return judgments_table(connection, asked, each)
    return None


def _convention(asked: Asked, record: Record) -> Convention | None:
    """The convention of a record, if its axes are known."""
    named = CONVENTIONS.get(record.convention)
    if named is not None and named.hash == record.convention_hash:
        return named
    result: Any = result_of(asked, record)
    axes = (getattr(result, "convention", None) or {}).get("axes")
    try:
        return None if axes is None else Convention(record.convention, **axes)
    except TypeError:
        return None


def _from_record(
    asked: Asked, record: Record, query: str, names: Sequence[str]
) -> list[Ranked]:  # fmt: skip
    """The lists that a comparison itself has."""
    result = result_of(asked, record)
    if not isinstance(result, Comparisons) or len(names) != PAIR:
        return []
    table = result.comparisons[-1].lists
    own = table.filter(pl.col("query_id") == query)
    if own.is_empty():
        return []
    return [
        {row["rank"]: (row["doc_id"], row["grade"])
         for row in own.filter(pl.col("system") == side).iter_rows(named=True)}
        for side in ("baseline", "candidate")
    ]  # fmt: skip


def _ranked(run: pl.DataFrame, graded: pl.DataFrame | None, query: str) -> Ranked:
    """The first documents of a stored run, equal scores by document as trec_eval has them."""
    own = run.filter(pl.col("query_id") == query)
    own = own.sort("score", "doc_id", descending=[True, True]).head(DEPTH)
    known: dict[str, float] = {}
    if graded is not None:
        grades = graded.filter(pl.col("query_id") == query)
        known = dict(grades.select("doc_id", "grade").iter_rows())
    return {rank: (doc, known.get(doc)) for rank, doc in enumerate(own["doc_id"].to_list(), 1)}


def _missing(there: Sequence[str], graded: pl.DataFrame | None) -> str:
    """Why there are no lists, or no explanation of a value."""
    if not there:
        return "The runs of this record are not in the store; add them to see lists and steps."
    if graded is None:
        return "The judgments of this record are not in the store; add them to see the steps."
    return ""
