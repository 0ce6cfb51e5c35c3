"""Parts of comparison documents: headings, summary sentence, leaderboard, samples, systems.

The parts are column headings of intervals and p-values; the summary of a comparison in one
sentence; the leaderboard of all systems by all metrics, with marks of significantly worse systems;
the figures of a sample (people's judgments, a model's, and both together); and the rendering of
three systems or more: pairwise tests, orders, and reliability of the queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.document_model import Grid, Table, make_printable
from rankgate.core.present.layout import CrossView, View, fill
from rankgate.core.present.number_formats import format_decimal, format_p_value, system_mark
from rankgate.decisions.comparison.comparison_columns import PREDICTIONS
from rankgate.decisions.comparison.comparison_tables import marked_figures
from rankgate.decisions.comparison.seeds import joined_seeds
from rankgate.measurement.stats.weighted_means import LEAST_EFFECTIVE, MOST_SPREAD

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons, ManySystems


_SHORT = {"randomization": "random."}


def format_interval_heading(result: Comparison, *, two_sided: bool = False) -> str:
    """The heading of intervals, which are not corrected."""
    if result.interval == "simultaneous":
        return f"{result.level:.0%} interval\n(simultaneous)"
    is_corrected = not result.correction.startswith("none")
    prefix = "two-sided " if two_sided else ""
    return f"{prefix}{result.level:.0%} interval" + ("\n(uncorrected)" if is_corrected else "")


def format_p_heading(result: Comparison) -> str:
    """The heading of p: its test, if the interval has another method, and the correction."""
    rule = result.correction.partition(" over ")[0]
    test = "" if result.test == result.interval else _SHORT.get(result.test, result.test)
    qualifiers = ", ".join(qualifier for qualifier in (test, "" if rule == "none" else rule) if qualifier)
    return f"p\n({qualifiers})" if qualifiers else "p"


def is_significant_row(row: Mapping[str, Any], level: float) -> bool:
    """True if the corrected p of a row of ``metrics`` is below 1 minus the level."""
    p = row["p_value"]
    return p is not None and p < 1 - level and bool(row["delta"])


def sentence(result: Comparison) -> str:
    """A sentence on the change of the first metric and its significance; empty without values."""
    row = result.metrics.row(0, named=True)
    if row["p_value"] is None or not row["delta"]:
        return row_sentence(row)
    p = f"p {format_p_value(row['p_value'])}"
    if is_significant_row(row, result.level):
        return row_sentence(row, f", more than chance explains ({p})")
    return row_sentence(row, f", which chance could explain ({p})")


def row_sentence(row: Mapping[str, Any], ending: str = "") -> str:
    """A sentence on the queries that got worse and better, and on the change of the mean.

    Args:
        row: a row of a comparison's metrics; ``wins`` and ``losses`` may be unknown.
        ending: an interpretation of the change.
    """
    if row["delta"] is None or not row["n"]:
        return ""
    has_counts = row["losses"] is not None and row["wins"] is not None
    if has_counts and not row["losses"] and not row["wins"]:
        return fill("None of {n:n query} changed by {metric}.", None, row)
    change = "the mean of {metric} is the same"
    if row["delta"]:
        verb = "rose" if row["delta"] > 0 else "fell"
        change = f"on average {{metric}} {verb} by {{size:decimal}}"
        if row["gain"] * row["delta"] < 0:  # less is better
            change += f" ({'worse' if row['gain'] < 0 else 'better'})"
    template = f"{{losses:,}} of {{n:n query}} got worse and {{wins:,}} better; {change}"
    if not has_counts:
        template = f"{change[0].upper()}{change[1:]} over {{n:n query}}"
    return fill(template, None, {**row, "size": abs(row["delta"])}) + f"{ending}."


def overall_sentence(result: Comparisons) -> str:
    """A sentence on the best of several systems, and on the number that differ significantly."""
    name, level, base = result.only.names[0], result.only.level, result.only.baseline.name
    rows = [comparison.metrics.row(0, named=True) for comparison in result.comparisons]
    significant_rows = [row for row in rows if is_significant_row(row, level)]
    better = sum(row["gain"] > 0 for row in significant_rows)
    defined = [
        (row["gain"], row, comparison.candidate.name)
        for row, comparison in zip(rows, result.comparisons, strict=True)
        if row["gain"] is not None
    ]
    template = (
        "of {rows:n system} {better} {better:v is/are} significantly better than {base}, {worse} worse; "
        "{others} without a significant difference (p {correction:correction})"
    )
    figures = {
        "rows": rows,
        "better": better,
        "worse": len(significant_rows) - better,
        "others": len(rows) - len(significant_rows),
        "base": base,
        "correction": result.only.correction,
        "name": name,
    }
    if not defined:
        return fill(f"{{name}}: {template}.", None, figures)
    gain, row, best = max(defined, key=lambda best: best[0])
    if gain <= 0:
        return fill(f"No system has a better mean {{name}} than {{base}}; {template}.", None, figures)
    best_template = "{best} has the best mean {name} ({candidate:decimal}, {delta:signed} from {base}); "
    return fill(f"{best_template}{template}.", None, {**row, **figures, "best": best})


def leaderboard(result: Comparisons, *, best_first: bool = False) -> tuple[Table, str]:
    """A table with a row for each system, the best values bold, and an explanation of the marks.

    Marks between a system and the baseline are from the comparison's own test and correction; those
    between other systems, which are compared without a sample only, from paired Tukey's HSD.

    Args:
        result: the comparisons.
        best_first: True to sort by the first metric, best first; False for the given order.
    """
    first_comparison = result.comparisons[0]
    systems = [
        first_comparison.baseline.name,
        *(comparison.candidate.name for comparison in result.comparisons),
    ]
    level = first_comparison.level
    means, better, test = marked_figures(result)
    marks = [system_mark(i) for i in range(len(systems))]
    numbered_systems = list(enumerate(systems))
    if best_first:
        sign = 1 if first_comparison.names[0] in first_comparison.lower else -1
        first_means = [means.get((first_comparison.names[0], i)) for i, _ in numbered_systems]
        numbered_systems.sort(key=lambda index_and_name: _sort_key(first_means[index_and_name[0]], sign))
    seeds = joined_seeds(comparison.seeds for comparison in result.comparisons)
    spread = {(row["metric"], row["system"]): f"±{row['sd']:.4f}" for row in seeds.iter_rows(named=True)}
    rows = tuple(
        (
            f"{marks[i]} {make_printable(name)}",
            *(
                format_decimal(means.get((metric, i)))
                + spread.get((metric, name), "")
                + "".join(marks[worse] for worse in sorted(better.get((metric, i), ())))
                for metric in first_comparison.names
            ),
        )
        for i, name in numbered_systems
    )
    caption = f"A mark next to a value names a system that is worse (p < {1 - level:.2g}; {test})."
    caption += " ± is the standard deviation between seeds." * bool(spread)
    grid = Grid(("system", *first_comparison.names), rows)
    bold = set()
    for column, metric in enumerate(first_comparison.names, 1):
        sign = 1 if metric in first_comparison.lower else -1
        values = [_sort_key(means.get((metric, i)), sign) for i, _ in numbered_systems]
        bold |= {(row, column) for row, value in enumerate(values) if value == min(values) < float("inf")}
    return Table("", grid, bold=frozenset(bold)), caption


def _sort_key(mean: float | None, sign: int) -> float:
    return float("inf") if mean is None else sign * mean


CONDITION = (
    "Effective: as many queries of equal weight are worth the same. Intervals hold with at least "
    f"{LEAST_EFFECTIVE:.0f} of them, weights have a design effect of at most {MOST_SPREAD:g} within strata, "
    "and no queries that the sample hardly holds carry much of the weight: otherwise up to 29% of the passes "
    "are false."
)
"""The conditions of the intervals of weighted queries."""


_JUDGED_QUERIES = ("queries", " of ", "population")
_JUDGED_HEADER = {"queries": "queries\npeople judged"}
_WEIGHTED = View("represented", cells=("metric", "queries", "effective"))
_CORRECTED = View(
    "represented",
    cells=(
        "metric",
        _JUDGED_QUERIES,
        ("people_low", "people_high"),
        "people",
        "model",
        "correlation",
        "agreement",
        "slope",
        "saving",
        "needed",
    ),
    headers={**_JUDGED_HEADER, "people_low": "{level:.0%} interval\nby people alone"},
    formats={"needed": "queries"},
    row_filter=pl.col("population").is_not_null(),
)
_JUDGED_DOCUMENTS = _CORRECTED._replace(
    cells=("metric", _JUDGED_QUERIES, "documents", "model", "people", "more_documents"),
    headers={**_JUDGED_HEADER, "people": "delta of their queries,\ncorrected"},
    formats={"more_documents": "queries"},
)


def view_grid(view: View | CrossView, result: object) -> Grid:
    """The grid of a view; without rows where it has none."""
    return next((table.grid for table in view.blocks(result)), Grid((), ()))


def represented_grid(result: Comparison) -> Grid:
    """The table by metric; no rows without a sample."""
    table = result.represented
    if not table["population"].drop_nulls().len():
        return view_grid(_WEIGHTED, result)
    has_documents = table["documents"].drop_nulls().len()
    return view_grid(_JUDGED_DOCUMENTS if has_documents else _CORRECTED, result)


def heading(result: Comparison) -> str:
    """The heading of the table; empty without a sample."""
    if not result.sample:
        return ""
    if not result.represented["population"].drop_nulls().len():
        return "queries weighted by how they were drawn"
    return "people's judgments correct those of the model"


def prediction_grid(result: Comparison, metric: str, worst: int) -> Grid:
    """The worst queries by the model's judgments, among queries that people did not judge."""
    sign = -1.0 if metric in result.lower else 1.0
    table = result.predictions.filter(pl.col("delta") * sign < 0, metric=metric)
    return PREDICTIONS.grid(
        table.sort("delta", "query_id", descending=[sign < 0, False]).head(worst),
        "query_id",
        "delta",
        ("low", "high"),
        headers={"low": f"{result.level:.0%} interval\nof people's delta"},
    )


