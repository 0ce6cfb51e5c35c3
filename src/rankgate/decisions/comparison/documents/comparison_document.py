"""Render comparisons: differences, worst queries, and the ranking of many systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.document_forms import query_lists_grid
from rankgate.core.present.document_model import (
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    list_pair,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.layout import CrossView, View, fill
from rankgate.core.present.number_formats import count_noun, format_correction
from rankgate.data.query_latencies import SHARES, complete_bounds
from rankgate.data.run_scores import GIVEN_VALUES
from rankgate.decisions.comparison.comparison_columns import (
    EXCLUDED,
    INTERACTIONS,
    JUDGED,
    LATENCY,
    METRICS,
    PLANS,
    QUERIES,
    SLICES,
    STATES,
)
from rankgate.decisions.comparison.documents import comparison_grids as of_sample
from rankgate.decisions.comparison.documents.comparison_grids import (
    EQUIVALENCE_CONDITIONS,
    MANY_CONDITIONS,
    format_interval_heading,
    format_p_heading,
    leaderboard,
    many_grids,
    overall_sentence,
    sentence,
)
from rankgate.decisions.comparison.equivalence import EQUIVALENCE, RELATIVE
from rankgate.decisions.comparison.inference import describe_method, describe_signed_ranks
from rankgate.decisions.comparison.seeds import SEED_NOTE, SEEDS, joined_seeds
from rankgate.measurement.stats.mean_intervals import FEW

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


WORST = 5
"""The default number of worst queries of each metric."""

_REASONS = Columns(
    "One row per metric and reason.",
    *(column for column in EXCLUDED.columns if column.name != "query_id"),
    Column("queries", pl.Int64, "the number of queries"),
    Column("examples", pl.List(pl.String), "the first of them", header="such as"),
)


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
        seeds = joined_seeds(comparison.seeds for comparison in result.comparisons)
        if len(seeds):  # a share is of the variance of one difference
            blocks.append(Table("between seeds", SEEDS.drop("share").grid(seeds, keys=2)))
        blocks += _slice_tables(result.comparisons)
        described = max(result.comparisons, key=lambda comparison: len(comparison.seeds))
        blocks += [Warnings(tuple(dict.fromkeys(_warnings(result)))), notes(described, several=True)]
    if result.many:
        blocks += [Table(heading, grid) for heading, grid in many_grids(result.many, pairs=pairs)]
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
        *_tag_lines(result, query_id),
        Table("", values) if values.rows else "no metric has a value on both sides",
        Table("", side_by_side(result, query_id)),
        "grades: – is unjudged; moved: +2 is two ranks higher in the candidate's list",
    )


def _tag_lines(result: Comparison, query_id: str) -> list[str]:
    """The tags of a query in a line, such as the trace that it is from; none if it has no tags."""
    rows = result.queries.filter(query_id=query_id).select(result.tags).head(1).rows(named=True)
    texts = [
        f"{name} {make_printable(str(tag))}" for row in rows for name, tag in row.items() if tag is not None
    ]
    return [", ".join(texts)] if texts else []


def grids(result: Comparison, worst: int = WORST, *, two_sided: bool = False) -> list[tuple[str, Grid]]:
    """The tables of a comparison with their headings; empty ones are left out."""
    tables = [
        ("", figure_grid(result, two_sided=two_sided)),
        (of_sample.heading(result), of_sample.represented_grid(result)),
        ("", power_grid(result)),
        ("between seeds", SEEDS.grid(result.seeds, keys=2)),
        (
            f"as a share of {make_printable(result.baseline.name)}'s mean (Fieller's intervals)",
            relative_grid(result),
        ),
        (_equivalence_heading(result), equivalence_grid(result)),
        ("", _judged_grid(result)),
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


def _system_headers(result: Comparison) -> dict[str, str]:
    """The names of both systems as headers."""
    return {
        "baseline": make_printable(result.baseline.name),
        "candidate": make_printable(result.candidate.name),
    }


def figure_grid(result: Comparison, *, two_sided: bool = False) -> Grid:
    """Means, difference, interval and p of each metric."""
    return METRICS.grid(
        result.metrics,
        "metric",
        "baseline",
        "candidate",
        "delta",
        ("low", "high"),
        "p_value",
        ("wins", "/", "ties", "/", "losses"),
        headers={
            **_system_headers(result),
            "low": format_interval_heading(result, two_sided=two_sided),
            "p_value": format_p_heading(result),
        },
    )


def power_grid(result: Comparison) -> Grid:
    """The table of power: detectable difference, and queries needed for a wanted difference."""
    table, names = result.metrics, ["metric", "n", "effect", "sd", "mde", "needed"]
    headers = {"n": "queries"}
    if len(result.plans):
        table = table.join(result.plans, on="metric", how="left", maintain_order="left")
        names.append("queries")
        headers["queries"] = f"queries to\nshow {result.plans['wanted'][0]:g}"
    return Columns("", METRICS, PLANS).grid(table, *names, headers=headers)


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
    rows = result.lists.filter(pl.col("query_id") == query_id).iter_rows(named=True)
    baseline, candidate = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    header = ("rank", baseline, "grade", "", candidate, "grade", "")
    return replace(query_lists_grid(list_pair(query_id, rows, (baseline, candidate))), head=header)


def title(result: Comparison) -> str:
    """The title: both systems, the judgments and the convention."""
    names = "{candidate.name} against {baseline.name}, by "
    if result.convention["name"] == GIVEN_VALUES:
        return fill(f"{names}the values in {{qrels}}", result)
    return fill(f"{names}judgments {{qrels}}, convention {{convention[name]}} ({{convention[hash]}})", result)


def notes(result: Comparison, *, several: bool = False) -> str:
    """Notes on delta, interval, p and detectable, for one candidate or several."""
    name = "the candidate" if several else make_printable(result.candidate.name)
    methods = describe_method(
        result.interval, result.test, result.resamples, result.seed, result.metrics["mc_error"]
    )
    return (
        f"delta is {name} minus {make_printable(result.baseline.name)}, mean over queries; "
        f"{methods}{describe_signed_ranks(result.zeros, result.signed_ranks)}, "
        f"{format_correction(result.correction)}. {of_sample.note(result)}"
        f"{SEED_NOTE if len(result.seeds) else _detectable_note(result)}"
        f"{f' {EQUIVALENCE_CONDITIONS}' if len(result.equivalence) else ''}"
    )


def _detectable_note(result: Comparison) -> str:
    correction_note = "" if result.correction.startswith("none") else " after the correction"
    return (
        "Detectable is the smallest true difference that these queries show two-sided with a power of "
        f"{result.power:.0%}{correction_note}: not significant is not the same as not worse."
    )


def _judged_grid(result: Comparison) -> Grid:
    table = result.judged if result.depth else result.judged.clear()  # values have no lists
    judged = table.with_columns(pl.col("system").replace(_system_headers(result)))
    view = CrossView(judged, "", ("system",), "k", "share", "judged@{}", columns=JUDGED)
    return of_sample.view_grid(view, result)


def _worst_grid(result: Comparison, metric: str, worst: int) -> Grid:
    headers, k = _system_headers(result), result.depth
    of_lists = ("overlap", "judged_baseline", "judged_candidate") if k else ()
    return QUERIES.grid(
        result.deltas(metric).head(worst).filter(pl.col("gain") < 0),
        "query_id",
        "baseline",
        "candidate",
        "delta",
        *of_lists,
        headers={
            **headers,
            "overlap": f"shared\ntop {k}",
            "judged_baseline": f"judged@{k}\n{headers['baseline']}",
            "judged_candidate": f"judged@{k}\n{headers['candidate']}",
        },
    )


def _slice_heading(result: Comparison, tag: str) -> str:
    sizes = result.slices.filter(tag=tag)["n"]
    remark = f" (* under {FEW} queries, whose intervals cover less often than stated)"
    return f"{tag}: figures of each value{remark if (sizes < FEW).any() else ''}"


def _slice_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """The figures of each tag's values, with a row for each candidate; then tests whether they differ."""
    first = comparisons[0]
    keys = ["value", "metric", "system"] if len(comparisons) > 1 else ["value", "metric"]
    headers = {
        "baseline": make_printable(first.baseline.name),
        "candidate": "mean" if len(comparisons) > 1 else make_printable(first.candidate.name),
        "low": f"{first.level:.0%} interval\n(uncorrected)",
        "p_value": "p\n(bh)",
        "system": "candidate",
    }
    slices, tests = (
        pl.concat(
            getattr(comparison, name).with_columns(system=pl.lit(comparison.candidate.name))
            for comparison in comparisons
        )
        for name in ("slices", "interactions")
    )
    order = first.slices.select("tag", "value", "metric").with_row_index("position")
    slices = slices.join(order, ["tag", "value", "metric"], how="left", maintain_order="left").sort(
        "position", nulls_last=True, maintain_order=True
    )
    slices = slices.with_columns(few=pl.when(pl.col("n") < FEW).then(pl.lit("*")))
    columns = Columns("", SLICES, SYSTEM, Column("few", pl.String, "the mark of few queries"))
    figures = ("baseline", "candidate", "delta", ("low", "high"), "p_value")
    tables: list[Table] = []
    for tag in first.slices["tag"].unique(maintain_order=True).to_list():
        view = View(
            slices.filter(tag=tag),
            _escape(_slice_heading(first, tag)),
            (*keys, ("n", "", "few"), *figures),
            columns,
            headers={name: _escape(header) for name, header in {**headers, "value": tag}.items()},
            keys=len(keys),
        )
        tables += view.blocks(first)
        tested = INTERACTIONS.columns
        test_view = View(
            tests.filter(tag=tag),
            _escape(f"{tag}: do its values differ?"),
            (*keys[1:], "p_value", "values", "too_small"),
            Columns("", *tested, SYSTEM),
            headers={"values": "values\ncompared", "too_small": "too small", "system": "candidate"},
            keys=len(keys) - 1,
            optional=("too_small",),
        )
        tables += test_view.blocks(first)
    return tables


