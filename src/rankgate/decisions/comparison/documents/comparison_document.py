"""Render comparisons: differences, worst queries, and the ranking of many systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.layout import CrossView
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_correction,
    format_decimal,
    format_interval,
    format_p_value,
    format_signed,
)
from rankgate.data.query_latencies import SHARES, complete_bounds
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.comparison_columns import JUDGED, LATENCY, METRICS, PLANS, QUERIES, STATES
from rankgate.decisions.comparison.documents import comparison_grids as of_sample
from rankgate.decisions.comparison.documents.comparison_grids import (
    EQUIVALENCE_CONDITIONS,
    MANY_CONDITIONS,
    format_interval_heading,
    format_p_heading,
    leaderboard,
    many_tables,
    overall_sentence,
    sentence,
)
from rankgate.decisions.comparison.equivalence import EQUIVALENCE, RELATIVE
from rankgate.decisions.comparison.inference import describe_method, describe_signed_ranks
from rankgate.measurement.stats.mean_intervals import FEW

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.core.value_types import Json
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


WORST = 5
"""The default number of worst queries of each metric."""


def comparison_document(
    result: Comparisons, *, worst: int = WORST, pairs: bool = False, one_table: bool = False
) -> Document:
    """Render the comparison with a candidate; for several candidates, one table.

    Args:
        result: the comparisons.
        worst: the number of worst queries for each metric.
        pairs: the pairs of systems: each candidate with the baseline, or every pair.
        one_table: true for the table of systems and metrics alone, as a paper has it.
    """
    if one_table:
        table, marks = leaderboard(result, best_first=True)
        warnings = Warnings(tuple(dict.fromkeys(_warnings(result))))
        return made(marks, table, warnings, lead=(overall_sentence(result),), rows=_rows(result))
    if len(result.comparisons) == 1:
        only = result.only
        return made(title(only), *_blocks(only, worst), lead=(sentence(only),), rows=_rows(result))
    first_comparison = result.comparisons[0]
    blocks: list[Block] = [*leaderboard(result, best_first=True)]
    if pairs:
        for comparison in result.comparisons:
            blocks += [title(comparison), sentence(comparison), *_blocks(comparison, worst)]
    else:
        blocks += _slice_tables(result.comparisons)
        blocks += [Warnings(tuple(dict.fromkeys(_warnings(result)))), notes(first_comparison, several=True)]
    if result.many:
        blocks += many_tables(result.many, pairs=pairs)
        blocks.append(MANY_CONDITIONS)
    if not pairs:
        blocks.append("Every pair of systems, and the worst queries of each: add --pairs.")
    count = len(result.comparisons)
    return made(
        f"{count_noun(count, 'system')} against {make_printable(first_comparison.baseline.name)}",
        *blocks,
        lead=(overall_sentence(result),),
        rows=_rows(result),
    )


def _blocks(result: Comparison, worst: int) -> list[Block]:
    """The tables of one comparison, its warnings and notes."""
    tables = [Table(heading, grid) for heading, grid in grids(result, worst)]
    return [*tables, Warnings(result.warnings), notes(result)]


def _warnings(result: Comparisons) -> Iterator[str]:
    """Warnings of several comparisons: common ones once, others with the candidate's name."""
    shared_warnings = set.intersection(*(set(comparison.warnings) for comparison in result.comparisons))
    for comparison in result.comparisons:
        name = make_printable(comparison.candidate.name)
        yield from (
            warning if warning in shared_warnings else f"{name}: {warning}" for warning in comparison.warnings
        )


def query_document(result: Comparison, query_id: str) -> Document:
    """One query: each metric's values, and both lists side by side.

    Raises:
        UsageError: neither system ran the query, and it has no values.
    """
    query_ids = {*result.queries["query_id"].to_list(), *result.lists["query_id"].to_list()}
    if query_id not in query_ids:
        close_matches = get_close_matches(query_id, sorted(query_ids), 1)
        hint = f"did you mean {close_matches[0]}?" if close_matches else "see the queries with --worst 100."
        problem = f"no query {query_id!r} was compared; {hint}"
        raise UsageError(problem, code="unknown-query")
    values = QUERIES.grid(
        result.queries.filter(query_id=query_id),
        "metric",
        "baseline",
        "candidate",
        "delta",
        headers=_system_headers(result),
    )
    return made(
        f"query {make_printable(query_id)}",
        Table("", values) if values.rows else "no metric has a value on both sides",
        Table("", side_by_side(result, query_id)),
        "grades: – is unjudged; moved: +2 is two ranks higher in the candidate's list",
    )


