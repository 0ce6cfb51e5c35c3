"""Judgments from clicks as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.online.clicks.catalogue import MODELS

if TYPE_CHECKING:
    from rankgate.online.clicks.click_judgments import ClickJudgments

_RANKS = (1, 2, 3, 5, 10)
_MAX_ROWS = 20


def document(result: ClickJudgments) -> Document:
    """Models by held-out likelihood, grades, and the documents with the most evidence."""
    count = len(result.judged)
    columns = tuple(result.judged.columns)
    blocks = [Table("judgments with the most evidence", _judgments(result))]
    if len(result.curves):
        blocks.append(Table("shared parameters", _curves(result)))
    title = (
        f"{count:,} judgments of {result.judged['query_id'].n_unique():,} queries from "
        f"{result.searches:,} searches, by {result.model}"
    )
    if result.status:
        title = f"No judgments: {result.searches:,} searches cannot teach {result.model}"
    return made(
        title,
        Table("models on held-out searches", _models(result)),
        *([Chart("rankgate.online.clicks.charts:models", result)] if len(result.models) else []),
        *([Chart("rankgate.online.clicks.charts:curves", result)] if _has_curve(result) else []),
        Table("grades", _grades(result)),
        *blocks,
        Warnings(tuple(notice.text for notice in result.notices)),
        _describe_rule(result),
        _describe_agreement(result),
        rows=PlainRows(columns, list(result.judged.iter_rows())),
    )


def _models(result: ClickJudgments) -> Grid:
    surprise = {
        (row["model"], row["rank"]): row["perplexity"]
        for row in result.by_rank.iter_rows(named=True)
    }
    ranks = [rank for rank in _RANKS if any(rank == measured_rank for _, measured_rank in surprise)]
    rows = []
    for row in result.models.iter_rows(named=True):
        cells = [surprise.get((row["model"], rank)) for rank in ranks]
        rows.append(
            (
                row["model"],
                f"{row['log_likelihood']:.4f}",
                f"{row['perplexity']:.4f}",
                *("–" if perplexity is None else f"{perplexity:.3f}" for perplexity in cells),
            )
        )
    header = ("model", "log-likelihood\na search", "perplexity", *(f"at\n{rank}" for rank in ranks))
    return Grid(header, tuple(rows))


def _grades(result: ClickJudgments) -> Grid:
    if result.made_by["rule"] == "value":
        return Grid(("grade", "judgments"), ())
    grade_counts = result.judged.group_by("grade").len().sort("grade")
    return Grid(
        ("grade", "judgments"),
        tuple((f"{grade:g}", f"{count:,}") for grade, count in grade_counts.iter_rows()),
    )


def _judgments(result: ClickJudgments) -> Grid:
    judgments = result.judged.sort(
        "examined", "query_id", "doc_id", descending=[True, False, False]
    )
    rows = tuple(
        (
            make_printable(row["query_id"]),
            make_printable(row["doc_id"]),
            f"{row['grade']:g}",
            f"{row['clicks']:,}/{row['impressions']:,}",
            f"{row['examined']:,.0f}",
            f"{row['value']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
        )
        for row in judgments.head(_MAX_ROWS).iter_rows(named=True)
    )
    header = ("query", "document", "grade", "clicks/shown", "looked at", "value", "interval")
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _curves(result: ClickJudgments) -> Grid:
    rows = tuple(
        (
            row["name"],
            f"{row['place']}",
            f"{row['value']:.3f}",
            "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
        )
        for row in result.curves.iter_rows(named=True)
    )
    return Grid(("parameter", "rank", "value", "interval"), rows)


def _has_curve(result: ClickJudgments) -> bool:
    """True if some parameter is a curve over ranks."""
    return bool(len(result.curves)) and result.curves["place"].max() != 1


def _describe_rule(result: ClickJudgments) -> str:
    rule, cuts = result.made_by["rule"], result.made_by.get("cuts")
    measure = {
        "relative": "the value divided by the highest of the query",
        "cuts": "the value",
        "quantiles": "the share of the query's documents with a lower value",
        "value": "the value itself",
    }[rule]
    cuts_text = (
        f", with a grade from each of {', '.join(f'{cut:g}' for cut in cuts)}" if cuts else ""
    )
    title = MODELS[result.model].formula if result.model in MODELS else "as OpenSearch computes it"
    bands = ""
    if result.curves["low"].is_not_null().any():
        bands = " Those of shared parameters are by a bootstrap over sessions."
    return (
        f"Grades are by {measure}{cuts_text}. Values are of {result.model}: {title}. Intervals are "
        f"95 % (Jeffreys) on the impressions that were looked at.{bands}"
    )


def _describe_agreement(result: ClickJudgments) -> str:
    agreement = result.agreement
    if not agreement:
        return ""
    if agreement["spearman"] is None:
        return f"Too few pairs ({agreement['pairs']:.0f}) have judgments of people to compare with."
    return (
        f"On the {agreement['pairs']:,.0f} pairs that people judged: "
        f"Spearman {agreement['spearman']:.3f}, "
        f"Kendall {agreement['kendall']:.3f}."
    )
