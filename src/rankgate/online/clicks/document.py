"""Judgments from clicks as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.online.clicks.catalogue import MODELS

if TYPE_CHECKING:
    from rankgate.online.clicks.click_judgments import ClickJudgments

_RANKS = (1, 2, 3, 5, 10)
_SHOWN = 20


def document(result: ClickJudgments) -> Document:
    """Models by held-out likelihood, grades, and the documents with the most evidence."""
    count = len(result.judged)
    head = tuple(result.judged.columns)
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
        *([Chart("rankgate.online.clicks.charts:curves", result)] if _long(result) else []),
        Table("grades", _grades(result)),
        *blocks,
        Warnings(tuple(each.text for each in result.notices)),
        _rule(result),
        _agreement(result),
        rows=PlainRows(head, list(result.judged.iter_rows())),
    )


def _models(result: ClickJudgments) -> Grid:
    surprise = {(row["model"], row["rank"]): row["perplexity"]
                for row in result.by_rank.iter_rows(named=True)}  # fmt: skip
    ranks = [rank for rank in _RANKS if any(rank == known for _, known in surprise)]
    rows = []
    for row in result.models.iter_rows(named=True):
        cells = [surprise.get((row["model"], rank)) for rank in ranks]
        rows.append(
            (row["model"], f"{row['log_likelihood']:.4f}", f"{row['perplexity']:.4f}",
             *("–" if each is None else f"{each:.3f}" for each in cells))
        )  # fmt: skip
    head = ("model", "log-likelihood\na search", "perplexity", *(f"at\n{rank}" for rank in ranks))
    return Grid(head, tuple(rows))


def _grades(result: ClickJudgments) -> Grid:
    if result.made_by["rule"] == "value":
        return Grid(("grade", "judgments"), ())
    counted = result.judged.group_by("grade").len().sort("grade")
    return Grid(
        ("grade", "judgments"),
        tuple((f"{grade:g}", f"{count:,}") for grade, count in counted.iter_rows()),
    )


def _judgments(result: ClickJudgments) -> Grid:
    chosen = result.judged.sort("examined", "query_id", "doc_id", descending=[True, False, False])
    rows = tuple(
        (printable(row["query_id"]), printable(row["doc_id"]), f"{row['grade']:g}",
         f"{row['clicks']:,}/{row['impressions']:,}", f"{row['examined']:,.0f}",
         f"{row['value']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}")
        for row in chosen.head(_SHOWN).iter_rows(named=True)
    )  # fmt: skip
    head = ("query", "document", "grade", "clicks/shown", "looked at", "value", "interval")
    return Grid(head, rows, frozenset({0, 1}), keys=2)


def _curves(result: ClickJudgments) -> Grid:
    rows = tuple(
        (row["name"], f"{row['place']}", f"{row['value']:.3f}",
         "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}")
        for row in result.curves.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("parameter", "rank", "value", "interval"), rows)


def _long(result: ClickJudgments) -> bool:
    """Whether some parameter is a curve."""
    return bool(len(result.curves)) and result.curves["place"].max() != 1


def _rule(result: ClickJudgments) -> str:
    rule, cuts = result.made_by["rule"], result.made_by.get("cuts")
    words = {
        "relative": "the value divided by the highest of the query",
        "cuts": "the value",
        "quantiles": "the share of the query's documents with a lower value",
        "value": "the value itself",
    }[rule]
    begin = f", with a grade from each of {', '.join(f'{cut:g}' for cut in cuts)}" if cuts else ""
    title = MODELS[result.model].formula if result.model in MODELS else "as OpenSearch computes it"
    bands = ""
    if result.curves["low"].is_not_null().any():
        bands = " Those of shared parameters are by a bootstrap over sessions."
    return (
        f"Grades are by {words}{begin}. Values are of {result.model}: {title}. Intervals are "
        f"95 % (Jeffreys) on the impressions that were looked at.{bands}"
    )


def _agreement(result: ClickJudgments) -> str:
    found = result.agreement
    if not found:
        return ""
    if found["spearman"] is None:
        return f"Too few pairs ({found['pairs']:.0f}) have judgments of people to compare with."
    return (
        f"On the {found['pairs']:,.0f} pairs that people judged: Spearman {found['spearman']:.3f}, "
        f"Kendall {found['kendall']:.3f}."
    )