def grids(result: Comparison, worst: int = WORST, *, two_sided: bool = False) -> list[tuple[str, Grid]]:
    """The tables of a comparison with their headings; empty ones are left out."""
    tables = [
        ("", figure_grid(result, two_sided=two_sided)),
        (of_sample.heading(result), of_sample.represented_grid(result)),
        ("", power_grid(result)),
        (
            f"as a share of {make_printable(result.baseline.name)}'s mean (Fieller's intervals)",
            relative_grid(result),
        ),
        (_equivalence_heading(result), equivalence_grid(result)),
        *([("", table.grid) for table in _JUDGED.blocks(result)] if result.depth else []),
    ]
    tables += [(table.heading, table.grid) for table in _slice_tables([result])]
    for metric in result.names:
        worst_queries, count = (
            _worst_grid(result, metric, worst),
            int((result.deltas(metric)["gain"] < 0).sum()),
        )
        if worst_queries.rows:
            tables.append(
                (f"{metric}: worst queries ({len(worst_queries.rows)} of {count} that lost)", worst_queries)
            )
        tables.append(
            (f"{metric}: worst queries by the model alone", of_sample.prediction_grid(result, metric, worst))
        )
    tables += [
        ("latency in ms", _latency_grid(result)),
        ("states of queries", _state_grid(result)),
        ("left out", _excluded_grid(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def figure_grid(result: Comparison, *, two_sided: bool = False) -> Grid:
    """Means, difference, interval and p of each metric."""
    headers = {
        "low": format_interval_heading(result, two_sided=two_sided),
        "p_value": format_p_heading(result),
    }
    return METRICS.grid(
        result.metrics,
        "metric",
        "baseline",
        "candidate",
        "delta",
        ("low", "high"),
        "p_value",
        ("wins", "/", "ties", "/", "losses"),
        headers=_system_headers(result) | headers,
    )


def power_grid(result: Comparison) -> Grid:
    """The table of power: detectable difference, and queries needed for a wanted difference."""
    table = result.metrics.join(result.plans, on="metric", how="left", maintain_order="left")
    columns = Columns("One row per metric.", METRICS, PLANS)
    wanted = [f"queries to\nshow {difference:g}" for difference in result.plans["wanted"][:1]]
    cells = ("metric", "n", "effect", "sd", "mde", "needed", *(["queries"] if wanted else []))
    return columns.grid(table, *cells, headers=dict(zip(["queries"], wanted, strict=False)))


def relative_grid(result: Comparison) -> Grid:
    """Differences as shares of the baseline's mean."""
    headers = {"low": f"{result.level:.0%} interval"}
    return RELATIVE.grid(result.relative, "metric", "relative", ("low", "high"), headers=headers)


def equivalence_grid(result: Comparison) -> Grid:
    """Two one-sided tests, and the probabilities of worse, equivalent and better."""
    rule = result.correction.partition(" over ")[0]
    p = "p\n(TOST)" if rule == "none" else f"p\n(TOST, {'holm' if rule == 'maxt' else rule})"
    ends = "relative" if result.equivalence["relative"].any() else "signed"
    return EQUIVALENCE.grid(
        result.equivalence,
        "metric",
        "p_value",
        ("low", "high"),
        "worse",
        "same",
        "better",
        headers={"p_value": p, "low": f"{2 * result.level - 1:.0%} interval\n(uncorrected)"},
        formats={"low": ends, "high": ends},
    )


def _equivalence_heading(result: Comparison) -> str:
    if not len(result.equivalence):
        return ""
    row = result.equivalence.row(0, named=True)
    margin = f"{row['margin']:.6g}"
    if row["relative"]:
        margin = f"{100 * row['margin']:.6g}% of {make_printable(result.baseline.name)}'s mean"
    return f"equivalent within {margin}? (two one-sided tests; probabilities by a flat prior)"


def side_by_side(result: Comparison, query_id: str) -> Grid:
    """Both lists of a query, rank by rank, with grades and moves."""
    lists: dict[str, dict[int, dict[str, Json]]] = {"baseline": {}, "candidate": {}}
    for row in result.lists.iter_rows(named=True):
        if row["query_id"] == query_id:
            lists[row["system"]][row["rank"]] = row
    last_rank = max((rank for documents in lists.values() for rank in documents), default=0)
    rows = [
        (str(rank), *_document(lists["baseline"].get(rank)), *_document(lists["candidate"].get(rank)))
        for rank in range(1, last_rank + 1)
    ]
    baseline, candidate = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    header = ("rank", baseline, "grade", "", candidate, "grade", "")
    return Grid(header, tuple(rows), frozenset({1, 3, 4, 6}))


def title(result: Comparison) -> str:
    """The title: both systems, the judgments and the convention."""
    convention = result.convention
    if convention["name"] == GIVEN_VALUES:
        candidate, baseline = result.candidate.name, result.baseline.name
        names = f"{make_printable(candidate)} against {make_printable(baseline)}"
        return f"{names}, by the values in {make_printable(result.qrels)}"
    return (
        f"{make_printable(result.candidate.name)} against {make_printable(result.baseline.name)}, by "
        f"judgments {make_printable(result.qrels)}, convention {convention['name']} ({convention['hash']})"
    )


def notes(result: Comparison, *, several: bool = False) -> str:
    """Notes on delta, interval, p and detectable, for one candidate or several."""
    name = "the candidate" if several else make_printable(result.candidate.name)
    correction_note = "" if result.correction.startswith("none") else " after the correction"
    methods = describe_method(
        result.interval, result.test, result.resamples, result.seed, result.metrics["mc_error"]
    )
    return (
        f"delta is {name} minus {make_printable(result.baseline.name)}, mean over queries; "
        f"{methods}{describe_signed_ranks(result.zeros, result.signed_ranks)}, "
        f"{format_correction(result.correction)}. {of_sample.note(result)}"
        f"Detectable is the smallest true difference that these queries show two-sided with a power of "
        f"{result.power:.0%}{correction_note}: not significant is not the same as not worse."
        f"{f' {EQUIVALENCE_CONDITIONS}' if len(result.equivalence) else ''}"
    )


_JUDGED = CrossView(
    "judged_shares", "", ("system",), across="k", value="share", header="judged@{}", columns=JUDGED
)


def _worst_grid(result: Comparison, metric: str, worst: int) -> Grid:
    headers = _system_headers(result)
    k = result.depth
    cells = ["query_id", "baseline", "candidate", "delta"]
    if k:  # values have no lists
        cells += ["overlap", "judged_baseline", "judged_candidate"]
        headers |= {"overlap": f"shared\ntop {k}"} | {
            f"judged_{side}": f"judged@{k}\n{name}" for side, name in headers.items()
        }
    table = result.deltas(metric).head(worst)
    return QUERIES.grid(table.filter(table["gain"] < 0), *cells, headers=headers)


def _slice_heading(result: Comparison, tag: str) -> str:
    sizes = result.slices.filter(tag=tag)["n"]
    remark = f"; few: under {FEW} queries, whose intervals cover less often than stated"
    return f"{tag}: figures of each value{remark if (sizes < FEW).any() else ''}"


def _slice_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """A table for each tag; with several candidates each has its row."""
    tables = []
    for tag in comparisons[0].slices["tag"].unique(maintain_order=True).to_list():
        grids = [_slice_grid(comparison, tag) for comparison in comparisons]
        grid = grids[0]
        if len(grids) > 1:
            header = (*grid.head[:2], "candidate", "n", grid.head[3], "mean", *grid.head[5:])
            rows = [
                (*row[:2], make_printable(comparison.candidate.name), *row[2:])
                for comparison, own_grid in zip(comparisons, grids, strict=True)
                for row in own_grid.rows
            ]
            order = {row[:2]: position for position, row in enumerate(grid.rows)}
            rows.sort(key=lambda row: order.get(row[:2], len(order)))
            grid = replace(grid, head=header, rows=tuple(rows), left=frozenset({0, 1, 2}), keys=3)
        tables.append(Table(_slice_heading(comparisons[0], tag), grid))
    return tables


def _slice_grid(result: Comparison, tag: str) -> Grid:
    rows: list[tuple[str, ...]] = [
        (
            row["value"],
            row["metric"],
            str(row["n"]),
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            f"{format_interval(row['low'], row['high'])}{' few' if row['n'] < FEW else ''}",
            format_p_value(row["p_value"]),
        )
        for row in result.slices.iter_rows(named=True)
        if row["tag"] == tag
    ]
    value_count = result.slices.filter(tag=tag)["value"].n_unique()
    rows += [
        (
            *("(differ?)", row["metric"], "", "", "", ""),
            f"{row['values']} of {value_count} values",
            format_p_value(row["p_value"]),
        )
        for row in result.interactions.iter_rows(named=True)
        if row["tag"] == tag
    ]
    baseline, candidate = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    header = (
        tag,
        "metric",
        "n",
        baseline,
        candidate,
        "delta",
        f"{result.level:.0%} interval\n(uncorrected)",
        "p\n(bh)",
    )
    return Grid(header, tuple(rows), frozenset({0, 1}), keys=2)


def _latency_grid(result: Comparison) -> Grid:
    table = complete_bounds(result.with_names(result.latency))
    return LATENCY.grid(table, "system", "n", "mean", *SHARES)


def _state_grid(result: Comparison) -> Grid:
    """The states of queries; no rows if every query has a list."""
    table = result.with_names(result.states)
    return STATES.grid(table.clear() if (table["state"] == "ok").all() else table, keys=2)


_LEFT_OUT = Columns(
    "One row per metric and reason.",
    Column("metric", pl.String, "the metric", empty="all"),
    Column("reason", pl.String, "why queries are left out", header="why"),
    Column("queries", pl.Int64, "how many"),
    Column("examples", pl.String, "the first of them", header="such as"),
)


def _excluded_grid(result: Comparison) -> Grid:
    query = pl.col("query_id")
    table = result.excluded.group_by("metric", "reason", maintain_order=True).agg(
        pl.len().alias("queries"),
        (
            query.head(3).str.join(", ") + pl.when(pl.len() > 3).then(pl.lit(", …")).otherwise(pl.lit(""))
        ).alias("examples"),
    )
    return _LEFT_OUT.grid(table, keys=2)


def _system_headers(result: Comparison) -> dict[str, str]:
    """The names of both systems, as headers of their columns."""
    return {
        "baseline": make_printable(result.baseline.name),
        "candidate": make_printable(result.candidate.name),
    }


def format_move(row: Mapping[str, Any]) -> str:
    """The ranks that a document rises from the baseline to the candidate, as text.

    >>> [format_move({"system": side, "moved": n})
    ...  for side, n in (("baseline", -2), ("candidate", 2))]
    ['+2', '+2']
    >>> [format_move({"system": side, "moved": None}) for side in ("baseline", "candidate")]
    ['gone', 'new']
    """
    if row["moved"] is None:
        return "gone" if row["system"] == "baseline" else "new"
    ranks_gained = -row["moved"] if row["system"] == "baseline" else row["moved"]
    return f"{ranks_gained:+d}" if ranks_gained else ""


def _document(row: dict[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    grade = UNDEFINED if row["grade"] is None else f"{row['grade']:g}"
    return row["doc_id"], grade, format_move(row)


def _rows(result: Comparisons) -> PlainRows:
    """Rows by candidate, metric and query."""
    values = ("metric", "query_id", "baseline", "candidate", "delta")
    rows = [
        (comparison.candidate.name, *row)
        for comparison in result.comparisons
        for row in comparison.queries.select(values).iter_rows()
    ]
    return PlainRows(("candidate", "metric", "query_id", "baseline", "candidate_value", "delta"), rows)
