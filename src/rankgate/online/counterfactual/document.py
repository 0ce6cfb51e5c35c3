"""A replay as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.online.clicks.catalogue import MODELS

if TYPE_CHECKING:
    from rankgate.online.counterfactual.counterfactual_replay import CounterfactualReplay

_DASH = "–"
_MAX_ROWS = 20
_MEASURE_LABELS = {"clicks": "clicks a search", "first": "click at rank 1", "dcg": "DCG"}


def document(result: CounterfactualReplay) -> Document:
    """The candidate against what was shown, what the log allows, ranks and queries."""
    chart = Chart("rankgate.online.counterfactual.charts:measures", result)
    charts = (chart,) if len(result.measures) else ()
    return made(
        _title(result),
        f"{result.searches:,} searches of {result.queries:,} queries; {result.support:.1%} of the "
        f"top {result.k} of {make_printable(result.candidate)} was ever shown for its query.",
        Table("against what was shown", _measures(result)),
        *charts,
        Table("what the log allows", _checks(result)),
        Table("ranks", _ranks(result)),
        Table("queries with the most searches", _queries(result), find=True),
        Warnings(tuple(notice.text for notice in result.notices)),
        _closing_note(result),
        status=result.verdict,
    )


def _title(result: CounterfactualReplay) -> str:
    name = make_printable(result.candidate)
    if result.verdict:
        return f"the log cannot say what users would do with {name}"
    row = result.measures.row(by_predicate=pl.col("measure") == "clicks", named=True)
    ends = f"({row['delta_low']:+.4f} to {row['delta_high']:+.4f})"
    if row["delta_low"] > 0:
        return f"{name} would earn more clicks: {row['delta']:+.4f} a search {ends}"
    if row["most_high"] < 0:
        return f"{name} would earn fewer clicks: {row['delta']:+.4f} a search {ends}"
    if row["delta_high"] < 0:
        return (
            f"fewer clicks on what was ever shown, {row['delta']:+.4f} a search {ends}; what never "
            f"was could make it {row['most_high']:+.4f}"
        )
    return f"no difference shown between {name} and the logged lists: {row['delta']:+.4f} {ends}"


def _measures(result: CounterfactualReplay) -> Grid:
    rows = tuple(
        (
            _MEASURE_LABELS[row["measure"]],
            f"{row['logged']:.4f}",
            f"{row['candidate']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            f"{row['delta']:+.4f}",
            f"{row['delta_low']:+.4f} to {row['delta_high']:+.4f}",
            f"{row['most']:.4f}",
        )
        for row in result.measures.iter_rows(named=True)
    )
    header = ("measure", "logged", "candidate", "interval", "delta", "interval ", "at\nmost")
    return Grid(header, rows)


def _checks(result: CounterfactualReplay) -> Grid:
    rows = tuple(
        (row["check"], f"{row['value']:,.4g}", f"{row['limit']:,.4g}", row["outcome"])
        for row in result.checks.iter_rows(named=True)
    )
    return Grid(("check", "value", "limit", "outcome"), rows, frozenset({0, 3}))


def _ranks(result: CounterfactualReplay) -> Grid:
    rows = tuple(
        (
            str(row["rank"]),
            _DASH if row["examination"] is None else f"{row['examination']:.3f}",
            _DASH if row["shown"] is None else f"{row['shown']:.1%}",
        )
        for row in result.by_rank.iter_rows(named=True)
    )
    return Grid(("rank", "looked\nat", "candidate's\never shown"), rows)


def _queries(result: CounterfactualReplay) -> Grid:
    rows = tuple(
        (
            make_printable(row["query_id"]),
            f"{row['searches']:,}",
            f"{row['shown']:.0%}",
            f"{row['logged']:.3f}",
            *(
                (_DASH, _DASH)
                if row["candidate"] is None
                else (f"{row['candidate']:.3f}", f"{row['delta']:+.3f}")
            ),
        )
        for row in result.by_query.head(_MAX_ROWS).iter_rows(named=True)
    )
    header = ("query", "searches", "ever\nshown", "clicks,\nlogged", "clicks,\ncandidate", "delta")
    return Grid(header, rows)


def _closing_note(result: CounterfactualReplay) -> str:
    if result.verdict:
        return (
            "No estimate is given: show such documents to a few users (interleaving, swaps of "
            "neighbours), or replay a candidate that is nearer to the logged lists."
        )
    method = (
        "How often each rank is looked at was given."
        if result.examination_given
        else f"Lists are valued by the click model {result.model}: {MODELS[result.model].formula}."
    )
    other_models = ", ".join(result.models[1:])
    note = (
        f" They reach over those of {other_models} too, which may predict clicks on other "
        "searches as well."
        if other_models
        else ""
    )
    return (
        f"{method} Documents that were never shown earn nothing (candidate), or as much as the "
        "query's best if it were looked at (at most). Ranks are looked at as documents shown at "
        f"several of them tell. Intervals are {result.level:.0%}, by the bootstrap over sessions, "
        f"for which the model is fitted anew.{note} A candidate that learned from these clicks "
        "looks better here than it is: replay it on later ones."
    )
