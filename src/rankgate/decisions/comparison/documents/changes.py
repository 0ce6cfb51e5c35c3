"""Sections of a report on one candidate against the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import (
    Bar,
    Bars,
    ListedDocument,
    ListPair,
    Points,
    QueryLists,
    Section,
    Table,
    nonempty_blocks,
)
from rankgate.core.present.figures import (
    format_correction,
    format_interval,
    format_p_value,
    format_signed,
)
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal
from rankgate.data.comparison import GIVEN_VALUES
from rankgate.decisions.comparison.documents import comparison
from rankgate.decisions.comparison.documents.heads import is_significant_row

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.decisions.comparison.comparison import Comparison

WORST, GAINED, ROWS = 20, 5, 500
"""Most queries with both lists that lost, and that gained; most rows of a table."""

_MOVES = (
    "Moved: from the baseline to the candidate, in ranks; +2 is two ranks higher in the "
    "candidate's list. A grade – is unjudged."
)

_NONE = "The lists were not kept; rankgate compare --format json --lists keeps them."


def sentence(result: Comparison) -> str:
    """A sentence on the result of the first metric."""
    row = result.metrics.row(0, named=True)
    name = row["metric"]
    if row["delta"] is None:
        return f"{name} has no value on both sides."
    count = f"{row['n']:,} {'query' if row['n'] == 1 else 'queries'}"
    if row["p_value"] is None:
        return f"{name}: {format_signed(row['delta'])}, {count}: too few for an interval or a test."
    interval_text = (
        "equal for all queries, so without an interval"
        if row["low"] is None
        else f"{result.level:.0%} interval {format_interval(row['low'], row['high'])}"
    )
    p = f"p {format_p_value(row['p_value'])}, {format_correction(result.correction)}"
    figures = f"{format_signed(row['delta'])}, {interval_text}, {p}; {count}"
    if is_significant_row(row, result.level):
        direction = "higher" if row["delta"] > 0 else "lower"
        better = "better" if row["gain"] > 0 else "worse"
        return f"{name} is significantly {direction} ({figures}): {better}."
    detectable = (
        ""
        if row["mde"] is None
        else f"; these queries can show a difference of {format_decimal(row['mde'])} or more"
    )
    return f"{name}: no significant difference ({figures}){detectable}."


def source_sentence(result: Comparison) -> str:
    """A sentence on the judgments and the convention."""
    if result.convention["name"] == GIVEN_VALUES:
        return f"Values in {result.qrels}."
    return f"Judgments {result.qrels}, convention {result.convention['name']}."


@dataclass(frozen=True)
class Changes:
    """Blocks on the changes between the baseline and a candidate.

    Attributes:
        figures: what the metrics say.
        queries: which queries changed.
    """

    figures: tuple[Block, ...]
    queries: tuple[Block, ...]


def make_changes(result: Comparison, position: str, options: ReportOptions) -> Changes:
    """The blocks of one candidate.

    Args:
        result: the comparison.
        position: its position among those of the report, for links.
        options: texts of queries and documents, and the number of queries with lists.
    """
    is_significant = tuple(
        is_significant_row(row, result.level) for row in result.metrics.iter_rows(named=True)
    )
    grids = comparison.grids(result, worst=0, two_sided=options.two_sided)
    tables = [
        Table(heading, grid, spans=_interval_spans(result), clear=is_significant)
        if i == 0
        else Table(heading, grid)
        for i, (heading, grid) in enumerate(grids)
    ]
    query_lists = _QueryLists(result, position, options.queries, options.documents)
    changed_queries = query_lists.most(options.worst)
    return Changes(
        (
            *tables,
            *_gain_bars(result, query_lists.anchors),
            *nonempty_blocks([Points(result.warnings)]),
        ),
        (*changed_queries, *_change_table(result, options.queries, query_lists.anchors)),
    )


def sections(result: Comparison, position: str, options: ReportOptions) -> list[Section]:
    """Sections on the changes and the changed queries, for a page about one candidate."""
    name = f"{result.candidate.name} against {result.baseline.name}"
    candidate_changes = make_changes(result, position, options)
    sections_of_candidate = [
        Section(f"change-{position}", name, candidate_changes.figures, "Change")
    ]
    if candidate_changes.queries:
        sections_of_candidate.append(
            Section(
                f"queries-{position}", f"Queries of {name}", candidate_changes.queries, "Queries"
            )
        )
    return sections_of_candidate


class _QueryLists:
    """Queries with both lists; keeps the anchors of the shown queries."""

    def __init__(
        self,
        result: Comparison,
        position: str,
        texts: Mapping[str, str],
        documents: pl.DataFrame | None,
    ) -> None:
        self.result, self.place, self.texts, self.documents = result, position, texts, documents
        self.anchors: dict[str, str] = {}
        best_grade = result.lists["grade"].max() if len(result.lists) else None
        self.top = best_grade if isinstance(best_grade, float) else 0.0

    def most(self, worst: int) -> list[Block]:
        """The queries that lost most and gained most."""
        if not len(self.result.lists):
            return [_NONE] if self.result.depth else []
        metric = self.result.names[0]
        rows = self.result.deltas(metric).drop_nulls("delta").to_dicts()
        lost_rows = [row for row in rows if row["gain"] < 0]
        gained_rows = [row for row in reversed(rows) if row["gain"] > 0]
        shown_rows = lost_rows[:worst] + gained_rows[:GAINED]
        lists = self._lists([row["query_id"] for row in shown_rows])
        blocks: list[Block] = [_MOVES]
        for outcome, rows_of_kind, count in (
            ("lost", lost_rows, worst),
            ("gained", gained_rows, GAINED),
        ):
            if rows_of_kind and count:
                shown_of_all = f"{min(count, len(rows_of_kind))} of {len(rows_of_kind):,}"
                heading = (
                    f"{shown_of_all} queries that {outcome} {metric}, the largest change first"
                )
                blocks.append(
                    QueryLists(
                        heading, tuple(self._query(row, lists) for row in rows_of_kind[:count])
                    )
                )
        return blocks

    def _lists(self, query_ids: list[str]) -> dict[str, list[dict[str, Any]]]:
        lists_by_query: dict[str, list[dict[str, Any]]] = {}
        table = self.result.lists
        for row in table.filter(table["query_id"].is_in(query_ids)).iter_rows(named=True):
            lists_by_query.setdefault(row["query_id"], []).append(row)
        return lists_by_query

    def _query(self, row: dict[str, Any], lists: Mapping[str, list[dict[str, Any]]]) -> ListPair:
        query = row["query_id"]
        self.anchors[query] = f"q{self.place}-{quote(query, safe='')}"
        texts = self._documents(query)
        documents_by_system: dict[str, dict[int, ListedDocument]] = {
            "baseline": {},
            "candidate": {},
        }
        for document in lists.get(query, ()):
            documents_by_system[document["system"]][document["rank"]] = ListedDocument(
                document["doc_id"],
                document["grade"],
                comparison.format_move(document),
                texts.get(document["doc_id"], ""),
            )
        last_rank = max((rank for side in documents_by_system.values() for rank in side), default=0)
        ranks = tuple(
            (
                rank,
                documents_by_system["baseline"].get(rank),
                documents_by_system["candidate"].get(rank),
            )
            for rank in range(1, last_rank + 1)
        )
        before, after = format_decimal(row["baseline"]), format_decimal(row["candidate"])
        change = f"{before} → {after} ({format_signed(row['delta'])})"
        names = (self.result.baseline.name, self.result.candidate.name)
        return ListPair(
            self.anchors[query], query, self.texts.get(query, ""), change, names, ranks, self.top
        )

    def _documents(self, query: str) -> dict[str, str]:
        table = self.documents
        if table is None or not len(table):
            return {}
        is_of_query = table["query_id"].is_null() | (table["query_id"] == query)
        return dict(table.filter(is_of_query).select("doc_id", "text").drop_nulls().iter_rows())


def _change_table(
    result: Comparison, texts: Mapping[str, str], anchors: Mapping[str, str]
) -> list[Block]:
    """The table of the largest changes, which readers can sort and filter."""
    first_metric, *other_metrics = result.names
    sorted_deltas = result.deltas(first_metric).drop_nulls("delta")
    sorted_deltas = sorted_deltas.with_columns(sorted_deltas["delta"].abs().alias("size"))
    largest_changes = sorted_deltas.sort("size", "query_id", descending=[True, False]).head(ROWS)
    if not len(largest_changes):
        return []
    queries = largest_changes["query_id"].to_list()
    values = result.queries.filter(result.queries["query_id"].is_in(queries))
    deltas = {
        (query, metric): delta
        for query, metric, delta in values.select("query_id", "metric", "delta").iter_rows()
    }
    rows = tuple(
        (
            row["query_id"],
            *([texts.get(row["query_id"], "")] if texts else []),
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            *(format_signed(deltas.get((row["query_id"], name))) for name in other_metrics),
            *("" if row[tag] is None else str(row[tag]) for tag in result.tags),
        )
        for row in largest_changes.iter_rows(named=True)
    )
    header = (
        "query",
        *(["text"] if texts else []),
        f"{first_metric}\n{result.baseline.name}",
        f"{first_metric}\n{result.candidate.name}",
        *(f"Δ {name}" for name in result.names),
        *result.tags,
    )
    text_columns = [0, *([1] if texts else []), *range(len(header) - len(result.tags), len(header))]
    heading = (
        f"{len(rows)} of {len(sorted_deltas):,} queries, the largest difference of {first_metric} "
        "first"
    )
    links = tuple(anchors.get(query, "") for query in queries)
    return [Table(heading, Grid(header, rows, frozenset(text_columns)), find=True, links=links)]


def _gain_bars(result: Comparison, anchors: Mapping[str, str]) -> list[Block]:
    """The sorted differences of all queries, as bars."""
    metric = result.names[0]
    sorted_gains = (
        result.deltas(metric).drop_nulls("gain").sort("gain", "query_id", descending=[True, False])
    )
    if not len(sorted_gains) or not (sorted_gains["gain"] != 0).any():
        return []
    gains = sorted_gains["gain"]
    summary = (
        f"{metric}, query by query: {int((gains > 0).sum()):,} gained, "
        f"{int((gains < 0).sum()):,} lost; gains from {format_signed(gains[-1])} to "
        f"{format_signed(gains[0])}"
    )
    step = -(-len(sorted_gains) // ROWS)
    bars = [
        Bar(query, gain, anchors.get(query, ""))
        for i, (query, gain) in enumerate(sorted_gains.select("query_id", "gain").iter_rows())
        if i % step == 0 or query in anchors
    ]
    lower = " (lower is better)" if metric in result.lower else ""
    axis = f"gain in {metric}{lower}"
    return [
        Bars(tuple(bars), summary, axis, f"{len(sorted_gains):,} queries, the largest gain first")
    ]


def _interval_spans(
    result: Comparison,
) -> tuple[tuple[float | None, float | None, float | None], ...]:
    return tuple(result.metrics.select("low", "delta", "high").iter_rows())
