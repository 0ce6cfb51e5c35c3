"""Render a report of comparisons: headline, changes, and worst queries with both lists.

`Changes` has the sections on one candidate against the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID, SYSTEM
from rankgate.core.present.document_model import (
    Bar,
    Bars,
    Chart,
    Document,
    FoldedBlock,
    Points,
    QueryLists,
    Section,
    Table,
    list_pair,
    nonempty_blocks,
)
from rankgate.core.present.layout import View, fill
from rankgate.core.present.number_formats import count_noun, format_decimal, format_p_value, format_signed
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.comparison_columns import METRICS
from rankgate.decisions.comparison.documents import comparison_document
from rankgate.decisions.comparison.documents.comparison_document import notes
from rankgate.decisions.comparison.documents.comparison_grids import (
    MANY_CONDITIONS,
    format_interval_heading,
    format_p_heading,
    is_significant_row,
    leaderboard,
    many_grids,
    overall_sentence,
)

if TYPE_CHECKING:
    from rankgate.core.present.base_result import ReportOptions
    from rankgate.core.present.document_model import Block, ListPair
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


WORST, GAINED, ROWS = 20, 5, 500
"""Most queries with both lists that lost, and that gained; most rows of a table."""

_MOVES = (
    "Moved: from the baseline to the candidate, in ranks; +2 is two ranks higher in the candidate's list. A "
    "grade – is unjudged."
)

_NONE = "The lists were not kept; rankgate compare --format json --lists keeps them."


def sentence(result: Comparison) -> str:
    """A sentence on the result of the first metric."""
    row = result.metrics.row(0, named=True)
    if row["delta"] is None:
        return fill("{metric} has no value on both sides.", result, row)
    if row["p_value"] is None:
        return fill("{metric}: {delta:signed}, {n:n query}: too few for an interval or a test.", result, row)
    interval = "{level:.0%} interval [{low:+z.4f}, {high:+z.4f}]"
    if row["low"] is None:
        interval = "equal for all queries, so without an interval"
    row["correction"] = result.correction
    figures = f"{{delta:signed}}, {interval}, p {{p_value:p}}, {{correction:correction}}; {{n:n query}}"
    if is_significant_row(row, result.level):
        direction = "higher" if row["delta"] > 0 else "lower"
        better = "better" if row["gain"] > 0 else "worse"
        return fill(f"{{metric}} is significantly {direction} ({figures}): {better}.", result, row)
    detectable = (
        "" if row["mde"] is None else "; these queries can show a difference of {mde:decimal} or more"
    )
    return fill(f"{{metric}}: no significant difference ({figures}){detectable}.", result, row)


def source_sentence(result: Comparison) -> str:
    """A sentence on the judgments and the convention."""
    if result.convention["name"] == GIVEN_VALUES:
        return f"Values in {result.qrels}."
    return f"Judgments {result.qrels}, convention {result.convention['name']}."


@dataclass(frozen=True)
class Changes:
    """Blocks on the changes between the baseline and a candidate.

    Attributes:
        figures: the results by metric.
        queries: the queries that changed.
    """

    figures: tuple[Block, ...]
    queries: tuple[Block, ...]


def make_changes(result: Comparison, position: str, options: ReportOptions) -> Changes:
    """The blocks of one candidate.

    Args:
        result: the comparison.
        position: the position of the comparison in the report, for links.
        options: texts of queries and documents, and the number of queries with lists.
    """
    is_significant = tuple(
        is_significant_row(row, result.level) for row in result.metrics.iter_rows(named=True)
    )
    grids = comparison_document.grids(result, worst=0, two_sided=options.two_sided)
    tables = [
        Table(
            heading,
            grid,
            spans=tuple(result.metrics.select("low", "delta", "high").iter_rows()),
            clear=is_significant,
        )
        if i == 0
        else Table(heading, grid)
        for i, (heading, grid) in enumerate(grids)
    ]
    query_lists = _QueryLists(result, position, options.queries, options.documents)
    changed_queries = query_lists.extreme_queries(options.worst)
    return Changes(
        (*tables, *_gain_bars(result, query_lists.anchors), *nonempty_blocks([Points(result.warnings)])),
        (*changed_queries, *_change_table(result, options.queries, query_lists.anchors)),
    )


def sections(result: Comparison, position: str, options: ReportOptions) -> list[Section]:
    """Sections on the changes and the changed queries, for a page about one candidate."""
    name = f"{result.candidate.name} against {result.baseline.name}"
    candidate_changes = make_changes(result, position, options)
    sections_of_candidate = [Section(f"change-{position}", name, candidate_changes.figures, "Change")]
    if candidate_changes.queries:
        sections_of_candidate.append(
            Section(f"queries-{position}", f"Queries of {name}", candidate_changes.queries, "Queries")
        )
    return sections_of_candidate


class _QueryLists:
    """Queries with both lists; keeps the anchors of the shown queries."""

    def __init__(
        self, result: Comparison, position: str, texts: Mapping[str, str], documents: pl.DataFrame | None
    ) -> None:
        self.result, self.place, self.texts, self.documents = result, position, texts, documents
        self.anchors: dict[str, str] = {}
        best_grade = result.lists["grade"].max() if len(result.lists) else None
        self.top = best_grade if isinstance(best_grade, float) else 0.0

    def extreme_queries(self, worst: int) -> list[Block]:
        """The queries that lost most and gained most."""
        if not len(self.result.lists):
            return [_NONE] if self.result.depth else []
        metric = self.result.names[0]
        changes = self.result.deltas(metric).drop_nulls("delta")
        kinds = (
            ("lost", changes.filter(pl.col("gain") < 0), worst),
            ("gained", changes.filter(pl.col("gain") > 0).reverse(), GAINED),
        )
        query_ids = pl.concat([queries.head(count)["query_id"] for _, queries, count in kinds])
        lists = self.result.lists.filter(pl.col("query_id").is_in(query_ids.to_list()))
        rows_by_query = lists.rows_by_key("query_id", named=True, include_key=True)
        blocks: list[Block] = [_MOVES]
        for outcome, queries, count in kinds:
            if len(queries) and count:
                shown_of_all = f"{min(count, len(queries))} of {len(queries):,}"
                heading = f"{shown_of_all} queries that {outcome} {metric}, the largest change first"
                rows = queries.head(count).iter_rows(named=True)
                blocks.append(QueryLists(heading, tuple(self._query(row, rows_by_query) for row in rows)))
        return blocks

    def _query(self, row: dict[str, Any], rows_by_query: Mapping[Any, list[dict[str, Any]]]) -> ListPair:
        query = row["query_id"]
        before, after = format_decimal(row["baseline"]), format_decimal(row["candidate"])
        change = f"{before} → {after} ({format_signed(row['delta'])})"
        names = (self.result.baseline.name, self.result.candidate.name)
        pair = list_pair(
            query,
            rows_by_query.get(query, ()),
            names,
            position=self.place,
            text=self.texts.get(query, ""),
            change=change,
            documents=self._documents(query),
            top=self.top,
        )
        self.anchors[query] = pair.anchor
        return pair

    def _documents(self, query: str) -> dict[str, str]:
        table = self.documents
        if table is None or not len(table):
            return {}
        is_of_query = table["query_id"].is_null() | (table["query_id"] == query)
        return dict(table.filter(is_of_query).select("doc_id", "text").drop_nulls().iter_rows())


def _change_table(result: Comparison, texts: Mapping[str, str], anchors: Mapping[str, str]) -> list[Block]:
    """The table of the largest changes, which readers can sort and filter."""
    first_metric, *other_metrics = result.names
    sorted_deltas = result.deltas(first_metric).drop_nulls("delta")
    sorted_deltas = sorted_deltas.with_columns(sorted_deltas["delta"].abs().alias("size"))
    largest_changes = sorted_deltas.sort("size", "query_id", descending=[True, False]).head(ROWS)
    if not len(largest_changes):
        return []
    deltas = result.queries.filter(pl.col("metric").is_in(other_metrics))
    other_deltas = deltas.with_columns(metric="Δ " + pl.col("metric")).pivot(
        "metric", index="query_id", values="delta"
    )
    rows = largest_changes.join(other_deltas, on="query_id", how="left", maintain_order="left").with_columns(
        query_texts(texts).alias("query text")
    )
    columns = Columns(
        "One row per query.",
        QUERY_ID,
        Column("query text", pl.String, "the text of the query", header="text"),
        *(
            Column(system, pl.Float64, "its value", header=f"{first_metric}\n{getattr(result, system).name}")
            for system in ("baseline", "candidate")
        ),
        Column("delta", pl.Float64, "candidate − baseline", "signed", header=f"Δ {first_metric}"),
        *(
            Column(name, pl.Float64, "the same by another metric", "signed")
            for name in other_deltas.columns[1:]
        ),
        *(Column(tag, pl.String, "the value of the tag") for tag in result.tags),
    )
    facts = SimpleNamespace(queries=sorted_deltas, rows=rows, metric=first_metric)
    heading = "{rows.height:,} of {queries:n query}, the largest difference of {metric} first"
    view = View(rows, heading, columns=columns, optional=("query text",), find=True)
    links = tuple(anchors.get(query, "") for query in rows["query_id"])
    return [replace(table, links=links) for table in view.blocks(facts)]


def query_texts(texts: Mapping[str, str]) -> pl.Expr:
    """The text of each query; empty without one."""
    return pl.col("query_id").replace_strict(dict(texts), default="", return_dtype=pl.String)


def _gain_bars(result: Comparison, anchors: Mapping[str, str]) -> list[Block]:
    """The sorted differences of all queries, as bars."""
    metric = result.names[0]
    sorted_gains = result.deltas(metric).drop_nulls("gain").sort("gain", "query_id", descending=[True, False])
    if not len(sorted_gains) or not (sorted_gains["gain"] != 0).any():
        return []
    gains = sorted_gains["gain"]
    summary = (
        f"{metric}, query by query: {int((gains > 0).sum()):,} gained, "
        f"{int((gains < 0).sum()):,} lost; gains from {format_signed(gains[-1])} to {format_signed(gains[0])}"
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
        Bars(tuple(bars), summary, axis, f"{count_noun(len(sorted_gains), 'query')}, the largest gain first")
    ]


def comparison_report_document(result: Comparisons, options: ReportOptions) -> Document:
    """Render one candidate query by query; for several candidates, start with a table of systems.

    Args:
        result: the comparisons.
        options: texts of queries and documents, and the number of queries with lists.
    """
    first_comparison, count = result.only, len(result.comparisons)
    names = f"{count} systems" if count > 1 else first_comparison.candidate.name
    sections = _many_sections(result, options) if count > 1 else _single_sections(result, options)
    return Document(
        f"{names} against {first_comparison.baseline.name}",
        lead=(
            sentence(result.only) if len(result.comparisons) == 1 else overall_sentence(result),
            source_sentence(first_comparison),
        ),
        sections=tuple(sections),
    )


def _single_sections(result: Comparisons, options: ReportOptions) -> list[Section]:
    systems = Section("systems", "All systems", (*leaderboard(result), notes(result.only)))
    return [*sections(result.only, f"{options.place}-0", options), systems]


def _many_sections(result: Comparisons, options: ReportOptions) -> list[Section]:
    """The table of all systems, differences and their chart, then each system's folded section."""
    first_comparison, baseline_name = result.only, result.only.baseline.name
    metric = first_comparison.names[0]
    table, caption = leaderboard(result, best_first=True)
    sorted_comparisons = sorted(
        enumerate(result.comparisons), key=lambda index_and_comparison: _gain_key(index_and_comparison[1])
    )
    blocks: list[Block] = [
        replace(table, heading=f"best {metric} first"),
        caption,
        _differences(
            result, [(f"change-{options.place}-{i}", comparison) for i, comparison in sorted_comparisons]
        ),
        Chart("forest", _select_metrics(result, 0, 1)),
        notes(first_comparison, several=True),
    ]
    if len(first_comparison.names) > 1:
        other_chart = Chart("forest", _select_metrics(result, 1))
        blocks.append(
            FoldedBlock(
                f"metrics-{options.place}",
                f"Differences from {baseline_name} by other metrics",
                (other_chart,),
            )
        )
    folded_systems = []
    for i, comparison in sorted_comparisons:
        position = f"{options.place}-{i}"
        candidate_changes = make_changes(comparison, position, options)
        blocks_of_candidate = (sentence(comparison), *candidate_changes.figures, *candidate_changes.queries)
        row = comparison.metrics.row(0, named=True)
        delta, p_value = format_signed(row["delta"]), format_p_value(row["p_value"])
        figures = f"{format_decimal(row['candidate'])} ({delta}, p {p_value})"
        folded_systems.append(
            FoldedBlock(f"change-{position}", comparison.candidate.name, blocks_of_candidate, figures)
        )
    systems_section = Section(
        "each", f"Each system against {baseline_name}", tuple(folded_systems), "Each system"
    )
    return [Section("systems", "All systems", tuple(blocks)), *_statistics(result, options), systems_section]


