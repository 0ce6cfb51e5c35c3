"""Demands on the questions of a system: the threshold that keeps one, and checks of a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.number_formats import UNDEFINED

if TYPE_CHECKING:
    from rankgate.measurement.stats.score_thresholds import Demand, QuestionScores, Subject

Keep = Literal["share", "one", "all"]
"""What is kept of a question: a relevant document drawn at random, so that the share of questions is
the mean share of documents; one of them at least; or all."""


def format_threshold(value: float | None) -> str:
    """All digits of a threshold, as a rounded one may keep no demand."""
    return UNDEFINED if value is None else str(value)


DEMANDS = Columns(
    "One row per system, slice, subject of a demand and threshold.",
    SYSTEM,
    Column("slice", pl.String, "TAG=VALUE of the questions; null: all questions", empty="all"),
    Column(
        "subject", pl.String, "silent: questions without an answer that return nothing; kept: documents kept"
    ),
    Column("floor", pl.Float64, "the smallest share that is demanded", ".1%", header="at\nleast"),
    Column("n", pl.Int64, "the number of questions", unit="questions"),
    Column("threshold", pl.Float64, "the threshold; null where labels are missing", format_threshold),
    Column("share", pl.Float64, "the share in these questions at the threshold", ".1%"),
    Column("low", pl.Float64, "the lower bound of the share in all questions", ".1%"),
    Column("high", pl.Float64, "the upper bound of the share in all questions", ".1%"),
    Column("confidence", pl.Float64, "the confidence level of each bound", ".1%"),
    Column("status", pl.String, "chosen, labels missing; of a stated threshold: pass, fail, inconclusive"),
    Column(
        "missing", pl.Int64, "about how many more questions are needed; null: none, or no number would help"
    ),
)

_TEXTS: Mapping[str, str] = {
    "silent": "of the questions without an answer return nothing",
    "share": "of the relevant documents of a question are kept, on average",
    "one": "of the questions with an answer keep a relevant document",
    "all": "of the questions with an answer keep all relevant documents",
}


def demand_text(subject: str, floor: float, keep: Keep) -> str:
    """A demand in words.

    >>> demand_text("silent", 0.95, "share")
    'at least 95% of the questions without an answer return nothing'
    """
    return f"at least {round(100 * floor, 10):g}% {_TEXTS[keep if subject == 'kept' else subject]}"


def choose_threshold(subject: Subject, demand: Demand, scores: QuestionScores) -> dict[str, Any]:
    """The row of `DEMANDS` of the threshold that keeps a demand, or with the labels that are missing."""
    threshold = scores.choose(subject, demand)
    row = check_threshold(subject, demand, scores, threshold)
    return row | {"status": "labels missing" if threshold is None else "chosen"}


def check_threshold(
    subject: Subject, demand: Demand, scores: QuestionScores, threshold: float | None, tests: int = 1
) -> dict[str, Any]:
    """The row of `DEMANDS` of a threshold that was stated before these questions were seen.

    Args:
        subject: silent or kept.
        demand: the demand.
        scores: the scores of questions.
        threshold: the threshold; None where there are too few questions for one.
        tests: the number of tests that share the error of a fail.
    """
    n = len(scores.values(subject))
    losses = 0 if threshold is None else scores.losses(subject, threshold)
    row: dict[str, Any] = {
        "subject": subject,
        "floor": demand.floor,
        "n": n,
        "threshold": threshold,
        "confidence": 1 - demand.alpha,
    }
    if n and threshold is not None:
        row["low"], row["high"] = demand.bounds(losses, n)
        row["share"] = 1 - losses / n
    if demand.is_kept(losses, n):
        return row | {"status": "pass"}
    if n and replace(demand, alpha=demand.alpha / tests).bounds(losses, n)[1] < demand.floor:
        return row | {"status": "fail"}
    return row | {"status": "inconclusive", "missing": demand.missing(losses, n)}
