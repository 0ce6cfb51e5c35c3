"""Render three systems or more: pairwise tests, orders, and reliability of the queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.figures import (
    format_interval,
    format_number,
    format_p_value,
    format_query_count,
    format_signed,
)
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.decisions.comparison.systems import ManySystems

_PAIR = ("metric", "first", "second", "delta")


def many_grids(result: ManySystems, *, pairs: bool = True) -> list[tuple[str, Grid]]:
    """Tables of three systems or more.

    Args:
        result: the analysis.
        pairs: with every pair of systems, and the means one by one.
    """
    level = f"{result.level:.0%} interval"
    pair_rows = [
        (
            row["metric"],
            row["first"],
            row["second"],
            format_signed(row["delta"]),
            format_interval(row["low"], row["high"]),
            format_p_value(row["p_tukey"]),
            format_p_value(row["p_randomised"]),
            format_p_value(row.get("p_nemenyi")),
        )
        for row in result.pairs.iter_rows(named=True)
    ]
    reliability_rows = [
        (
            row["metric"],
            str(row["queries"]),
            (
                f"{format_number(row['e_rho2'], 3)} "
                f"{format_interval(row['e_rho2_low'], row['e_rho2_high'], 3)}"
            ),
            f"{format_number(row['phi'], 3)} {format_interval(row['phi_low'], row['phi_high'], 3)}",
            format_query_count(row["needed"]),
            format_number(row["tau"], 2),
            format_number(row.get("split_half"), 2),
        )
        for row in result.reliability.iter_rows(named=True)
    ]
    means = [
        (
            row["metric"],
            row["system"],
            format_decimal(row["mean"]),
            str(row["n"]),
            format_number(row.get("mean_rank"), 2),
        )
        for row in result.means.iter_rows(named=True)
    ]
    anova = [
        (row["metric"], format_number(row["f"], 2), format_p_value(row["p_value"]))
        for row in result.anova.iter_rows(named=True)
    ]
    by_ranks = [
        (
            row["metric"],
            format_number(row["statistic"], 2),
            format_p_value(row["p_value"]),
            format_number(row["f"], 2),
            format_p_value(row["f_p_value"]),
            format_number(row["critical"], 2),
        )
        for row in result.friedman.iter_rows(named=True)
    ]
    orders = [
        (
            row["first"],
            row["second"],
            (
                f"{format_number(row['tau'], 2)} "
                f"{format_interval(row.get('tau_low'), row.get('tau_high'), 2)}"
            ),
            _rho(row),
            format_number(row["tau_ap_b"], 2),
            format_number(row["rbo"], 2),
        )
        for row in result.orderings.iter_rows(named=True)
    ]
    tables = [
        (
            "all systems, best first",
            Grid(
                ("metric", "system", "mean", "queries", "mean\nrank"),
                tuple(means) if pairs else (),
                frozenset({0, 1}),
            ),
        ),
        ("do systems differ at all? (two-way ANOVA)", Grid(("metric", "F", "p"), tuple(anova))),
        (
            "do their ranks within queries? (Friedman; Iman and Davenport's F)",
            Grid(
                ("metric", "χ²", "p", "F", "p (F)", "ranks differ\nfrom (Nemenyi)"), tuple(by_ranks)
            ),
        ),
        (
            "every pair, first minus second (Tukey's HSD, paired; randomised; Nemenyi by ranks)",
            Grid(
                (*_PAIR, f"{level}\n(Tukey)", "p\n(Tukey)", "p\n(random.)", "p\n(Nemenyi)"),
                tuple(pair_rows) if pairs else (),
                frozenset({0, 1, 2}),
                keys=3,
            ),
        ),
        (
            f"how much metrics agree on the order of systems ({result.level:.0%} of query samples)",
            Grid(
                ("metric", "metric ", "Kendall's tau", "Spearman's rho", "tau AP,b", "RBO (.9)"),
                tuple(orders),
                frozenset({0, 1}),
            ),
        ),
        (
            f"what these queries can show (generalizability theory, {level}s)",
            Grid(
                (
                    "metric",
                    "queries",
                    "Eρ², order",
                    "Φ, values",
                    "queries\nfor Eρ² .95",
                    "tau with other\nqueries",
                    "split\nhalf",
                ),
                tuple(reliability_rows),
            ),
        ),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _rho(row: Mapping[str, Any]) -> str:
    interval_text = format_interval(row.get("spearman_low"), row.get("spearman_high"), 2)
    return f"{format_number(row.get('spearman'), 2)} {interval_text}"