def note(result: Comparison) -> str:
    """A note on the estimates; empty without a sample."""
    if not result.sample:
        return ""
    source = "every query was equally likely" if result.sample == "random" else result.sample
    if not result.represented["population"].drop_nulls().len():
        return (
            f"Means, intervals and tests weigh each query by how it was drawn ({source}): Hájek's estimate "
            "(Horvitz and Thompson's where the population's size is given) with the error of the jackknife. "
            f"{CONDITION} "
        )
    if result.represented["documents"].drop_nulls().len():
        return (
            "Means and deltas are of all queries that the model judged; people's judgments of a random "
            f"sample of the documents ({source}) correct its bias, each by the inverse of its chance. Values "
            "of single queries, won, tied and lost, and the effect are of these estimates. "
        )
    return (
        "Means and deltas are of all queries that the model judged; people's judgments of a random sample "
        f"({source}) correct its bias (prediction-powered inference). Won, tied and lost, the effect and the "
        "worst queries are those of people alone; queries saved: the share of people's queries that the "
        "model's judgments save. An interval of a single query is conformal: it holds people's delta with "
        "its level's chance over queries. "
    )


MANY_CONDITIONS = (
    "ANOVA's p and Tukey's HSD hold if the differences of all pairs of systems have one variance "
    "(sphericity, ε = 1); the p for any ε is Greenhouse and Geisser's. The randomised test, Friedman's and "
    "Nemenyi's need no variance: they test that systems are exchangeable within a query, and those of ranks "
    "say nothing of means. Queries are independent in all of them."
)
"""The conditions of the tests of three systems or more."""

