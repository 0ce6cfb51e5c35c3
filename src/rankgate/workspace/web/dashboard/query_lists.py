"""Both lists of a query, and the computation of its value, from a record and the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import list_pair
from rankgate.core.present.pages.page_parts import lists_html
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.verdict import Verdict
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.store.blobs import stored_runs
from rankgate.workspace.web.dashboard.recorded_results import read_judgments_table, read_result
from rankgate.workspace.web.pages.task_view import read_run_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from rankgate.measurement.explanation.explanation_results import Explanation
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


LIST_DEPTH = 10
"""The number of displayed ranks of a list."""

_MAX_DOCUMENTS = 20
"""The number of displayed documents of an explanation."""

PAIR_SIZE = 2
"""The number of lists shown side by side."""

RankedDocuments = dict[int, tuple[str, float | None]]
"""Documents in the order of ranks, with their grades."""


@dataclass(frozen=True)
class QueryLists:
    """The lists of a query in a record.

    Attributes:
        query: the query.
        systems: the names of the systems, the baseline first.
        ranked: the ranked documents of each system.
        explained: the systems whose values can be explained.
        missing: the reason for missing lists or explanations; empty if there are lists.
    """

    query: str
    systems: tuple[str, ...]
    ranked: tuple[RankedDocuments, ...]
    explained: tuple[str, ...]
    missing: str

    @property
    def documents(self) -> set[str]:
        """The ids of all documents in the lists."""
        return {doc for ranked in self.ranked for doc, _ in ranked.values()}

    @property
    def data(self) -> list[PageRow]:
        """The lists as JSON rows: system, rank, document, grade, ranks gained."""
        return [row for list_rows in self._rows for row in list_rows]

    @property
    def _rows(self) -> Iterator[list[PageRow]]:
        for position, (system, ranked) in enumerate(zip(self.systems, self.ranked, strict=True)):
            other_ranks = self._places(position)
            yield [
                {
                    "system": system,
                    "rank": rank,
                    "doc_id": doc,
                    "grade": grade,
                    "moved": other_ranks[doc] - rank if doc in other_ranks else None,
                }
                for rank, (doc, grade) in sorted(ranked.items())
            ]

    def _places(self, position: int) -> dict[str, int]:
        """The ranks of documents in the other list, if there are two lists."""
        if len(self.ranked) < PAIR_SIZE:
            return {}
        return {doc: rank for rank, (doc, _) in self.ranked[1 - min(position, 1)].items()}

    def html(self, texts: Mapping[str, str]) -> str:
        """The first two lists side by side, as HTML."""
        if not self.ranked:
            return ""
        unmoved = {"moved": 0} if len(self.ranked) < PAIR_SIZE else {}
        rows = [
            {**row, "system": role, **unmoved}
            for role, list_rows in zip(("baseline", "candidate"), self._rows, strict=False)
            for row in list_rows
        ]
        grades = [g for ranked in self.ranked for _, g in ranked.values() if g is not None]
        first, second = (*self.systems, "")[:2]
        top = max(grades, default=0.0)
        return lists_html(list_pair(self.query, rows, (first, second), documents=texts, top=top))


def find_query_lists(connection: Connection, request: WebRequest, record: Record, query: str) -> QueryLists:
    """The lists of a query in a record, from the record or from stored runs."""
    names = list_systems(request, record)
    run_tables = [read_run(connection, request, record, name) for name in names]
    grades_table = read_judgments(connection, request, record)
    stored_systems = tuple(name for name, run in zip(names, run_tables, strict=True) if run is not None)
    ranked = _lists_from_record(request, record, query, names)
    systems = names if ranked else stored_systems
    ranked = ranked or [rank_documents(run, grades_table, query) for run in run_tables if run is not None]
    return QueryLists(
        query,
        systems,
        tuple(ranked),
        stored_systems if grades_table is not None else (),
        _find_missing_reason(stored_systems, grades_table),
    )


def explain_value(
    connection: Connection, request: WebRequest, record: Record, query: str, metric: str, system: str
) -> Explanation | None:
    """The steps by which a metric's value for a query is computed.

    Returns:
        None if the run, the judgments or the convention is not in the store.

    Raises:
        UsageError: the metric is unknown, or the query has no judgments.
    """
    run = read_run(connection, request, record, system)
    grades_table = read_judgments(connection, request, record)
    convention = _find_convention(request, record)
    if run is None or grades_table is None or convention is None:
        return None
    named_run = Run(system, lambda: iter([run]))
    return explain(
        Qrels(grades_table, name="judgments"), named_run, query, metric, convention, depth=_MAX_DOCUMENTS
    )


def explanation_address(request: WebRequest, query: str, metric: str, record: Record, system: str) -> str:
    """The address of the page that shows the computation of a value step by step."""
    parameters = {"query": query, "metric": metric, "record": record.sha256, "system": system}
    return f"{request.config.base}{request.project_path('explain')}?{urlencode(parameters)}"


def list_systems(request: WebRequest, record: Record) -> tuple[str, ...]:
    """The systems of a record by their recorded names; for a comparison, the baseline first.

    A record of a stored run calls the run by its system, and its result by the name of the run.
    """
    result = read_result(request, record)
    if isinstance(result, Verdict):
        return result.names[0], record.system
    if isinstance(result, Comparisons):
        return result.comparisons[-1].baseline.name, record.system
    return tuple(record.inputs.get("runs", {}))


def read_run(connection: Connection, request: WebRequest, record: Record, system: str) -> pl.DataFrame | None:
    """The run of a system in a record; None if the store does not have it."""
    run_sha256 = record.inputs.get("runs", {}).get(system)
    for stored_run in stored_runs.list_runs(connection, request.project.id, archived=True):
        if run_sha256 and stored_run.sha256 == run_sha256:
            return read_run_table(request, stored_run)
    return None


def read_judgments(connection: Connection, request: WebRequest, record: Record) -> pl.DataFrame | None:
    """The judgments of a record; None if they are not in the store."""
    for stored_judgments in stored_runs.list_judgments(connection, request.project.id, archived=True):
        if stored_judgments.sha256 == record.qrels_sha256:
            return read_judgments_table(connection, request, stored_judgments)
    return None


def _find_convention(request: WebRequest, record: Record) -> Convention | None:
    """The convention of a record, if its axes are stored."""
    preset = CONVENTIONS.get(record.convention)
    if preset is not None and preset.hash == record.convention_hash:
        return preset
    result = read_result(request, record)
    axes = (getattr(result, "convention", None) or {}).get("axes")
    try:
        return None if axes is None else Convention(record.convention, **axes)
    except TypeError:
        return None


def _lists_from_record(
    request: WebRequest, record: Record, query: str, names: Sequence[str]
) -> list[RankedDocuments]:
    """The lists stored in a comparison's record."""
    result = read_result(request, record)
    if not isinstance(result, Comparisons) or len(names) != PAIR_SIZE:
        return []
    table = result.comparisons[-1].lists
    query_rows = table.filter(pl.col("query_id") == query)
    if query_rows.is_empty():
        return []
    return [
        {
            row["rank"]: (row["doc_id"], row["grade"])
            for row in query_rows.filter(pl.col("system") == role).iter_rows(named=True)
        }
        for role in ("baseline", "candidate")
    ]


def rank_documents(run: pl.DataFrame, grades_table: pl.DataFrame | None, query: str) -> RankedDocuments:
    """The first documents of a stored run; ties by document id, as in trec_eval."""
    query_rows = run.filter(pl.col("query_id") == query)
    query_rows = query_rows.sort("score", "doc_id", descending=[True, True]).head(LIST_DEPTH)
    grade_of_document: dict[str, float] = {}
    if grades_table is not None:
        grades = grades_table.filter(pl.col("query_id") == query)
        grade_of_document = dict(grades.select("doc_id", "grade").iter_rows())
    return {
        rank: (doc, grade_of_document.get(doc)) for rank, doc in enumerate(query_rows["doc_id"].to_list(), 1)
    }


def _find_missing_reason(stored_systems: Sequence[str], grades_table: pl.DataFrame | None) -> str:
    """The reason for missing lists or explanations; empty if nothing is missing."""
    if not stored_systems:
        return "The runs of this record are not in the store; add them to see lists and steps."
    if grades_table is None:
        return "The judgments of this record are not in the store; add them to see the steps."
    return ""
