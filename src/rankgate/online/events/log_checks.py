"""All checks of the log doctor.

A check declares the faults that it finds in a log, and the figures that these make wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rankgate.core.declare import Declared, Registry
from rankgate.core.frozen import dataclass
from rankgate.online.events.event_table import SURVEY_PATTERN

Severity = Literal["block", "annotate"]
Subject = Literal[
    "clicks",
    "impressions",
    "ranks",
    "searches",
    "sessions",
    "users",
    "time",
    "click times",
    "revenue",
    "variants",
    "surveys",
    "states",
    "purchases",
    "carts",
]
"""The data that a KPI is made of and that a finding can spoil."""


@dataclass(frozen=True, kw_only=True)
class Check(Declared):
    """A fault that a log can have; ``name`` is its code and ``title`` describes the fault.

    Attributes:
        faults: SQL over ``events`` and ``searches`` whose rows are the faults; the column
            ``example`` locates the fault, ``n`` how many one row counts for, and ``size``
            puts the worst first.
        total: SQL of the number by which the number of faults is divided.
        spoils: the figures that the fault makes wrong, by their parts.
        blocks_from: the share of faults from which such figures are not given; None: figures are
            always given, with a warning.
        ignore_below: the share of faults below which nothing is reported.
        fix: the remedy.
    """

    faults: str
    total: str
    spoils: tuple[Subject, ...]
    blocks_from: float | None = 0.01
    ignore_below: float = 0.0
    fix: str = ""

    def severity(self, share: float) -> Severity:
        """The severity of faults of this share."""
        return "block" if self.blocks_from is not None and share >= self.blocks_from else "annotate"


_LOCATION = "source_file || ':' || source_line"
_COUNT_CLICKS = "SELECT count(*) FROM events WHERE kind = 'click'"
COUNT_EVENTS = "SELECT count(*) FROM events"
"""The number of events."""
_LATE_SEARCHES = (
    f"SELECT {_LOCATION} || ' (' || CAST(epoch(clicked_at - s.\"at\") AS BIGINT) || ' s)' AS example, "
    'epoch(s."at" - clicked_at) AS size FROM events s JOIN (SELECT query_event_id, min("at") AS clicked_at '
    "FROM events WHERE kind = 'click' GROUP BY 1) c USING (query_event_id) JOIN known_searches k USING "
    "(query_event_id) WHERE s.kind = 'search' AND s.\"at\" > clicked_at AND "
    'k."at" <= clicked_at'
)
_REPEATED_WITHIN = 2  # seconds: nobody reads a result and clicks on it again within them
_REPEATED_CLICKS = (
    f"SELECT {_LOCATION} || ' (' || CAST(round(1000 * seconds) AS BIGINT) || ' ms)' AS example FROM (SELECT "
    'source_file, source_line, epoch("at" - lag("at") OVER (PARTITION BY query_event_id, session, "user", '
    'doc_id, rank ORDER BY "at", source_line)) AS seconds FROM events WHERE kind = '
    "'click' AND \"at\" IS NOT NULL AND doc_id IS NOT NULL AND coalesce(query_event_id, session) IS NOT "
    f"NULL) WHERE seconds > 0 AND seconds < {_REPEATED_WITHIN}"
)
_WITH_SEARCH = "SELECT c.*, s.at AS searched_at FROM events c JOIN known_searches s USING (query_event_id)"


def _missing_search_check(kind: str, subject: Subject) -> Check:
    """The check for events that belong to no search."""
    return Check(
        f"{subject}-without-search",
        title=f"{kind} events without a search in the log",
        faults=f"SELECT {_LOCATION} AS example FROM events WHERE kind = '{kind}' AND (query_event_id IS NULL "
        "OR query_event_id NOT IN (SELECT query_event_id FROM known_searches))",
        total=f"SELECT count(*) FROM events WHERE kind = '{kind}'",
        spoils=(subject,),
        blocks_from=0.05,
        fix="pass the query id on to the cart and the order",
    )


_SAME_EVENT = 'action, "at", query_event_id, session, "user", doc_id, rank, value'


def _duplicates_check(kind: str, *spoils: Subject, name: str = "") -> Check:
    """The check for repeated events of a kind, as a share of all events of this kind."""
    events_of_kind = f"FROM events WHERE \"at\" IS NOT NULL AND kind = '{kind}'"
    return Check(
        f"duplicated-{name or spoils[0]}",
        title=f"{kind} events that are in the log more than once",
        faults="SELECT any_value(source_file) || ':' || max(source_line) || ' (' || count(*) || ' times)' AS "
        f"example, count(*) - 1 AS n {events_of_kind} AND hash({_SAME_EVENT}) IN (SELECT hash({_SAME_EVENT}) "
        f"{events_of_kind} GROUP BY 1 HAVING count(*) > 1) GROUP BY {_SAME_EVENT} HAVING count(*) > 1",
        total=f"SELECT count(*) FROM events WHERE kind = '{kind}'",
        spoils=spoils,
        fix="leave repeated events out with --without-duplicates",
    )


CHECKS = Registry(
    Check,
    "check",
    (
        Check(
            "mixed-rank-base",
            title="searches with ranks from 2, while others begin at 1: two rank bases",
            faults="SELECT query_event_id AS example FROM lists WHERE least = 2 AND shown > 1 AND "
            "coalesce(page, 1) = 1",
            total="SELECT count(*) FROM lists WHERE shown > 1",
            spoils=("ranks",),
            ignore_below=0.002,
            fix="ingest each application's or version's log with its own --rank-base",
        ),
        Check(
            "impressions-without-rank",
            title="impressions without a rank",
            faults=f"SELECT {_LOCATION} AS example FROM events WHERE kind = 'impression' AND rank IS NULL",
            total="SELECT count(*) FROM events WHERE kind = 'impression'",
            spoils=("ranks",),
            fix="log the position of every result",
        ),
        Check(
            "clicks-without-rank",
            title="clicks without a rank",
            faults=f"SELECT {_LOCATION} AS example FROM events WHERE kind = 'click' AND rank IS NULL",
            total=_COUNT_CLICKS,
            spoils=("ranks",),
            blocks_from=0.05,
            fix="log the position of the clicked result",
        ),
        Check(
            "clicks-without-search",
            title="clicks without a search in the log",
            faults=f"SELECT {_LOCATION} AS example FROM events WHERE kind = 'click' AND EXISTS (SELECT 1 "
            "FROM known_searches) AND (query_event_id IS NULL OR query_event_id NOT IN (SELECT "
            "query_event_id FROM known_searches))",
            total=_COUNT_CLICKS,
            spoils=("clicks", "ranks"),
            blocks_from=0.05,
            fix="pass the query id to the click; check that both logs cover the same time",
        ),
        _missing_search_check("purchase", "purchases"),
        _missing_search_check("add_to_cart", "carts"),
        Check(
            "impressions-without-search",
            title="impressions without a search record, in a log that records searches",
            faults=f"SELECT {_LOCATION} AS example FROM events WHERE kind = 'impression' AND (query_event_id "
            "IS NULL OR (EXISTS (SELECT 1 FROM events WHERE kind = 'search') AND query_event_id NOT IN "
            "(SELECT query_event_id FROM events WHERE kind = 'search' AND query_event_id IS NOT NULL)))",
            total="SELECT count(*) FROM events WHERE kind = 'impression'",
            spoils=("impressions", "searches"),
            blocks_from=0.05,
            fix="log the query that every list of results answers",
        ),
        Check(
            "clicks-not-shown",
            title="clicks on documents that the search did not show, in a log of impressions",
            faults="SELECT c.source_file || ':' || c.source_line AS example FROM events c SEMI JOIN lists l "
            "ON l.query_event_id = c.query_event_id ANTI JOIN (SELECT query_event_id, doc_id FROM events "
            "WHERE kind = 'impression') i ON i.query_event_id = c.query_event_id AND i.doc_id = c.doc_id "
            "WHERE c.kind = 'click'",
            total="SELECT count(*) FROM events WHERE kind = 'click' AND query_event_id IN (SELECT "
            "query_event_id FROM lists)",
            spoils=("impressions",),
            blocks_from=0.05,
            fix="log impressions of every result, with the ids that clicks have",
        ),
        Check(
            "document-shown-twice",
            title="searches that show a document at more than one rank",
            faults="SELECT 'query ' || query_event_id || ' (document ' || min(doc_id) || ')' AS example, "
            "max(ranks) AS size FROM (SELECT query_event_id, doc_id, count(DISTINCT rank) AS ranks FROM "
            "events WHERE kind = 'impression' AND query_event_id IS NOT NULL AND doc_id IS NOT NULL GROUP BY "
            "1, 2 HAVING count(DISTINCT rank) > 1) GROUP BY query_event_id",
            total="SELECT count(*) FROM lists",
            spoils=("ranks",),
            blocks_from=None,
            fix="show each document once in a list; a click counts at the rank that it logs, and without one "
            "at the document's first",
        ),
        Check(
            "clicks-before-search",
            title="clicks before their search: clock skew",
            faults="SELECT c.source_file || ':' || c.source_line || ' (' || CAST(epoch(c.\"at\" - "
            "c.searched_at) AS BIGINT) || ' s)' AS example, epoch(c.searched_at - "
            'c."at") AS size FROM '
            f"({_WITH_SEARCH} WHERE c.kind = 'click') c WHERE c.\"at\" < c.searched_at",
            total=f"SELECT count(*) FROM ({_WITH_SEARCH} WHERE c.kind = 'click')",
            spoils=("time",),
            fix="take both times from one clock, or correct the client's by the server's",
        ),
        Check(
            "clicks-at-search-time",
            title="clicks at the very time of their search: the time of the record, not their own",
            faults="SELECT c.source_file || ':' || c.source_line AS example FROM "
            f"({_WITH_SEARCH} WHERE c.kind = 'click') c WHERE c.\"at\" = c.searched_at",
            total=f"SELECT count(*) FROM ({_WITH_SEARCH} WHERE c.kind = 'click' AND c.\"at\" IS NOT NULL)",
            spoils=("click times",),
            blocks_from=0.5,
            ignore_below=0.1,
            fix="log the time of each click in a row of its own",
        ),
        Check(
            "search-recorded-late",
            title="records of a search after a click on its results: its id is used again, or two clocks",
            faults=_LATE_SEARCHES,
            total="SELECT count(*) FROM events WHERE kind = 'search'",
            spoils=("time",),
            blocks_from=0.05,
            fix="make a new id for every search; the first record counts",
        ),
        Check(
            "time-zone-shift",
            title="clicks that are a whole number of hours off their search: two time zones",
            faults="SELECT c.source_file || ':' || c.source_line || ' (' || CAST(round(epoch(c.\"at\" - "
            "c.searched_at) / 3600) AS BIGINT) || ' h)' AS example FROM "
            f"({_WITH_SEARCH} WHERE c.kind = 'click') c WHERE "
            'abs(epoch(c."at" - c.searched_at)) >= 3500 AND abs(epoch(c."at" - c.searched_at) - 3600 * '
            'round(epoch(c."at" - c.searched_at) / 3600)) <= 120',
            total=f"SELECT count(*) FROM ({_WITH_SEARCH} WHERE c.kind = 'click')",
            spoils=("time", "sessions"),
            ignore_below=0.01,
            fix="log times with their zone, or give time_zone in the mapping",
        ),
        Check(
            "implausible-time",
            title="events before the year 2000 or more than five years from most others",
            faults=f"SELECT {_LOCATION} AS example FROM events WHERE \"at\" < '2000-01-01' OR "
            'abs(epoch("at") - (SELECT median(epoch("at")) FROM events)) > 5 * 365.25 * 86400',
            total='SELECT count(*) FROM events WHERE "at" IS NOT NULL',
            spoils=("time",),
            fix="check the unit of epoch times and the clocks of clients",
        ),
        Check(
            "no-time",
            title="events without a time",
            faults=f'SELECT {_LOCATION} AS example FROM events WHERE "at" IS NULL',
            total=COUNT_EVENTS,
            spoils=("time",),
            fix="name the column of the time in the mapping, and its format if it is not ISO 8601",
        ),
        Check(
            "bots",
            title="searches of sessions with more than 50 searches, or of 1,000 events and more",
            faults="SELECT 'session ' || session || ' (' || searches || ' searches)' AS example, searches AS "
            "n FROM busy WHERE searches > 50 OR events >= 1000",
            total="SELECT count(*) FROM known_searches",
            spoils=("searches", "clicks", "sessions"),
            blocks_from=0.2,
            fix="leave bots out with --without-bots",
        ),
        _duplicates_check("impression", "impressions"),
        _duplicates_check("click", "clicks"),
        _duplicates_check("add_to_cart", "carts"),
        _duplicates_check("purchase", "purchases", "revenue"),
        _duplicates_check("refund", "revenue", name="refunds"),
        Check(
            "repeated-clicks",
            title=f"clicks within {_REPEATED_WITHIN} seconds after a click on the same document of the same "
            "list: double clicks, or a page that logs a click twice",
            faults=_REPEATED_CLICKS,
            total=_COUNT_CLICKS,
            spoils=("clicks",),
            blocks_from=0.05,
            fix="log one click of a double click, and bind the page's handler once",
        ),
        Check(
            "repeated-searches",
            title=f"searches for the same words within {_REPEATED_WITHIN} seconds in a session: a page that "
            "searches, or logs a search, twice",
            faults=f"SELECT {_LOCATION} AS example FROM (SELECT source_file, source_line, query, "
            "lag(query) OVER w AS query_before, query_event_id, lag(query_event_id) OVER w AS id_before, "
            'epoch("at" - lag("at") OVER w) AS seconds FROM events WHERE kind = \'search\' AND session IS '
            'NOT NULL AND "at" IS NOT NULL AND query IS NOT NULL WINDOW w AS (PARTITION BY session ORDER '
            'BY "at", source_line)) WHERE query = query_before AND query_event_id <> id_before AND seconds '
            f"< {_REPEATED_WITHIN}",
            total="SELECT count(*) FROM events WHERE kind = 'search' AND session IS NOT NULL",
            spoils=("searches", "sessions"),
            blocks_from=0.05,
            fix="log one search of a page that loads twice, or give both records one query id",
        ),
        Check(
            "reused-session",
            title="session ids of several users, or with events more than a day apart",
            faults="SELECT 'session ' || session AS example FROM busy WHERE users > 1 OR seconds > 86400",
            total="SELECT count(*) FROM busy",
            spoils=("sessions",),
            blocks_from=0.05,
            fix="make session ids unique for user and visit; name both columns, as in a+b",
        ),
        Check(
            "events-after-session-end",
            title="events after more than 30 minutes without one in the same session",
            faults=f'SELECT {_LOCATION} AS example FROM (SELECT source_file, source_line, "at", lag("at") '
            'OVER (PARTITION BY session ORDER BY "at", source_line) AS before FROM events WHERE session IS '
            'NOT NULL AND "at" IS NOT NULL) WHERE epoch("at" - before) > 1800',
            total='SELECT count(*) FROM events WHERE session IS NOT NULL AND "at" IS NOT NULL',
            spoils=("sessions",),
            blocks_from=0.1,
            fix="sessions are assumed to end after 30 minutes; check where the ids come from",
        ),
        Check(
            "users-in-several-variants",
            title="users that were in more than one variant",
            faults='SELECT \'user \' || "user" AS example FROM events WHERE "user" IS NOT NULL AND variant '
            'IS NOT NULL GROUP BY "user" HAVING count(DISTINCT variant) > 1',
            total='SELECT count(DISTINCT "user") FROM events WHERE variant IS NOT NULL',
            spoils=("variants",),
            fix="assign variants by user, and leave these users out",
        ),
        Check(
            "shared-inventory",
            title="documents shown in several variants that were sold in one and then disappeared from all",
            faults="SELECT 'document ' || doc_id AS example FROM stock WHERE variants > 1 AND last_shown <= "
            "first_sold AND epoch(until - first_sold) > 3600",
            total="SELECT count(*) FROM stock WHERE first_sold IS NOT NULL",
            spoils=("variants",),
            blocks_from=None,
            ignore_below=0.2,
            fix="randomise by item or by region: the sale in one variant takes stock of the other",
        ),
        Check(
            "labels-out-of-scale",
            title="survey answers outside the scale of almost all other answers",
            faults=f"SELECT {_LOCATION} || ' (' || value || ')' AS example FROM answers WHERE value < 0 OR "
            "value != floor(value) OR value > (SELECT CASE WHEN quantile_cont(value, 0.9) <= 1 THEN 1 WHEN "
            "quantile_cont(value, 0.9) <= 5 THEN 5 ELSE 10 END FROM answers)",
            total="SELECT count(*) FROM answers",
            spoils=("surveys",),
            fix="find the scale of the survey, and leave out other answers",
        ),
        Check(
            "negative-revenue",
            title="purchases with a negative value",
            faults=f"SELECT {_LOCATION} || ' (' || value || ')' AS example FROM events WHERE kind = "
            "'purchase' AND value < 0",
            total="SELECT count(*) FROM events WHERE kind = 'purchase'",
            spoils=("revenue",),
            blocks_from=0.0,
            fix="log returned money as a refund",
        ),
        Check(
            "results-contradicted",
            title="searches recorded as failed or without results, although results were shown or clicked",
            faults="SELECT 'query ' || query_event_id AS example FROM events WHERE query_event_id IS NOT "
            "NULL GROUP BY query_event_id HAVING bool_or(state IN ('zero', 'failed')) AND NOT "
            "bool_or(coalesce(state = 'ok', false)) AND bool_or(kind IN ('impression', 'click'))",
            total="SELECT count(DISTINCT query_event_id) FROM events WHERE state IS NOT NULL",
            spoils=("states",),
            blocks_from=0.05,
            fix="log the number of results when they are known, not before",
        ),
        Check(
            "results-unknown",
            title="searches of a log that never says whether they had results, which count as with results",
            faults="SELECT DISTINCT 'query ' || query_event_id AS example FROM events WHERE kind = 'search' "
            "AND query_event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events WHERE state IS NOT NULL OR "
            "kind = 'impression')",
            total="SELECT count(DISTINCT query_event_id) FROM events WHERE kind = 'search'",
            spoils=("searches",),
            blocks_from=None,
            fix="map the number of results as hits, their ids as response_ids, or the state",
        ),
        Check(
            "repeated-query-id",
            title="query ids of records with different words",
            faults="SELECT 'query ' || query_event_id AS example FROM events WHERE kind = 'search' AND "
            "query_event_id IS NOT NULL GROUP BY query_event_id HAVING count(DISTINCT query) > 1",
            total="SELECT count(DISTINCT query_event_id) FROM events WHERE kind = 'search'",
            spoils=("searches", "clicks"),
            blocks_from=0.05,
            fix="make a new id for every search",
        ),
    ),
    group="rankgate.log_checks",
)
"""Checks by code."""

VIEWS: Mapping[str, str] = {
    "known_searches": (
        "CREATE OR REPLACE TEMP TABLE known_searches AS SELECT query_event_id, "
        'coalesce(min("at") FILTER (WHERE kind = \'search\'), min("at")) AS "at" FROM events WHERE '
        "query_event_id IS NOT NULL AND kind IN ('search', 'impression') GROUP BY 1"
    ),
    "lists": (
        "CREATE OR REPLACE TEMP TABLE lists AS SELECT query_event_id, min(rank) AS least, count(*) AS shown, "
        "max(page) AS page FROM events WHERE kind = 'impression' AND query_event_id IS NOT NULL GROUP BY 1"
    ),
    "busy": (
        "CREATE OR REPLACE TEMP TABLE busy AS SELECT session, count(DISTINCT query_event_id) FILTER (WHERE "
        "kind IN ('search', 'impression')) AS searches, count(*) AS events, count(DISTINCT "
        '"user") AS users, epoch(max("at") - min("at")) AS seconds FROM events WHERE session IS NOT NULL '
        "GROUP BY 1"
    ),
    "answers": (
        "CREATE OR REPLACE TEMP VIEW answers AS SELECT * FROM events WHERE kind = 'other' AND value IS NOT "
        f"NULL AND regexp_matches(lower(action), '{SURVEY_PATTERN}')"
    ),
    "stock": (
        "CREATE OR REPLACE TEMP TABLE stock AS SELECT doc_id, count(DISTINCT variant) FILTER (WHERE kind = "
        "'impression') AS variants, min(\"at\") FILTER (WHERE kind = 'purchase') AS first_sold, max(\"at\") "
        "FILTER (WHERE kind = 'impression') AS last_shown, (SELECT "
        'max("at") FROM events) AS until FROM events WHERE doc_id IS NOT NULL AND variant IS NOT NULL AND '
        "kind IN ('impression', 'purchase') GROUP BY doc_id"
    ),
}
"""The tables and views that checks read, made once from ``events``."""
