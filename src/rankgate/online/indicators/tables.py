"""Searches, clicks, sessions and users as Ibis expressions over the table of events.

Each function takes tables and returns one; nothing is carried out here, so that DuckDB, Spark or a
warehouse can run the same expression (``ibis.to_sql(searches(events()), dialect="snowflake")``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.extras import require
from rankgate.online.events.goals import first_times, goals, reached

if TYPE_CHECKING:
    import ibis.expr.types as ir

_TYPES = {
    "event_id": "string", "at": "timestamp('UTC')", "kind": "string", "action": "string",
    "query_event_id": "string", "query": "string", "session": "string", "user": "string",
    "doc_id": "string", "rank": "int32", "value": "float64", "variant": "string", "page": "int32",
    "latency_ms": "float64", "cache_hit": "boolean", "state": "string", "attributes": "string",
    "source_file": "string", "source_line": "int64",
}  # fmt: skip

NO = False
"""What a comparison with null counts as."""

WITHIN = 300
"""Seconds in which a search is taken to follow from the one before (Hassan and others 2013)."""

IDLE = 1800
"""Seconds without an event after which a session ends, where the log has no session ids."""

SATISFIED = 30
"""Seconds on a document from which a click counts as satisfied (Fox and others 2005)."""

QUICK = 10
"""Seconds on a document below which a click counts as a quick return."""


def ibis() -> Any:  # noqa: ANN401 - the module
    """The library of expressions.

    Raises:
        MissingExtraError: it is not installed.
    """
    require("KPIs and click counts are expressions of Ibis", "ibis", "packaging")
    import ibis

    return ibis


def events() -> ir.Table:
    """The table ``events``."""
    table: ir.Table = ibis().table(_TYPES, name="events")
    return table


OF_SEARCHES = frozenset(
    {"query_event_id", "at", "day", "session", "user", "variant", "application", "clicks",
     "reformulated"}
)  # fmt: skip
"""What the tables of clicks and sessions read of searches."""


def read_columns(expression: Any) -> set[str]:  # noqa: ANN401 - a column of Ibis
    """The columns of its table that an expression reads."""
    from ibis.expr import operations

    return {each.name for each in expression.op().find(operations.Field)}


def seconds(later: Any, earlier: Any) -> Any:  # noqa: ANN401 - columns of Ibis
    """Seconds from one time to another."""
    return later.delta(earlier, unit="millisecond") / 1000.0


def visits(rows: ir.Table) -> ir.Table:
    """The events with a session where the log has none.

    It is that of their search, or the user's events up to a pause of 30 minutes.
    """
    lib = ibis()
    of_search = (
        rows.filter(rows.query_event_id.notnull() & rows.session.notnull())
        .group_by("query_event_id")
        .aggregate(search_session=rows.session.max())
    )
    joined = rows.left_join(of_search, "query_event_id").drop("query_event_id_right")
    known = joined.mutate(session=lib.coalesce(joined.session, joined.search_session)).drop(
        "search_session"
    )
    order = {"group_by": [known.session.isnull(), "user"], "order_by": ["at", "source_line"]}
    pause = seconds(known.at, known.at.lag()).over(lib.window(**order))
    marked = known.mutate(begins=lib.cases((pause.isnull() | (pause > IDLE), 1), else_=0))
    running = lib.window(
        group_by=[marked.session.isnull(), "user"],
        order_by=["at", "source_line"],
        preceding=None,
        following=0,
    )
    number = marked.begins.sum().over(running).cast("string")
    return marked.mutate(
        session=lib.coalesce(marked.session, marked.user.concat("#", number))
    ).drop("begins")


def searches(rows: ir.Table) -> ir.Table:
    """One row for each search that has a record or impressions."""
    lib = ibis()
    known = rows.filter(rows.query_event_id.notnull())

    def attribute(name: str, kind: str) -> Any:  # noqa: ANN401 - a column of Ibis
        text = known.attributes.cast("json")[name].cast("string")
        return text.try_cast(kind).max(where=known.kind == "search")

    def owned(column: Any) -> Any:  # noqa: ANN401 - columns of Ibis
        """Of the search's own record, else of its impressions; later events may be elsewhere."""
        own = (column.max(where=known.kind == each) for each in ("search", "impression"))
        return lib.coalesce(*own, column.max())

    is_search, is_click = known.kind == "search", known.kind == "click"
    grouped = known.group_by("query_event_id").aggregate(
        at=lib.coalesce(known.at.min(where=is_search), known.at.min()),
        query=known.query.max(),
        session=owned(known.session),
        user=owned(known.user),
        variant=owned(known.variant),
        # not .str, which needs a function of Python on Spark
        application=known.attributes.cast("json")["application"]
        .cast("string")
        .re_replace('^"|"$', "")
        .max(),
        page=known.page.max(where=is_search),
        answered=(known.state == "ok").any(),
        failed=(known.state == "failed").any(),
        empty=(known.state == "zero").any(),
        latency_ms=known.latency_ms.max(),
        cache_hit=known.cache_hit.max(),
        recorded=is_search.any() | (known.kind == "impression").any(),
        shown=(known.kind == "impression").sum(),
        clicks=is_click.sum(),
        top_rank=known["rank"].min(where=is_click),
        first_rank=known["rank"].argmin(known.at, where=is_click),
        last_rank=known["rank"].argmax(known.at, where=is_click),
        first_click_at=known.at.min(where=is_click),
        carts=(known.kind == "add_to_cart").sum(),
        purchases=(known.kind == "purchase").sum(),
        revenue=known.value.sum(where=known.kind == "purchase"),
        priced=known.value.count(where=known.kind == "purchase"),
        answer=attribute("answer", "boolean"),
        inference_ms=attribute("inference_ms", "float64"),
        cpu_ms=attribute("cpu_ms", "float64"),
        memory_mb=attribute("memory_mb", "float64"),
    )
    kept = grouped.filter(grouped.recorded)
    # a search that is recorded several times has the best of its states
    stated = kept.answered | kept.failed | kept.empty
    seen = (kept.shown > 0) | (kept.clicks > 0)
    found = kept.mutate(
        state=lib.cases(
            (kept.answered | (stated & seen), "ok"),
            (kept.failed, "failed"),
            (kept.empty, "zero"),
            else_=lib.null("string"),
        )
    ).drop("answered", "failed", "empty")
    bad = found.state.isin(["zero", "failed"])
    results = lib.cases(
        (found.shown > 0, True),
        (found.clicks > 0, True),
        (bad, False),
        (found.state == "ok", True),
        else_=lib.null("boolean"),
    )
    return found.mutate(day=found.at.cast("timestamp").date(), with_results=results)


