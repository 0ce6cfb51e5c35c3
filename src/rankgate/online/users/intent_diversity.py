"""Intent diversity: the disagreement about documents of users who type the same query.

The result of ``intents`` comes first.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View
from rankgate.online.events.diagnosis import diagnose_events, spoiled_notice
from rankgate.online.events.events import Events, EventsLike

QUERIES = Columns(
    "One row per query, the most diverse first.",
    Column("query", pl.String, "the words of the query"),
    Column("users", pl.Int64, "users that clicked", unit="users"),
    Column("clicks", pl.Int64, "clicks; a document counts once a user", unit="clicks"),
    Column("documents", pl.Int64, "documents that were clicked", unit="documents"),
    Column(
        "entropy",
        pl.Float64,
        "−Σ p log2 p, where p is the mean over users of the share of their clicks on a document",
        ".3f",
        "bits",
        "entropy\nbits",
    ),
    Column(
        "corrected",
        pl.Float64,
        "entropy plus (documents − 1) / (2 users ln 2), as few users see too little of it (Miller and Madow "
        "1955)",
        ".3f",
        "bits",
        "corrected\nbits",
    ),
    Column(
        "distance",
        pl.Float64,
        "the probability that a click of one user and a click of another are on different documents",
        ".2%",
    ),
)


_MOST_POINTS = 400  # queries of a picture


@dataclass(frozen=True)
class IntentDiversity(Result):
    """Diversity of the intents of queries, from clicks of different users.

    Attributes:
        queries: the columns of `QUERIES`.
        min_users: how many users must have clicked.
        seen: queries with clicks of a known user.
        entropy, distance: means over queries, each with the same weight; None without queries.
        low, high: of ``distance``, the 95 % interval over queries (Student's t).
        faults: codes of what the log doctor found that spoils clicks.
    """

    kind = "intent_diversity"
    label = "Diversity of intents"
    charts: ClassVar = {
        "intents": ChartView(
            "Diversity of intents",
            "Each point is a query. At the top, users who type the same words want different documents.",
            "{queries:n query}",
            (
                Panel(
                    lambda result: result.queries.sort("users", descending=True).head(_MOST_POINTS),
                    Axis("users", "users that clicked", "log"),
                    Axis("distance", "clicks of two users on different documents", form=".0%", domain=(0, 1)),
                    (Mark("point", "distance", style={"opacity": 0.7}),),
                    width=460,
                    height=260,
                    tooltip=("query", "entropy"),
                ),
            ),
            "online",
        )
    }
    order = 65
    SCHEMAS: ClassVar = {"queries": QUERIES}
    lead = (Sentence("95 % interval {low:.2%} to {high:.2%}; click entropy {entropy:.3f} bits.", "low"),)
    layout = (
        ShownChart("intents", "queries"),
        View(
            "queries",
            "most diverse queries",
            ("query", "users", "documents", "entropy", "corrected", "distance"),
            first=20,
        ),
        NOTICES,
        Sentence(
            "Distance is the probability that a click of one user and a click of another are on different "
            "documents. Entropy is of the shares of users' clicks on documents; corrected is by Miller and "
            "Madow, as few users give too low a value."
        ),
    )
    notice_texts = (
        spoiled_notice("spoiled-clicks", "clicks or users"),
        NoticeText(
            "few-users",
            "{excluded:,} of {seen:n query} {excluded:v has/have} clicks of fewer than {min_users:n user} "
            "and {excluded:v is/are} left out",
            "excluded",
        ),
    )
    headline_text = (
        Sentence("No query has clicks of enough users", lambda result: result.queries.is_empty()),
        Sentence(
            "Clicks of two users are on different documents in {distance:.2%} of cases, over {queries:n "
            "query}",
            "queries",
        ),
    )

    queries: pl.DataFrame
    min_users: int
    seen: int
    entropy: float | None
    distance: float | None
    low: float | None
    high: float | None
    faults: tuple[str, ...] = ()

    @property
    def excluded(self) -> int:
        """The number of queries of too few users."""
        return self.seen - len(self.queries)


_CLICKS = (
    'WITH texts AS (SELECT query_event_id, max(query) AS query, max(coalesce("user", session)) AS person '
    "FROM events WHERE query_event_id IS NOT NULL GROUP BY 1) SELECT DISTINCT t.query, "
    'coalesce(e."user", t.person, e.session) AS person, e.doc_id FROM events e JOIN texts t USING '
    "(query_event_id) WHERE e.kind = 'click' AND e.doc_id IS NOT NULL AND t.query IS NOT NULL AND "
    'coalesce(e."user", t.person, e.session) IS NOT NULL'
)
_PARTS = "SELECT query, person, doc_id, 1.0 / count(*) OVER (PARTITION BY query, person) AS part FROM clicked"
# the dot product of two users' parts, summed over pairs: (|sum|^2 - sum of |.|^2)
_QUERIES = (
    "SELECT query, users, clicks, documents, abs(exact_sum(p * log2(p))) AS entropy, abs(exact_sum(p * "
    "log2(p))) + (documents - 1) / (2 * users * ln(2)) AS corrected, 1 - (exact_sum(whole * whole) - "
    "exact_sum(squares)) / (users * (users - 1)) AS distance FROM (SELECT query, doc_id, exact_sum(part) AS "
    "whole, exact_sum(part * part) AS squares, exact_sum(part) / max(u.users) AS p, max(u.users) AS users, "
    "max(u.clicks) AS clicks, max(u.documents) AS documents FROM parts JOIN (SELECT query, count(DISTINCT "
    "person) AS users, count(*) AS clicks, count(DISTINCT doc_id) AS documents FROM parts GROUP BY 1) u "
    "USING (query) WHERE u.users >= $1 GROUP BY 1, 2) GROUP BY query, users, clicks, documents ORDER BY "
    "distance DESC, users DESC, query"
)


def intents(events: EventsLike, *, min_users: Annotated[int, Range(2)] = 5) -> IntentDiversity:
    """Measure how unlike the clicks of different users of a query are.

    A query whose users click on different documents has several intents, or users who prefer
    different things: there a personal list can help (Teevan, Dumais and Liebling, SIGIR 2008;
    Teevan, Dumais and Horvitz, TOCHI 2010).

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        min_users: the lowest number of users who clicked for a query to count; sessions count as
            users if users are unknown.

    Raises:
        InputError: a log that cannot be read.
        MissingExtraError: DuckDB is not installed.
    """
    with Events.of(events).open() as log:
        base = log.base
        faults = diagnose_events(base, log.manifest).blocking(("clicks", "users"))
        base.run(f"CREATE TEMP TABLE clicked AS {_CLICKS}")
        base.run(f"CREATE TEMP VIEW parts AS {_PARTS}")
        clicked_queries = int(base.first_value("SELECT count(DISTINCT query) FROM clicked") or 0)
        rows = base.rows(_QUERIES, (min_users,)).cast(QUERIES)  # type: ignore[arg-type]
    mean, low, high = _interval(rows["distance"])
    entropy = rows["corrected"].mean()
    return IntentDiversity(
        rows,
        min_users,
        clicked_queries,
        None if entropy is None else float(entropy),  # type: ignore[arg-type]
        mean,
        low,
        high,
        tuple(fault.code for fault in faults),
    )


def _interval(values: pl.Series) -> tuple[float | None, float | None, float | None]:
    """The mean over queries with its interval; None for too few queries."""
    from rankgate.measurement.stats.special_functions import stdtrit

    n = len(values)
    if not n:
        return None, None, None
    mean = float(values.mean())  # type: ignore[arg-type]
    if n == 1:
        return mean, None, None
    half = float(stdtrit(n - 1, 0.975)) * float(values.std()) / math.sqrt(n)  # type: ignore[arg-type]
    return mean, max(mean - half, 0.0), min(mean + half, 1.0)
