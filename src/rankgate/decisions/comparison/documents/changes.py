"""What a report shows of one candidate against the baseline."""

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
    Opened,
    Points,
    Section,
    Table,
    solid,
)
from rankgate.core.present.figures import corrected, interval, p_value, signed
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import decimal
from rankgate.data.comparison import GIVEN
from rankgate.decisions.comparison.documents import comparison
from rankgate.decisions.comparison.documents.heads import significant

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

WORST, GAINED, ROWS = 20, 5, 500
"""Queries that are shown with both lists: those that lost, those that gained; rows of a table."""

_MOVES = (
    "Moved: from the baseline to the candidate, in ranks; +2 is two ranks higher in the "
    "candidate's list. A grade – is unjudged."
)

_NONE = "The lists were not kept; rankgate compare --format json --lists keeps them."


def sentence(result: Comparison) -> str:
    """What the first metric says, in words."""
    row = result.metrics.row(0, named=True)
    name = row["metric"]
    if row["delta"] is None:
        return f"{name} has no value on both sides."
    count = f"{row['n']:,} {'query' if row['n'] == 1 else 'queries'}"
    if row["p_value"] is None:
        return f"{name}: {signed(row['delta'])}, {count}: too few for an interval or a test."
    ends = (
        "equal for all queries, so without an interval"
        if row["low"] is None
        else f"{result.level:.0%} interval {interval(row['low'], row['high'])}"
    )
    p = f"p {p_value(row['p_value'])}, {corrected(result.correction)}"
    figures = f"{signed(row['delta'])}, {ends}, {p}; {count}"
    if significant(row, result.level):
        word = "higher" if row["delta"] > 0 else "lower"
        better = "better" if row["gain"] > 0 else "worse"
        return f"{name} is significantly {word} ({figures}): {better}."
    detectable = (
        ""
        if row["mde"] is None
        else f"; these queries can show a difference of {decimal(row['mde'])} or more"
    )
    return f"{name}: no significant difference ({figures}){detectable}."


def overall(result: Comparisons) -> str:
    """The sentence of one candidate; of several which is best, and how many differ."""
    if len(result.comparisons) == 1:
        return sentence(result.only)
    name, level, base = result.only.names[0], result.only.level, result.only.baseline.name
    rows = [each.metrics.row(0, named=True) for each in result.comparisons]
    clear = [row for row in rows if significant(row, level)]
    better = sum(row["gain"] > 0 for row in clear)
    known = [
        (row["gain"], row, each.candidate.name)
        for row, each in zip(rows, result.comparisons, strict=True)
        if row["gain"] is not None
    ]
    counts = (
        f"of {len(rows)} systems {better} {'is' if better == 1 else 'are'} significantly better "
        f"than {base}, {len(clear) - better} worse; {len(rows) - len(clear)} without a significant "
        f"difference (p {corrected(result.only.correction)})"
    )
    if not known:
        return f"{name}: {counts}."
    gain, row, best = max(known, key=lambda each: each[0])
    if gain <= 0:
        return f"No system has a better mean {name} than {base}; {counts}."
    figures = f"{decimal(row['candidate'])}, {signed(row['delta'])} from {base}"
    return f"{best} has the best mean {name} ({figures}); {counts}."


def ground(result: Comparison) -> str:
    """By which judgments and rules."""
    if result.convention["name"] == GIVEN:
        return f"Values in {result.qrels}."
    return f"Judgments {result.qrels}, convention {result.convention['name']}."


@dataclass(frozen=True)
class Changes:
    """What changed between the baseline and a candidate.

    Attributes:
        figures: what the metrics say.
        queries: which queries changed.
    """

    figures: tuple[Block, ...]
    queries: tuple[Block, ...]


def changes(result: Comparison, place: str, options: ReportOptions) -> Changes:
    """The blocks of one candidate.

    Args:
        result: the comparison.
        place: its place among those of the report, for links.
        options: texts of queries and documents, and how many queries are shown with their lists.
    """
    clear = tuple(significant(row, result.level) for row in result.metrics.iter_rows(named=True))
    grids = comparison.grids(result, worst=0, two_sided=options.two_sided)
    tables = [
        Table(heading, grid, spans=_spans(result), clear=clear) if i == 0 else Table(heading, grid)
        for i, (heading, grid) in enumerate(grids)
    ]
    opened = _Queries(result, place, options.queries, options.documents)
    most = opened.most(options.worst)
    return Changes(
        (*tables, *_bars(result, opened.anchors), *solid([Points(result.warnings)])),
        (*most, *_table(result, options.queries, opened.anchors)),
    )


def sections(result: Comparison, place: str, options: ReportOptions) -> list[Section]:
    """What changed, and in which queries, as parts of a page about this candidate alone."""
    name = f"{result.candidate.name} against {result.baseline.name}"
    own = changes(result, place, options)
    parts = [Section(f"change-{place}", name, own.figures, "Change")]
    if own.queries:
        parts.append(Section(f"queries-{place}", f"Queries of {name}", own.queries, "Queries"))
    return parts