def followed(table: ir.Table) -> ir.Table:
    """Searches with the next one of their session, and how its words relate to theirs."""
    lib = ibis()
    order = lib.window(group_by="session", order_by=["at", "query_event_id"])
    later = table.mutate(
        next_query=table.query.lead().over(order), next_at=table.at.lead().over(order)
    )
    gap = seconds(later.next_at, later.at)
    soon = later.session.notnull() & gap.notnull() & (gap <= WITHIN)
    first = later.query.lower().strip()
    second = later.next_query.lower().strip()
    words, more = first.split(" ").unique(), second.split(" ").unique()
    shared = words.intersect(more).length()
    longest = lib.greatest(first.length(), second.length())
    alike = 1 - first.levenshtein(second) / longest >= 0.5
    other = soon & second.notnull() & (first != second)
    asked = later.query.notnull() & later.session.notnull() & later.at.notnull()
    return later.mutate(
        asked=asked,
        requeried=soon.fill_null(NO),
        repeated=(soon & (first == second)).fill_null(NO),
        reformulated=(other & ((shared > 0) | alike)).fill_null(NO),
        refined=(other & (shared == words.length()) & (more.length() > shared)).fill_null(NO),
    )


def banded(table: ir.Table) -> ir.Table:
    """Searches with the band of their query: head, torso and tail make a third of searches each."""
    lib = ibis()
    words = table.mutate(words=table.query.lower().strip())
    counts = words.group_by("words").aggregate(times=words.count())
    order = lib.window(order_by=[lib.desc("times"), "words"], preceding=None, following=0)
    ranked = counts.mutate(before=counts.times.sum().over(order) - counts.times,
                           total=counts.times.sum().over(lib.window()))  # fmt: skip
    share = ranked.before / ranked.total
    bands = ranked.select(
        "words", band=lib.cases((share < 1 / 3, "head"), (share < 2 / 3, "torso"), else_="tail")
    )
    return words.left_join(bands, "words").drop("words", "words_right")


