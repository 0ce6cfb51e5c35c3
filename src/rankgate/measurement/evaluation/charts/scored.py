"""Rows of an evaluation as charts take them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.words import count_queries, shorten_names

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores


def query_count(result: Scores) -> str:
    """The number of queries that the means are over."""
    return count_queries(*(run.counts.queries for run in result.runs))


def rows_by_number(result: Scores) -> list[dict[str, Any]]:
    """The means of metrics with a number behind @, by run, metric and that number."""
    names = shorten_names([run.run for run in result.runs])
    rows: list[dict[str, Any]] = []
    for name, run in zip(names, result.runs, strict=True):
        points = [
            (float(level), stem_of(label), float(run.means[label]))
            for label in result.metrics
            if (level := parse_number(label)) is not None and not math.isnan(run.means[label])
        ]
        rows += [
            {"run": name, "metric": stem, "at": level, "value": value}
            for level, stem, value in sorted(points, key=lambda point: point[0])
        ]
    return rows


def best_first(rows: list[dict[str, Any]], result: Scores) -> list[dict[str, Any]]:
    """The rows of `rows_by_number`, the runs with the best mean of the first metric first."""
    if not rows:
        return rows
    stem = rows[0]["metric"]
    sign = -1 if stem in map(stem_of, result.lower) else 1
    signed_means: dict[str, list[float]] = {}
    for row in rows:
        run_means = signed_means.setdefault(row["run"], [])
        if row["metric"] == stem:
            run_means.append(sign * row["value"])
    merit = {
        name: sum(run_means) / len(run_means) if run_means else -math.inf
        for name, run_means in signed_means.items()
    }
    return sorted(rows, key=lambda row: -merit[row["run"]])


def parse_number(label: str) -> float | None:
    """Parse the number after @ or, in trec_eval's names, after the dot.

    >>> parse_number("nDCG@10"), parse_number("P.5"), parse_number("IPrec@0.1"), parse_number("AP")
    (10.0, 5.0, 0.1, None)
    """
    _, mark, tail = label.rpartition("@") if "@" in label else label.partition(".")
    try:
        return float(tail) if mark else None
    except ValueError:
        return None


def stem_of(label: str) -> str:
    """The metric without the part after @ or the dot.

    >>> stem_of("nDCG(gain='exp')@10"), stem_of("P.5")
    ("nDCG(gain='exp')", 'P')
    """
    return label.rpartition("@")[0] if "@" in label else label.partition(".")[0]