class _Queries:
    """Queries with both lists; keeps the anchors of those that are shown."""

    def __init__(
        self,
        result: Comparison,
        place: str,
        texts: Mapping[str, str],
        documents: pl.DataFrame | None,
    ) -> None:
        self.result, self.place, self.texts, self.documents = result, place, texts, documents
        self.anchors: dict[str, str] = {}
        best = result.lists["grade"].max() if len(result.lists) else None
        self.top = best if isinstance(best, float) else 0.0

    def most(self, worst: int) -> list[Block]:
        """The queries that lost most and gained most."""
        if not len(self.result.lists):
            return [_NONE] if self.result.depth else []
        metric = self.result.names[0]
        rows = self.result.deltas(metric).drop_nulls("delta").to_dicts()
        lost = [row for row in rows if row["gain"] < 0]
        gained = [row for row in reversed(rows) if row["gain"] > 0]
        shown = lost[:worst] + gained[:GAINED]
        lists = self._lists([row["query_id"] for row in shown])
        blocks: list[Block] = [_MOVES]
        for word, some, count in (("lost", lost, worst), ("gained", gained, GAINED)):
            if some and count:
                several = f"{min(count, len(some))} of {len(some):,}"
                heading = f"{several} queries that {word} {metric}, the largest change first"
                blocks.append(
                    Opened(heading, tuple(self._query(row, lists) for row in some[:count]))
                )
        return blocks

    def _lists(self, asked: list[str]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        table = self.result.lists
        for row in table.filter(table["query_id"].is_in(asked)).iter_rows(named=True):
            found.setdefault(row["query_id"], []).append(row)
        return found

    def _query(self, row: dict[str, Any], lists: Mapping[str, list[dict[str, Any]]]) -> ListPair:
        query = row["query_id"]
        self.anchors[query] = f"q{self.place}-{quote(query, safe='')}"
        texts = self._documents(query)
        sides: dict[str, dict[int, ListedDocument]] = {"baseline": {}, "candidate": {}}
        for each in lists.get(query, ()):
            sides[each["system"]][each["rank"]] = ListedDocument(
                each["doc_id"], each["grade"], comparison.moved(each), texts.get(each["doc_id"], "")
            )
        deepest = max((rank for side in sides.values() for rank in side), default=0)
        ranks = tuple(
            (rank, sides["baseline"].get(rank), sides["candidate"].get(rank))
            for rank in range(1, deepest + 1)
        )
        change = (
            f"{decimal(row['baseline'])} → {decimal(row['candidate'])} ({signed(row['delta'])})"
        )
        names = (self.result.baseline.name, self.result.candidate.name)
        return ListPair(
            self.anchors[query], query, self.texts.get(query, ""), change, names, ranks, self.top
        )

    def _documents(self, query: str) -> dict[str, str]:
        table = self.documents
        if table is None or not len(table):
            return {}
        own = table["query_id"].is_null() | (table["query_id"] == query)
        return dict(table.filter(own).select("doc_id", "text").drop_nulls().iter_rows())


def _table(result: Comparison, texts: Mapping[str, str], anchors: Mapping[str, str]) -> list[Block]:
    """The queries that moved most, to be sorted and filtered."""
    first, *others = result.names
    ranked = result.deltas(first).drop_nulls("delta")
    ranked = ranked.with_columns(ranked["delta"].abs().alias("size"))
    some = ranked.sort("size", "query_id", descending=[True, False]).head(ROWS)
    if not len(some):
        return []
    queries = some["query_id"].to_list()
    values = result.queries.filter(result.queries["query_id"].is_in(queries))
    deltas = {
        (query, metric): delta
        for query, metric, delta in values.select("query_id", "metric", "delta").iter_rows()
    }
    rows = tuple(
        (
            row["query_id"],
            *([texts.get(row["query_id"], "")] if texts else []),
            decimal(row["baseline"]),
            decimal(row["candidate"]),
            signed(row["delta"]),
            *(signed(deltas.get((row["query_id"], name))) for name in others),
            *("" if row[tag] is None else str(row[tag]) for tag in result.tags),
        )
        for row in some.iter_rows(named=True)
    )
    head = (
        "query",
        *(["text"] if texts else []),
        f"{first}\n{result.baseline.name}",
        f"{first}\n{result.candidate.name}",
        *(f"Δ {name}" for name in result.names),
        *result.tags,
    )
    words = [0, *([1] if texts else []), *range(len(head) - len(result.tags), len(head))]
    heading = f"{len(rows)} of {len(ranked):,} queries, the largest difference of {first} first"
    links = tuple(anchors.get(query, "") for query in queries)
    return [Table(heading, Grid(head, rows, frozenset(words)), find=True, links=links)]


def _bars(result: Comparison, anchors: Mapping[str, str]) -> list[Block]:
    """The differences of all queries, sorted: who won and who lost."""
    metric = result.names[0]
    found = (
        result.deltas(metric).drop_nulls("gain").sort("gain", "query_id", descending=[True, False])
    )
    if not len(found) or not (found["gain"] != 0).any():
        return []
    gains = found["gain"]
    words = (
        f"{metric}, query by query: {int((gains > 0).sum()):,} gained, "
        f"{int((gains < 0).sum()):,} lost; gains from {signed(gains[-1])} to {signed(gains[0])}"
    )
    step = -(-len(found) // ROWS)
    shown = [
        Bar(query, gain, anchors.get(query, ""))
        for i, (query, gain) in enumerate(found.select("query_id", "gain").iter_rows())
        if i % step == 0 or query in anchors
    ]
    lower = " (lower is better)" if metric in result.lower else ""
    axis = f"gain in {metric}{lower}"
    return [Bars(tuple(shown), words, axis, f"{len(found):,} queries, the largest gain first")]


def _spans(result: Comparison) -> tuple[tuple[float | None, float | None, float | None], ...]:
    return tuple(result.metrics.select("low", "delta", "high").iter_rows())
