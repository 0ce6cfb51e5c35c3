"""The parts of a report that tell of one candidate against the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rankgate.comparison.documents import comparison
from rankgate.present.document import Bars, ListedDocument, ListPair, Opened, Points, Section, Table
from rankgate.present.figures import interval, signed
from rankgate.present.grid import Grid
from rankgate.present.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rankgate.comparison.comparison import Comparison, Comparisons
    from rankgate.present.document import Block

WORST, GAINED, ROWS = 20, 5, 500
"""Queries that are shown with both lists: those that lost, those that gained; rows of a table."""

_MOVES = (
    "Moves are ranks: +2 stands two ranks higher than in the other list. A grade – is unjudged."
)

_NONE = "The lists were not kept; rankgate compare --format json --lists keeps them."


def sentence(result: Comparison) -> str:
    """What the first metric says, in words."""
    row = result.metrics.row(0, named=True)
    name, ends = row["metric"], interval(row["low"], row["high"])
    if row["delta"] is None:
        return f"{name} has no value on both sides."
    count = f"{row['n']:,} {'query' if row['n'] == 1 else 'queries'}"
    figures = f"{signed(row['delta'])}, {result.level:.0%} interval {ends}, {count}"
    p = row["p_value"]
    if p is not None and p <= 1 - result.level:
        word = "higher" if row["delta"] > 0 else "lower"
        better = "better" if row["gain"] > 0 else "worse"
        return f"{name} is {word} ({figures}): {better}."
    return (
        f"{name} does not tell them apart ({figures}); these queries can show a difference of "
        f"{decimal(row['mde'])} or more."
    )


def overall(result: Comparisons) -> str:
    """The sentence of one candidate; of several how many are better or worse."""
    if len(result.comparisons) == 1:
        return sentence(result.only)
    name, level = result.only.names[0], result.only.level
    rows = [each.metrics.row(0, named=True) for each in result.comparisons]
    clear = [row for row in rows if row["p_value"] is not None and row["p_value"] <= 1 - level]
    better = sum(row["gain"] > 0 for row in clear)
    best = max(
        zip(rows, result.comparisons, strict=True),
        key=lambda pair: -float("inf") if pair[0]["gain"] is None else pair[0]["gain"],
    )
    return (
        f"{name}: {better} of {len(rows)} candidates are better than {result.only.baseline.name}, "
        f"{len(clear) - better} worse, {len(rows) - len(clear)} not distinguishable at level "
        f"{level:.0%}; the largest gain is {best[1].candidate.name}'s, {signed(best[0]['gain'])}."
    )


def ground(result: Comparison) -> str:
    """By which judgments and rules."""
    return f"Judgments {result.qrels}, convention {result.convention['name']}."


def sections(
    result: Comparison,
    place: int | str,
    worst: int,
    texts: Mapping[str, str],
    documents: pl.DataFrame | None,
    *,
    led: bool = False,
) -> list[Section]:
    """What changed, and in which queries.

    Args:
        result: the comparison.
        place: its place among those of the report, for links.
        worst: how many of the queries that lost are shown with both lists.
        texts: words of queries, by id.
        documents: ``query_id`` (null: for every query), ``doc_id`` and ``text``.
        led: whether the page begins with the sentence, so that it is not said again.
    """
    name = f"{result.candidate.name} against {result.baseline.name}"
    tables: list[Block] = [
        Table(heading, grid, spans=_spans(result) if i == 0 else ())
        for i, (heading, grid) in enumerate(comparison.grids(result, worst=0))
    ]
    parts = [Section(f"change-{place}", name, (
        *([] if led else [sentence(result)]), *tables, *_bars(result), Points(result.warnings),
    ), "Change")]  # fmt: skip
    opened = _Queries(result, place, texts, documents)
    blocks = [*opened.most(worst), *_table(result, texts, opened.anchors)]
    if blocks:
        parts.append(Section(f"queries-{place}", f"Queries of {name}", tuple(blocks), "Queries"))
    return parts


class _Queries:
    """Queries with both lists; keeps the anchors of those that were result."""

    def __init__(
        self,
        result: Comparison,
        place: int | str,
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
            return [_NONE]
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
                heading = f"{several} that {word} {metric}, most first"
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
                each["doc_id"], each["grade"], _move(each), texts.get(each["doc_id"], "")
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


def _move(row: dict[str, Any]) -> str:
    """Ranks gained against the other list."""
    if row["moved"] is None:
        return "gone" if row["system"] == "baseline" else "new"
    return "" if row["moved"] == 0 else f"{row['moved']:+d}"


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


def _bars(result: Comparison) -> list[Block]:
    """The differences of all queries, sorted: a picture of who won and who lost."""
    metric = result.names[0]
    found = result.deltas(metric)["gain"].drop_nulls().sort(descending=True)
    if not len(found) or not (found != 0).any():
        return []
    words = (
        f"{metric}, query by query: {int((found > 0).sum()):,} gained, "
        f"{int((found < 0).sum()):,} lost; gains from {signed(found[-1])} to {signed(found[0])}"
    )
    step = max(1, len(found) // ROWS)
    return [Bars(tuple(found.gather_every(step).to_list()), words)]


def _spans(result: Comparison) -> tuple[tuple[float | None, float | None, float | None], ...]:
    return tuple(result.metrics.select("low", "delta", "high").iter_rows())