def _escape(text: str) -> str:
    """A text as a template."""
    return text.replace("{", "{{").replace("}", "}}")


def _latency_grid(result: Comparison) -> Grid:
    table = complete_bounds(result.latency).with_columns(pl.col("system").replace(_system_headers(result)))
    return LATENCY.grid(table, "system", "n", "mean", *SHARES)


def _state_grid(result: Comparison) -> Grid:
    table = result.states.with_columns(pl.col("system").replace(_system_headers(result)))
    has_others = (table["state"] != "ok").any()
    return STATES.grid(table if has_others else table.clear(), keys=2)


def _excluded_grid(result: Comparison) -> Grid:
    reasons = result.excluded.group_by("metric", "reason", maintain_order=True).agg(
        queries=pl.len(), examples=pl.col("query_id").head(3)
    )
    return _REASONS.grid(reasons, keys=2)


def _rows(result: Comparisons) -> PlainRows:
    """Rows by candidate, metric and query."""
    values = ("metric", "query_id", "baseline", "candidate", "delta")
    rows = [
        (comparison.candidate.name, *row)
        for comparison in result.comparisons
        for row in comparison.queries.select(values).iter_rows()
    ]
    return PlainRows(("candidate", "metric", "query_id", "baseline", "candidate_value", "delta"), rows)
