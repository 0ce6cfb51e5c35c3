"""Stored runs and judgments as tables, and records with their results.

Tables of stored runs and judgments, and results of records, are read once and cached by hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import result_class
from rankgate.store.blobs import stored_runs
from rankgate.store.records import records
from rankgate.workspace.web.replies import not_found

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.base_result import Result
    from rankgate.store.blobs.stored_runs import StoredJudgments
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


def read_judgments_table(
    connection: Connection, request: WebRequest, stored_judgments: StoredJudgments
) -> pl.DataFrame:
    """The rows of stored judgments."""
    return request.cache.get(
        ("judgments", stored_judgments.blob),
        lambda: (
            stored_runs.read_judgments(
                connection, request.store.blobs, request.project.id, stored_judgments.name
            ).table
        ),
    )


_HASH_LENGTH = 12
"""The number of displayed letters of a hash."""

_KIND_LABELS = {"verdict": "Gate", "kpi_table": "KPIs", "tradeoff": "Scorecard", "evaluation": "Run"}


def find_record(connection: Connection, request: WebRequest, name: str | None = None) -> Record:
    """The record named in the path, by the first letters of its hash or by its number.

    Raises:
        Refused: the record does not exist in the project.
    """
    try:
        return records.find_record(connection, request.project.id, name or request.path["record"])
    except RankgateError:
        raise not_found("record") from None


def read_result(request: WebRequest, record: Record) -> Result | None:
    """The result of a record; None if this version cannot read its kind or format."""

    def make_value() -> Result | None:
        values = records.read_result(record, request.store.blobs)
        try:
            return result_class(record.kind).from_dict(values)
        except (RankgateError, KeyError, TypeError, ValueError):
            return None

    return request.cache.get(("result", record.blob), make_value)


@dataclass(frozen=True)
class QueryValues:
    """The values per query of a record.

    Attributes:
        table: ``system``, ``query_id``, and a column for each metric.
        rows: the row numbers of each query.
    """

    table: pl.DataFrame
    rows: Mapping[str, list[int]]

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return [name for name in self.table.columns if name not in {"system", "query_id"}]

    def values_of_query(self, query: str) -> Iterator[tuple[str, str, float | None]]:
        """The system, metric and value of each value of a query."""
        for row_number in self.rows.get(query, ()):
            row = self.table.row(row_number, named=True)
            yield from ((row["system"], metric, row[metric]) for metric in self.metrics)


def read_query_values(request: WebRequest, record: Record | Point) -> QueryValues | None:
    """The values per query of a record, or of the record of a point; None if there are none."""
    if record.per_query is None:
        return None

    def make_value() -> QueryValues:
        table = records.read_per_query(record, request.store.blobs)
        assert table is not None
        rows: dict[str, list[int]] = {}
        for row_number, query in enumerate(table["query_id"].to_list()):
            rows.setdefault(query, []).append(row_number)
        return QueryValues(table, rows)

    return request.cache.get(("query values", record.per_query), make_value)


def record_view(record: Record) -> PageRow:
    """The data of a record for lists and for the top of its page."""
    names = (
        "id",
        "sha256",
        "kind",
        "name",
        "system",
        "revision",
        "branch",
        "verdict",
        "evaluated_at",
        "recorded_at",
        "convention",
        "qrels_sha256",
    )
    fields = {name: getattr(record, name) for name in names}
    return fields | {
        "labels": dict(record.labels),
        "summary": dict(record.summary),
        "title": record_title(record),
        "what": kind_label(record.kind),
    }


def record_title(record: Record) -> str:
    """The display name of a record: its name, its system, or its hash."""
    return record.name or record.system or record.sha256[:_HASH_LENGTH]


def kind_label(kind: str) -> str:
    """The display name of a kind of result."""
    return _KIND_LABELS.get(kind, kind.replace("_", " ").capitalize())


def record_address(request: WebRequest, record: Record | Point) -> str:
    """The permanent address of a record's page, with the full hash."""
    return f"{request.config.base}{request.project_path('records', record.sha256)}"


def query_address(
    request: WebRequest, query: str, record: Record | Point | None = None, metric: str = ""
) -> str:
    """The address of a query's page, with the record and the metric."""
    parameters = {"query": query} | ({"metric": metric} if metric else {})
    parameters |= {} if record is None else {"record": record.sha256}
    query_string = urlencode(parameters, quote_via=quote)
    return f"{request.config.base}{request.project_path('query')}?{query_string}"


def pair_address(
    request: WebRequest, earlier: str, later: str, *, metric: str = "", system: str = "", query: str = ""
) -> str:
    """The address of the page on two evaluations, or on the lists of one query in them.

    Args:
        request: the request of the page.
        earlier: the hash of the earlier record.
        later: the hash of the later record.
        metric: the chosen metric.
        system: the chosen system.
        query: the query; empty for all queries.
    """
    path = request.project_path("changes", "query") if query else request.project_path("changes")
    parameters = {"query": query, "before": earlier, "after": later}
    parameters |= {"metric": metric, "system": system}
    filled = {name: value for name, value in parameters.items() if value}
    return f"{request.config.base}{path}?{urlencode(filled)}"