def clicks(rows: ir.Table, of: ir.Table) -> ir.Table:
    """One row for each click of a known search, with the seconds to the next search or click.

    Without a session a click has a dwell only where the log has it.
    """
    lib = ibis()
    steps = rows.filter(rows.kind.isin(["click", "search"]))
    # clicks without a session have ranks, but no next step
    alone = lib.cases((steps.session.isnull(), steps.query_event_id), else_=lib.null("string"))
    order = lib.window(group_by=["session", alone], order_by=["at", "source_line"])
    pause = seconds(steps.at.lead(), steps.at).over(order)
    dwelt = steps.mutate(
        in_session=steps.session.notnull(),
        dwell=lib.cases((steps.session.notnull(), pause), else_=lib.null("float64")),
    )
    timed = dwelt.filter(dwelt.kind == "click").select(
        "query_event_id", "doc_id", "rank", "dwell", "in_session"
    )
    measured = (
        rows.filter(rows.kind == "dwell")
        .group_by("query_event_id", "doc_id")
        .aggregate(logged=rows.value.max())
    )
    joined = timed.left_join(measured, ["query_event_id", "doc_id"])
    best = joined.mutate(dwell=lib.coalesce(joined.logged, joined.dwell)).select(
        "query_event_id", "doc_id", "rank", "dwell", "in_session"
    )
    about = of.select("query_event_id", "day", "variant", "application", "session", "user")
    return (
        best.inner_join(about, "query_event_id")
        .mutate(
            satisfied=lib.cases(
                (best.dwell.notnull(), best.dwell >= SATISFIED),
                (best.in_session, True),
                else_=lib.null("boolean"),
            )
        )
        .drop("in_session")
    )


def sessions(rows: ir.Table, of: ir.Table, goal: Sequence[str] = ()) -> ir.Table:
    """One row for each session: what was searched, seen, bought, and how long it took.

    Args:
        rows: events.
        of: searches.
        goal: rules of success; add_to_cart and purchase by default.
    """
    known = rows.filter(rows.session.notnull())
    asked = goals(goal)
    whole = known.group_by("session").aggregate(
        user=known.user.max(),
        variant=known.variant.max(),
        begin=known.at.min(),
        end=known.at.max(),
        views=known.kind.isin(["click"]).sum(),
        purchases=(known.kind == "purchase").sum(),
        revenue=known.value.sum(where=known.kind == "purchase"),
        priced=known.value.count(where=known.kind == "purchase"),
        **first_times(known, asked),
    )
    whole = reached(whole, asked)
    counted = of.filter(of.session.notnull())
    sums = counted.group_by("session").aggregate(
        application=counted.application.max(),
        searches=counted.count(),
        clicked=(counted.clicks > 0).any(),
        clicked_searches=(counted.clicks > 0).sum(),
        reformulations=counted.reformulated.sum(),
        first_search=counted.at.min(),
    )
    both = whole.left_join(sums, "session").drop("session_right")
    return both.mutate(
        day=both.begin.cast("timestamp").date(),
        pages=both.searches.fill_null(0) + both.views,
        seconds=seconds(both.end, both.begin),
    )


def users(of: ir.Table) -> ir.Table:
    """One row for each session of a known user, with the days to the user's next one."""
    lib = ibis()
    known = of.filter(of.user.notnull() & of.begin.notnull())
    order = lib.window(group_by="user", order_by=["begin", "session"])
    until = known.end.max().over(lib.window())
    return known.mutate(
        days_to_next=seconds(known.begin.lead().over(order), known.end) / 86400.0,
        days_seen=seconds(until, known.end) / 86400.0,
    )