EQUIVALENCE_CONDITIONS = (
    "TOST and the probabilities hold as t intervals do: for independent queries, without losses that few "
    "queries have and these lack; the probabilities are a posterior without prior knowledge of the mean."
)
"""The conditions of tests of equivalence."""

_SINGLE_MEANS = View(
    "means", "all systems, best first", ("metric", "system", "mean", "n", "mean_rank"), keys=2
)
_EVERY_PAIR = View(
    "pairs",
    "every pair, first minus second (Tukey's HSD, paired; randomised; Nemenyi by ranks)",
    ("metric", "first", "second", "delta", ("low", "high"), "p_tukey", "p_randomised", "p_nemenyi"),
    headers={"low": "{level:.0%} interval\n(Tukey)"},
    keys=3,
)
_OF_METRICS = (
    View(
        "anova",
        "do systems differ at all? (two-way ANOVA)",
        ("metric", "f", "p_value", "sphericity", "p_corrected"),
    ),
    View("friedman", "do their ranks within queries? (Friedman; Iman and Davenport's F)"),
)
_OF_ALL_QUERIES = (
    View(
        "orderings",
        "how much metrics agree on the order of systems ({level:.0%} of query samples)",
        (
            "first",
            "second",
            ("tau", " ", ("tau_low", "tau_high")),
            ("spearman", " ", ("spearman_low", "spearman_high")),
            "tau_ap_b",
            "rbo",
        ),
        keys=2,
    ),
    View(
        "reliability",
        "what these queries can show (generalizability theory, {level:.0%} intervals)",
        (
            "metric",
            "queries",
            ("e_rho2", " ", ("e_rho2_low", "e_rho2_high")),
            ("phi", " ", ("phi_low", "phi_high")),
            "needed",
            "tau",
            "split_half",
        ),
    ),
)


def many_grids(result: ManySystems, *, pairs: bool = True) -> list[tuple[str, Grid]]:
    """Tables of three systems or more.

    Args:
        result: the analysis.
        pairs: True to add every pair of systems, and the single means.
    """
    first, last = ((_SINGLE_MEANS,), (_EVERY_PAIR,)) if pairs else ((), ())
    views = (*first, *_OF_METRICS, *last, *_OF_ALL_QUERIES)
    return [(table.heading, table.grid) for view in views for table in view.blocks(result)]
