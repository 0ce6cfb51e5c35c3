"""Summary of a comparison in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.figures import format_correction, format_p_value, format_signed
from rankgate.core.present.numbers import format_decimal
from rankgate.decisions.comparison.documents.heads import is_significant_row

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


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
        row: of a comparison's metrics; ``wins`` and ``losses`` may be unknown.
        ending: an interpretation of the change.
    """
    if row["delta"] is None or not row["n"]:
        return ""
    count = f"{row['n']:,} {'query' if row['n'] == 1 else 'queries'}"
    has_counts = row["losses"] is not None and row["wins"] is not None
    if has_counts and not row["losses"] and not row["wins"]:
        return f"None of {count} changed by {row['metric']}."
    if row["delta"]:
        verb = "rose" if row["delta"] > 0 else "fell"
        change = f"on average {row['metric']} {verb} by {format_decimal(abs(row['delta']))}"
        if row["gain"] * row["delta"] < 0:  # less is better
            change += f" ({'worse' if row['gain'] < 0 else 'better'})"
    else:
        change = f"the mean of {row['metric']} is the same"
    if not has_counts:
        return f"{change[0].upper()}{change[1:]} over {count}{ending}."
    return f"{row['losses']:,} of {count} got worse and {row['wins']:,} better; {change}{ending}."


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
    counts = (
        f"of {len(rows)} systems {better} {'is' if better == 1 else 'are'} significantly better "
        f"than {base}, {len(significant_rows) - better} worse; {len(rows) - len(significant_rows)} "
        f"without a significant difference (p {format_correction(result.only.correction)})"
    )
    if not defined:
        return f"{name}: {counts}."
    gain, row, best = max(defined, key=lambda best: best[0])
    if gain <= 0:
        return f"No system has a better mean {name} than {base}; {counts}."
    figures = f"{format_decimal(row['candidate'])}, {format_signed(row['delta'])} from {base}"
    return f"{best} has the best mean {name} ({figures}); {counts}."
