"""Render comparisons, and the judgments and grades of the first documents by rank.

A comparison shows differences, worst queries, and the ranking of many systems. Judgments and
grades of the first documents are shown rank by rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.document_model import (
    SOFT,
    Chart,
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_bounds,
    format_correction,
    format_decimal,
    format_interval,
    format_number,
    format_p_value,
    format_query_count,
    format_signed,
    format_wins,
)
from rankgate.data.query_latencies import SHARES, row_bounds
from rankgate.data.run_scores import GIVEN_VALUES
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
    from rankgate.core.value_types import Json
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons
    from rankgate.decisions.comparison.comparison_tables import GradesByRank


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
    rows = [
        (
            row["metric"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
        )
        for row in result.queries.iter_rows(named=True)
        if row["query_id"] == query_id
    ]
    baseline, candidate = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    values = Grid(("metric", baseline, candidate, "delta"), tuple(rows))
    return made(
        f"query {make_printable(query_id)}",
        Table("", values) if rows else "no metric has a value on both sides",
        Table("", side_by_side(result, query_id)),
        "grades: – is unjudged; moved: +2 is two ranks higher in the candidate's list",
    )


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


def figure_grid(result: Comparison, *, two_sided: bool = False) -> Grid:
    """Means, difference, interval and p of each metric."""
    rows = [
        (
            row["metric"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            format_interval(row["low"], row["high"]),
            format_p_value(row["p_value"]),
            format_wins(row),
        )
        for row in result.metrics.iter_rows(named=True)
    ]
    names = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    interval_heading = format_interval_heading(result, two_sided=two_sided)
    header = ("metric", *names, "delta", interval_heading, format_p_heading(result), "won/tied/\nlost")
    return Grid(header, tuple(rows))


def power_grid(result: Comparison) -> Grid:
    """The table of power: detectable difference, and queries needed for a wanted difference."""
    header = [
        "metric",
        "queries",
        "effect\n(gz)",
        "sd of the\ndifferences",
        f"detect{SOFT}\nable",
        "queries to show\nthis difference",
    ]
    header += [f"queries to\nshow {wanted_difference:g}" for wanted_difference in result.plans["wanted"][:1]]
    plans = {row["metric"]: row["queries"] for row in result.plans.iter_rows(named=True)}
    rows = [
        (
            row["metric"],
            str(row["n"]),
            format_number(row["effect"], 2),
            format_decimal(row["sd"]),
            format_decimal(row["mde"]),
            format_query_count(row["needed"]),
            *([format_query_count(plans.get(row["metric"]))] if plans else []),
        )
        for row in result.metrics.iter_rows(named=True)
    ]
    return Grid(tuple(header), tuple(rows))


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
    if not result.depth:  # values without lists
        return Grid(("system",), ())
    shares: dict[int, dict[str, float | None]] = {}
    for row in result.judged.iter_rows(named=True):
        shares.setdefault(row["k"], {})[row["system"]] = row["share"]
    header = ("system", *(f"judged@{k}" for k in shares))
    rows = [
        (
            make_printable(system.name),
            *(format_decimal(share_of_system.get(side)) for share_of_system in shares.values()),
        )
        for side, system in (("baseline", result.baseline), ("candidate", result.candidate))
    ]
    return Grid(header, tuple(rows))


def _worst_grid(result: Comparison, metric: str, worst: int) -> Grid:
    rows = [
        (
            row["query_id"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            format_number(row["overlap"], 2),
            format_number(row["judged_baseline"], 2),
            format_number(row["judged_candidate"], 2),
        )
        for row in result.deltas(metric).head(worst).iter_rows(named=True)
        if row["gain"] < 0
    ]
    baseline, candidate = (make_printable(result.baseline.name), make_printable(result.candidate.name))
    k = result.depth
    header = (
        "query",
        baseline,
        candidate,
        "delta",
        f"shared\ntop {k}",
        f"judged@{k}\n{baseline}",
        f"judged@{k}\n{candidate}",
    )
    whole = Grid(header, tuple(rows))
    return whole if result.depth else whole.columns(0, 4)  # without lists


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
    rows = [
        (
            _system_name(result, row["system"]),
            str(row["n"]),
            *(format_bounds(*row_bounds(row, name), "{:.1f}".format) for name in ("mean", *SHARES)),
        )
        for row in result.latency.iter_rows(named=True)
    ]
    return Grid(("system", "queries", "mean", *SHARES), tuple(rows))


def _state_grid(result: Comparison) -> Grid:
    rows = [
        (_system_name(result, row["system"]), row["state"], str(row["queries"]))
        for row in result.states.iter_rows(named=True)
    ]
    if all(row["state"] == "ok" for row in result.states.iter_rows(named=True)):
        rows = []
    return Grid(("system", "state", "queries"), tuple(rows), frozenset({0, 1}))


def _excluded_grid(result: Comparison) -> Grid:
    queries_by_reason: dict[tuple[str, str], list[str]] = {}
    for query, metric, reason in result.excluded.iter_rows():
        queries_by_reason.setdefault((metric or "all", reason), []).append(query)
    rows = [
        (
            metric,
            reason,
            str(len(query_ids)),
            ", ".join(query_ids[:3]) + (", …" if len(query_ids) > 3 else ""),
        )
        for (metric, reason), query_ids in queries_by_reason.items()
    ]
    return Grid(("metric", "why", "queries", "such as"), tuple(rows), frozenset({0, 1, 3}))


def _system_name(result: Comparison, system: str) -> str:
    return make_printable(result.baseline.name if system == "baseline" else result.candidate.name)


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


def rank_document(result: GradesByRank) -> Document:
    """The judged share of each list by rank, and the shares of grades."""
    judged_rows = tuple(
        (system, str(rank), f"{lists:,}", format_decimal(share_at_rank), format_decimal(share_down_to_rank))
        for system, rank, lists, share_at_rank, share_down_to_rank in result.judged.rows()
    )
    grades = tuple(
        (row["system"], str(row["rank"]), row["label"], f"{row['count']:,}", f"{row['share']:.0%}")
        for row in result.grades.iter_rows(named=True)
    )
    header = ("system", "rank", "lists", "judged there", "judged down to it")
    text_columns = frozenset({0})
    table = result.judged
    return made(
        f"the first {count_noun(result.depth, 'document')} of "
        f"{count_noun(len(result.systems), 'system')}, {count_noun(result.queries, 'query')}",
        Chart("rankgate.decisions.comparison.charts.system_charts:judged", result),
        Table("judged", Grid(header, judged_rows, text_columns, keys=2)),
        Chart("rankgate.decisions.comparison.charts.system_charts:grades", result),
        Table(
            "grades",
            Grid(("system", "rank", "grade", "documents", "share"), grades, frozenset({0, 2})),
            folded=True,
        ),
        rows=PlainRows(tuple(table.columns), table.rows()),
    )
