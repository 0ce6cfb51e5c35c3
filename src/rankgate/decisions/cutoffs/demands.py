"""Demands on the questions of a system: the threshold that keeps one, and checks of a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM

if TYPE_CHECKING:
    from rankgate.measurement.stats.score_thresholds import Demand, Keep, QuestionScores, Subject

DEMANDS = Columns(
    "One row per system, slice, subject of a demand and threshold.",
    SYSTEM,
    Column("slice", pl.String, "TAG=VALUE of the questions; null: all questions", empty="all"),
    Column(
        "subject", pl.String, "silent: questions without an answer that return nothing; kept: documents kept"
    ),
    Column("floor", pl.Float64, "the smallest share that is demanded", ".1%", header="at\nleast"),
    Column("n", pl.Int64, "the number of questions", unit="questions"),
    Column("threshold", pl.Float64, "the threshold; null where labels are missing", str, empty="–"),
    Column("share", pl.Float64, "the share in these questions at the threshold", ".1%"),
    Column("low", pl.Float64, "the lower bound of the share in all questions", ".1%"),
    Column("high", pl.Float64, "the upper bound of the share in all questions", ".1%"),
    Column("confidence", pl.Float64, "the confidence level of each bound", ".1%"),
    Column("status", pl.String, "chosen, labels missing; of a stated threshold: pass, fail, inconclusive"),
    Column(
        "missing", pl.Int64, "about how many more questions are needed; null: none, or no number would help"
    ),
)

KEPT_TEXTS: Mapping[Keep, str] = {
    "share": "of the relevant documents of a question are kept, on average",
    "one": "of the questions keep one of their relevant documents or more",
    "all": "of the questions keep all of their relevant documents",
}


def demand_text(subject: str, floor: float, keep: Keep) -> str:
    """A demand in words.

    >>> demand_text("silent", 0.95, "share")
    'at least 95% of the questions without an answer return nothing'
    """
    text = "of the questions without an answer return nothing" if subject == "silent" else KEPT_TEXTS[keep]
    return f"at least {round(100 * floor, 10):g}% {text}"


def choose_threshold(subject: Subject, demand: Demand, scores: QuestionScores) -> dict[str, Any]:
    """The row of `DEMANDS` of the threshold that keeps a demand, with the labels that are missing."""
    threshold = scores.choose(subject, demand)
    if threshold is not None:
        return check_threshold(subject, demand, scores, threshold) | {"status": "chosen"}
    n = len(scores.shares(subject, 0.0))
    missing = (demand.missing(np.ones(0)) or 0) - n
    return _head(subject, demand, n) | {"status": "labels missing", "missing": missing}


def check_threshold(
    subject: Subject, demand: Demand, scores: QuestionScores, threshold: float, tests: int = 1
) -> dict[str, Any]:
    """The row of `DEMANDS` of a threshold that was stated before these questions were seen.

    Args:
        subject: silent or kept.
        demand: the demand.
        scores: the scores of questions.
        threshold: the threshold.
        tests: the number of tests that share the error of a fail.
    """
    shares = scores.shares(subject, threshold)
    row = _head(subject, demand, len(shares)) | {"threshold": threshold, "status": "inconclusive"}
    if len(shares):
        row["low"], row["high"] = demand.bounds(shares)
        row["share"] = float(shares.mean())
    if demand.is_kept(shares):
        return row | {"status": "pass"}
    if len(shares) and replace(demand, alpha=demand.alpha / tests).bounds(shares)[1] < demand.floor:
        return row | {"status": "fail"}
    return row | {"missing": demand.missing(shares)}


def _head(subject: Subject, demand: Demand, n: int) -> dict[str, Any]:
    return {"subject": subject, "floor": demand.floor, "n": n, "confidence": 1 - demand.alpha}
