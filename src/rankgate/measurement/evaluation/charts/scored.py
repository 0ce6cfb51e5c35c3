"""Rows of an evaluation as charts take them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.words import queries, shorts

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.evaluation import Evaluation


def counted(result: Evaluation) -> str:
    """How many queries the means are over."""
    return queries(*(run.counts.queries for run in result.runs))


def rows_at(result: Evaluation) -> list[dict[str, Any]]:
    """The means of metrics with a number behind @, by run, metric and that number."""
    names = shorts([run.run for run in result.runs])
    rows: list[dict[str, Any]] = []
    for name, run in zip(names, result.runs, strict=True):
        found = [
            (float(at), stem_of(label), float(run.means[label]))
            for label in result.metrics
            if (at := number(label)) is not None and not math.isnan(run.means[label])
        ]
        rows += [
            {"run": name, "metric": stem, "at": at, "value": value}
            for at, stem, value in sorted(found, key=lambda each: each[0])
        ]
    return rows


def best_first(rows: list[dict[str, Any]], result: Evaluation) -> list[dict[str, Any]]:
    """The rows of `rows_at`, the runs with the best mean of the first metric first."""
    if not rows:
        return rows
    stem = rows[0]["metric"]
    sign = -1 if stem in map(stem_of, result.lower) else 1
    found: dict[str, list[float]] = {}
    for row in rows:
        own = found.setdefault(row["run"], [])
        if row["metric"] == stem:
            own.append(sign * row["value"])
    merit = {name: sum(own) / len(own) if own else -math.inf for name, own in found.items()}
    return sorted(rows, key=lambda row: -merit[row["run"]])


def number(label: str) -> float | None:
    """What is after @ or, in trec_eval's names, behind the dot.

    >>> number("nDCG@10"), number("P.5"), number("IPrec@0.1"), number("AP")
    (10.0, 5.0, 0.1, None)
    """
    _, mark, tail = label.rpartition("@") if "@" in label else label.partition(".")
    try:
        return float(tail) if mark else None
    except ValueError:
        return None


def stem_of(label: str) -> str:
    """The metric without that.

    >>> stem_of("nDCG(gain='exp')@10"), stem_of("P.5")
    ("nDCG(gain='exp')", 'P')
    """
    return label.rpartition("@")[0] if "@" in label else label.partition(".")[0]
