"""A record with its result: found by hash, read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.kinds import result_class
from rankgate.store.records import records
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.replies import not_found

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.result import Result
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.asked import Asked

_RESULTS: Cache[Result | None] = Cache(32)

_SHORT = 12
"""Letters of a hash for people."""

_SINGULAR = {"verdict": "Gate", "kpi_table": "KPIs", "tradeoff": "Scorecard", "evaluation": "Run"}


def record_of(connection: Connection, asked: Asked, name: str | None = None) -> Record:
    """The record that the path names by the first letters of its hash, or by its number.

    Raises:
        Refused: there is none in the project.
    """
    try:
        return records.named(connection, asked.project.id, name or asked.path["record"])
    except RankgateError:
        raise not_found("record") from None


def result_of(asked: Asked, record: Record) -> Result | None:
    """The result of a record; None where this version does not know its kind or its form."""

    def made() -> Result | None:
        values = records.result(record, asked.store.blobs)
        try:
            return result_class(record.kind).from_dict(values)
        except (RankgateError, KeyError, TypeError, ValueError):
            return None

    return _RESULTS.get((asked.store.name, record.blob), made)


@dataclass(frozen=True)
class QueryValues:
    """The values per query of a record.

    Attributes:
        table: ``system``, ``query_id``, and a column for each metric.
        rows: the numbers of each query's rows.
    """

    table: pl.DataFrame
    rows: Mapping[str, list[int]]

    @property
    def metrics(self) -> list[str]:
        """The metrics that there are."""
        return [name for name in self.table.columns if name not in {"system", "query_id"}]

    def of(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query, one a system."""
        return [self.table.row(at, named=True) for at in self.rows.get(query, ())]


_VALUES: Cache[QueryValues] = Cache(64)


def values_of(asked: Asked, record: Record | Point) -> QueryValues | None:
    """The values per query of a record, or of a point's; None where it has none."""
    if record.per_query is None:
        return None

    def made() -> QueryValues:
        table = records.per_query(record, asked.store.blobs)
        assert table is not None
        rows: dict[str, list[int]] = {}
        for at, query in enumerate(table["query_id"].to_list()):
            rows.setdefault(query, []).append(at)
        return QueryValues(table, rows)

    return _VALUES.get((asked.store.name, record.per_query), made)


def view(record: Record) -> dict[str, Any]:
    """A record in lists and on top of its page."""
    names = ("id", "sha256", "kind", "name", "system", "revision", "branch", "verdict",
             "evaluated_at", "recorded_at", "convention", "qrels_sha256")  # fmt: skip
    shown = {name: getattr(record, name) for name in names}
    return shown | {
        "labels": dict(record.labels),
        "summary": dict(record.summary),
        "title": title(record),
        "what": kind_word(record.kind),
    }


def title(record: Record) -> str:
    """What a record is called: its name, or its system, or its hash."""
    return record.name or record.system or record.sha256[:_SHORT]


def kind_word(kind: str) -> str:
    """A kind of result for people."""
    return _SINGULAR.get(kind, kind.replace("_", " ").capitalize())


def place(asked: Asked, record: Record) -> str:
    """The address of a record's page, by its whole hash, so that it opens after years."""
    return f"{asked.config.base}{asked.at('records', record.sha256)}"


def query_place(asked: Asked, query: str, record: Record | None = None) -> str:
    """The address of a query's page, with what a record says of it."""
    given = {"query": query} | ({} if record is None else {"record": record.sha256})
    words = urlencode(given, quote_via=quote)
    return f"{asked.config.base}{asked.at('query')}?{words}"
