"""Documents of results about users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import (
    Chart,
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun
from rankgate.online.indicators.kpi_table import format_kpi
from rankgate.online.users.personalization_impact import ALL, LISTS

if TYPE_CHECKING:
    from rankgate.online.users.intent_diversity import IntentDiversity
    from rankgate.online.users.personalization_impact import PersonalizationImpact
    from rankgate.online.users.satisfaction import Satisfaction


_CHARTS = "rankgate.online.charts.log_charts"
_MAX_ROWS = 20
_TEXT_COLUMNS = frozenset({0})


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def _format_difference(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _format_p_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if value >= 1e-4 else "<0.0001"


def _rows(table: pl.DataFrame) -> PlainRows:
    return PlainRows(tuple(table.columns), list(table.iter_rows()))


def intents(result: IntentDiversity) -> Document:
    """The queries whose users click on the most different documents, and the mean."""
    rows = tuple(
        (
            make_printable(row["query"]),
            f"{row['users']:,}",
            f"{row['documents']:,}",
            f"{row['entropy']:.3f}",
            f"{row['corrected']:.3f}",
            _format_share(row["distance"]),
        )
        for row in result.queries.head(_MAX_ROWS).iter_rows(named=True)
    )
    header = ("query", "users", "documents", "entropy\nbits", "corrected\nbits", "distance")
    count = len(result.queries)
    title = "No query has clicks of enough users"
    if count:
        title = f"Clicks of two users are on different documents in {_format_share(result.distance)}"
        title += f" of cases, over {count_noun(count, 'query')}"
    lead: tuple[str, ...] = ()
    if result.low is not None:
        interval_text = f"{_format_share(result.low)} to {_format_share(result.high)}"
        lead = (f"95 % interval {interval_text}; click entropy {result.entropy:.3f} bits.",)
    charts = [Chart(f"{_CHARTS}:intents", result)] if count else []
    return made(
        title,
        *charts,
        Table("most diverse queries", Grid(header, rows, _TEXT_COLUMNS)),
        Warnings.from_notices(result.notices),
        "Distance is the probability that a click of one user and a click of another are on different "
        "documents. Entropy is of the shares of users' clicks on documents; corrected is by Miller and "
        "Madow, as few users give too low a value.",
        lead=lead,
        rows=_rows(result.queries),
    )


def personalization(result: PersonalizationImpact) -> Document:
    """Lifts over the control for all users, then by group, and differences of lists."""
    return made(
        _impact_title(result),
        *([Chart(f"{_CHARTS}:personalization", result)] if len(result.lifts) else []),
        Table("all users", _lifts(result.lifts.filter(pl.col("group") == ALL), "variant")),
        Table("by group of users", _lifts(result.lifts.filter(pl.col("group") != ALL), "group")),
        Table("whether groups differ", _interactions(result)),
        Table(f"lists: first {count_noun(result.depth, 'document')} that differ", LISTS.grid(result.lists)),
        Warnings.from_notices(result.notices),
        "Intervals are 95 %, with users as units (delta method). p-values of groups are corrected by "
        "Benjamini and Hochberg; whether groups differ is Cochran's Q: without it a group that seems to gain "
        "most may do so by chance.",
        rows=_rows(result.lifts),
    )


def _impact_title(result: PersonalizationImpact) -> str:
    all_users = result.lifts.filter(pl.col("group") == ALL, pl.col("lift").is_not_null())
    if all_users.is_empty():
        return f"No KPI to compare with {make_printable(result.control)}"
    row = all_users.row(0, named=True)
    sentence = f"{row['variant']} against {result.control}: {row['kpi']} {row['lift']:+.2%}"
    return f"{make_printable(sentence)} of the control's"


def _lifts(table: pl.DataFrame, by: str) -> Grid:
    rows = tuple(
        (
            row["kpi"],
            make_printable(row["variant"]),
            *([row["group"]] if by == "group" else []),
            f"{row['users_control']:,} / {row['users']:,}",
            format_kpi(row["kpi"], row["control"]),
            format_kpi(row["kpi"], row["value"]),
            _format_difference(row["delta"]),
            f"{_format_difference(row['low'])} to {_format_difference(row['high'])}",
            "–" if row["lift"] is None else f"{row['lift']:+.2%}",
            _format_p_value(row["p_value"]),
        )
        for row in table.iter_rows(named=True)
    )
    keys = ("KPI", "variant", *(["group"] if by == "group" else []))
    header = (*keys, "users\ncontrol / variant", "control", "value", "delta", "interval", "lift", "p")
    return Grid(header, rows, frozenset(range(len(keys))), keys=len(keys))


def _interactions(result: PersonalizationImpact) -> Grid:
    rows = tuple(
        (
            row["kpi"],
            make_printable(row["variant"]),
            f"{row['groups']}",
            f"{row['statistic']:.3f}",
            _format_p_value(row["p_value"]),
        )
        for row in result.interactions.iter_rows(named=True)
    )
    return Grid(("KPI", "variant", "groups", "Q", "p"), rows, frozenset({0, 1}))


def weeks(result: Satisfaction) -> Document:
    """KPIs by week, user retention, values by age, and correlations with ranking metrics."""
    charts = [Chart(f"{_CHARTS}:weeks", result)] if len(result.weeks) else []
    if len(result.trends):
        charts.append(Chart(f"{_CHARTS}:novelty", result))
    if len(result.cohorts):
        charts.append(Chart(f"{_CHARTS}:retention", result))
    count = result.weeks["week"].n_unique()
    users = int(result.cohorts.filter(pl.col("age") == 0)["users"].sum())
    return made(
        f"{count_noun(count, 'week')}, {count_noun(users, 'user')} with a complete first week",
        *charts,
        Table("by week", _by_week(result)),
        Table("users that come back, by the week of their first event", _cohorts(result)),
        Table("change with each week since a user's first event", _trends(result)),
        Table("correlation with ranking metrics", _correlations(result)),
        Warnings.from_notices(result.notices),
        "Intervals are 95 %, with users as units. A trend below 0 is a novelty that wears off, or users of "
        "other kinds who stay: a difference of two variants has the same users in both.",
        rows=_rows(result.weeks),
    )


def _by_week(result: Satisfaction) -> Grid:
    names = result.weeks["kpi"].unique(maintain_order=True).to_list()
    values = {(row["week"], row["kpi"]): row for row in result.weeks.iter_rows(named=True)}
    rows = []
    for week in sorted(result.weeks["week"].unique()):
        cells = [values.get((week, name)) for name in names]
        users = max(cell["users"] for cell in cells if cell)
        pairs = zip(names, cells, strict=True)
        cell_texts = [format_kpi(name, cell["value"] if cell else None) for name, cell in pairs]
        rows.append((week, f"{users:,}", *cell_texts))
    return Grid(("week of", "users", *(name.replace("_", " ") for name in names)), tuple(rows))


def _cohorts(result: Satisfaction) -> Grid:
    ages = sorted(result.cohorts["age"].unique())
    values = {(row["cohort"], row["age"]): row for row in result.cohorts.iter_rows(named=True)}
    rows = []
    for cohort in sorted(result.cohorts["cohort"].unique()):
        cells = [values.get((cohort, age)) for age in ages]
        users = next(cell["users"] for cell in cells if cell)
        rows.append(
            (cohort, f"{users:,}", *(_format_share(cell["retention"] if cell else None) for cell in cells))
        )
    return Grid(("week of", "users", *(f"after {age}" for age in ages)), tuple(rows))


def _trends(result: Satisfaction) -> Grid:
    rows = tuple(
        (
            row["kpi"],
            make_printable(row["variant"]) or "all",
            f"{row['weeks']}",
            _format_difference(row["slope"]),
            f"{_format_difference(row['low'])} to {_format_difference(row['high'])}",
            _format_p_value(row["p_value"]),
        )
        for row in result.trends.iter_rows(named=True)
    )
    header = ("KPI", "variant", "weeks", "change\na week", "interval", "p")
    return Grid(header, rows, frozenset({0, 1}))


def _correlations(result: Satisfaction) -> Grid:
    rows = tuple(
        (
            row["per"],
            row["metric"],
            row["kpi"],
            f"{row['n']:,}",
            "–" if row["spearman"] is None else f"{row['spearman']:+.3f}",
            "–" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}",
            _format_p_value(row["p_value"]),
        )
        for row in result.correlations.iter_rows(named=True)
    )
    return Grid(("per", "metric", "KPI", "n", "Spearman", "interval", "p"), rows, frozenset({0, 1, 2}))