def _select_metrics(result: Comparisons, start: int, end: int | None = None) -> Comparisons:
    """Keep some metrics of the comparisons."""
    comparisons = tuple(
        replace(comparison, metrics=comparison.metrics[start:end]) for comparison in result.comparisons
    )
    return replace(result, comparisons=comparisons)


def _gain_key(result: Comparison) -> tuple[float, str]:
    """The sort key: the largest gain by the first metric first, systems without a gain last."""
    gain = result.metrics["gain"][0]
    return (float("inf") if gain is None else -gain, result.candidate.name)


def _differences(result: Comparisons, comparisons_by_anchor: list[tuple[str, Comparison]]) -> Table:
    """The table of the candidates' differences from the baseline by the first metric."""
    first_comparison = result.only
    metric = first_comparison.names[0]
    table = pl.concat(
        comparison.metrics.head(1).with_columns(pl.lit(comparison.candidate.name).alias("system"))
        for _, comparison in comparisons_by_anchor
    )
    grid = Columns("One row per candidate.", SYSTEM, METRICS).grid(
        table,
        "system",
        "candidate",
        "delta",
        ("low", "high"),
        "p_value",
        ("wins", "/", "ties", "/", "losses"),
        headers={
            "candidate": metric,
            "low": format_interval_heading(first_comparison),
            "p_value": format_p_heading(first_comparison),
        },
    )
    return Table(
        f"{metric}: differences from {first_comparison.baseline.name}",
        grid,
        links=tuple(anchor for anchor, _ in comparisons_by_anchor),
    )


def _statistics(result: Comparisons, options: ReportOptions) -> list[Section]:
    """Statistics of three systems or more; the means are in the table of all systems."""
    if result.many is None:
        return []
    folded_tables = tuple(
        FoldedBlock(
            f"statistics-{options.place}-{i}",
            heading,
            (Table("", grid, find=len(grid.rows) > _MIN_SEARCHED_ROWS),),
        )
        for i, (heading, grid) in enumerate(many_grids(result.many)[1:])
    )
    blocks: tuple[Block, ...] = (*folded_tables, MANY_CONDITIONS)
    return [Section("statistics", "Statistics of all systems", blocks, "Statistics")]


_MIN_SEARCHED_ROWS = 20  # a table with more rows gets a search field
