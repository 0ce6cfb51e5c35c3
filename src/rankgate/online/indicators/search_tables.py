"""Searches, clicks, sessions and users as Ibis expressions over the table of events.

Each function takes tables and returns a table expression; no query runs here, so that DuckDB, Spark
or a warehouse can run the same expression (``ibis.to_sql(searches(events()),
dialect="snowflake")``).

`KpiTables` makes each table of KPIs when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import require
from rankgate.online.events.event_table import (
    COLUMNS,
    IBIS_TYPES,
    SESSION_PAUSE_SECONDS,
    SLICES,
    add_goal_columns,
    goal_times,
    parse_goals,
)
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

    from rankgate.online.indicators.kpi import Kpi
    from rankgate.online.log_database import Database


_RANKS = 1 << 20  # more ranks than a list has
NULL_IS_FALSE = False
"""The value that a comparison with null counts as."""

NEXT_SEARCH_SECONDS = 300
"""Seconds in which a search is taken to follow from the one before (Hassan and others 2013)."""

SATISFIED_SECONDS = 30
"""Seconds on a document from which a click counts as satisfied (Fox and others 2005)."""

QUICK_RETURN_SECONDS = 10
"""Seconds on a document below which a click counts as a quick return."""


def load_ibis() -> Any:  # noqa: ANN401 - the module
    """The library of expressions.

    Raises:
        MissingExtraError: Ibis is not installed.
    """
    require("KPIs and click counts are expressions of Ibis", "ibis", "packaging")
    import ibis

    return ibis


def value_where(condition: Any, value: Any) -> Any:  # noqa: ANN401 - columns of Ibis
    """A value in the rows that meet a condition, null in the others."""
    return load_ibis().cases((condition, value), else_=None)


def events() -> ir.Table:
    """The table ``events``."""
    table: ir.Table = load_ibis().table(IBIS_TYPES, name="events")
    return table


def attribute_text(rows: ir.Table, name: str) -> Any:  # noqa: ANN401 - a column of Ibis
    """An attribute of events as text."""
    text = rows.attributes.cast("json")[name].cast("string")
    # not .str, which needs a Python function on Spark
    return text.re_replace('^"|"$', "").nullif("null")


SEARCH_COLUMNS = frozenset(
    {"query_event_id", "at", "day", "session", "user", "variant", "application", "clicks"}
)
"""The columns of searches that the tables of clicks and sessions read."""


def read_columns(expression: Any) -> set[str]:  # noqa: ANN401 - a column of Ibis
    """The columns that an expression reads from its table."""
    from ibis.expr import operations

    return {field.name for field in expression.op().find(operations.Field)}


def seconds(later: Any, earlier: Any) -> Any:  # noqa: ANN401 - columns of Ibis
    """Seconds from one time to another."""
    return later.delta(earlier, unit="millisecond") / 1000.0


def with_visits(rows: ir.Table) -> ir.Table:
    """The events, with a session for events without one in the log.

    The session is the session of their search, or the user's events up to a pause of 30 minutes.
    """
    lib = load_ibis()
    of_search = (
        rows.filter(rows.query_event_id.notnull() & rows.session.notnull())
        .group_by("query_event_id")
        .aggregate(search_session=rows.session.max())
    )
    joined = rows.left_join(of_search, "query_event_id").drop("query_event_id_right")
    with_sessions = joined.mutate(session=lib.coalesce(joined.session, joined.search_session)).drop(
        "search_session"
    )
    order = {"group_by": [with_sessions.session.isnull(), "user"], "order_by": ["at", "source_line"]}
    pause = seconds(with_sessions.at, with_sessions.at.lag()).over(lib.window(**order))
    with_starts = with_sessions.mutate(
        begins=lib.cases((pause.isnull() | (pause > SESSION_PAUSE_SECONDS), 1), else_=0)
    )
    running = lib.window(
        group_by=[with_starts.session.isnull(), "user"],
        order_by=["at", "source_line"],
        preceding=None,
        following=0,
    )
    number = with_starts.begins.sum().over(running).cast("string")
    return with_starts.mutate(
        session=lib.coalesce(with_starts.session, with_starts.user.concat("#", number))
    ).drop("begins")


def searches(rows: ir.Table, dimensions: Sequence[str] = ()) -> ir.Table:
    """One row for each search that has a record or impressions.

    Args:
        rows: events.
        dimensions: attributes of events that become columns.
    """
    lib = load_ibis()
    search_events = rows.filter(rows.query_event_id.notnull())

    def attribute(name: str, kind: str) -> Any:  # noqa: ANN401 - a column of Ibis
        text = search_events.attributes.cast("json")[name].cast("string")
        return text.try_cast(kind).max(where=search_events.kind == "search")

    def owned(column: Any) -> Any:  # noqa: ANN401 - columns of Ibis
        """The value in the search's record, else in its impressions; later events may differ."""
        candidates = (column.max(where=search_events.kind == kind) for kind in ("search", "impression"))
        return lib.coalesce(*candidates, column.max())

    is_search, is_click = search_events.kind == "search", search_events.kind == "click"
    # by time, then by rank for clicks of the same time, as in logs of whole seconds
    epoch = lib.literal("1970-01-01T00:00:00Z", type=IBIS_TYPES["at"])
    milliseconds = search_events.at.delta(epoch, unit="millisecond")
    click_order = milliseconds * _RANKS + search_events["rank"].fill_null(0)
    grouped = search_events.group_by("query_event_id").aggregate(
        at=lib.coalesce(search_events.at.min(where=is_search), search_events.at.min()),
        query=search_events.query.max(),
        session=owned(search_events.session),
        user=owned(search_events.user),
        variant=owned(search_events.variant),
        application=attribute_text(search_events, "application").max(),
        **{name: owned(attribute_text(search_events, name)) for name in dimensions},
        page=search_events.page.max(where=is_search),
        answered=(search_events.state == "ok").any(),
        failed=(search_events.state == "failed").any(),
        empty=(search_events.state == "zero").any(),
        latency_ms=search_events.latency_ms.max(),
        cache_hit=search_events.cache_hit.max(),
        recorded=is_search.any() | (search_events.kind == "impression").any(),
        shown=(search_events.kind == "impression").sum(),
        clicks=is_click.sum(),
        top_rank=search_events["rank"].min(where=is_click),
        first_rank=search_events["rank"].argmin(click_order, where=is_click),
        last_rank=search_events["rank"].argmax(click_order, where=is_click),
        first_click_at=search_events.at.min(where=is_click),
        carts=(search_events.kind == "add_to_cart").sum(),
        purchases=(search_events.kind == "purchase").sum(),
        revenue=exact_sum(search_events.value, search_events.kind == "purchase"),
        answer=attribute("answer", "boolean"),
        inference_ms=attribute("inference_ms", "float64"),
        cpu_ms=attribute("cpu_ms", "float64"),
        memory_mb=attribute("memory_mb", "float64"),
    )
    recorded = grouped.filter(grouped.recorded)
    # a search that is recorded several times has the best of its states
    has_state = recorded.answered | recorded.failed | recorded.empty
    has_results = (recorded.shown > 0) | (recorded.clicks > 0)
    with_state = recorded.mutate(
        state=lib.cases(
            (recorded.answered | (has_state & has_results), "ok"),
            (recorded.failed, "failed"),
            (recorded.empty, "zero"),
            else_=lib.null("string"),
        )
    ).drop("answered", "failed", "empty")
    # a log that never says what a search found leaves out what everybody would count
    says_results = (rows.state.notnull() | (rows.kind == "impression")).any().as_scalar()
    has_no_results = with_state.state.isin(["zero", "failed"])
    results = lib.cases(
        (with_state.shown > 0, True),
        (with_state.clicks > 0, True),
        (has_no_results, False),
        (with_state.state == "ok", True),
        (~says_results, True),
        else_=lib.null("boolean"),
    )
    return with_state.mutate(day=with_state.at.cast("timestamp").date(), with_results=results)


def with_next_search(table: ir.Table) -> ir.Table:
    """Searches with the next search of their session, and the relation of the words of both."""
    lib = load_ibis()
    order = lib.window(group_by="session", order_by=["at", "query_event_id"])
    query = table.query.lower().strip()
    query_words = query.split(" ").unique()
    # columns of the window, as an expression in their place would be computed at each use
    pairs = table.mutate(
        first=query,
        second=query.lead().over(order),
        first_words=query_words,
        second_words=query_words.lead().over(order),
        next_at=table.at.lead().over(order),
    )
    gap = seconds(pairs.next_at, pairs.at)
    is_soon = pairs.session.notnull() & gap.notnull() & (gap <= NEXT_SEARCH_SECONDS)
    is_other_query = is_soon & pairs.second.notnull() & (pairs.first != pairs.second)
    shared_words = pairs.first_words.intersect(pairs.second_words).length()
    longest_length = lib.greatest(pairs.first.length(), pairs.second.length())
    similarity = 1 - pairs.first.levenshtein(pairs.second) / longest_length
    is_similar = lib.cases((~is_other_query, False), (shared_words > 0, True), else_=similarity >= 0.5)
    is_complete = pairs.query.notnull() & pairs.session.notnull() & pairs.at.notnull()
    return pairs.mutate(
        asked=is_complete,
        requeried=is_soon.fill_null(NULL_IS_FALSE),
        repeated=(is_soon & (pairs.first == pairs.second)).fill_null(NULL_IS_FALSE),
        reformulated=(is_other_query & is_similar).fill_null(NULL_IS_FALSE),
        refined=(
            is_other_query
            & (shared_words == pairs.first_words.length())
            & (pairs.second_words.length() > shared_words)
        ).fill_null(NULL_IS_FALSE),
    ).drop("first", "second", "first_words", "second_words")


def with_bands(table: ir.Table) -> ir.Table:
    """Searches with the band of their query: head, torso and tail make a third of searches each."""
    lib = load_ibis()
    with_words = table.mutate(words=table.query.lower().strip())
    counts = with_words.group_by("words").aggregate(times=with_words.count())
    order = lib.window(order_by=[lib.desc("times"), "words"], preceding=None, following=0)
    ranked = counts.mutate(
        before=counts.times.sum().over(order) - counts.times, total=counts.times.sum().over(lib.window())
    )
    share = ranked.before / ranked.total
    bands = ranked.select(
        "words", band=lib.cases((share < 1 / 3, "head"), (share < 2 / 3, "torso"), else_="tail")
    )
    return with_words.left_join(bands, "words").drop("words", "words_right")


def clicks(rows: ir.Table, search_table: ir.Table, dimensions: Sequence[str] = ()) -> ir.Table:
    """One row for each click of a known search, with the seconds to the next search or click.

    In a log without any search and impression all clicks count, with columns of their own. Without a
    session a click has a dwell time only if the log has it.
    """
    lib = load_ibis()
    steps = rows.filter(rows.kind.isin(["click", "search"]))
    # clicks without a session have ranks, but no next step
    lone_search = lib.cases((steps.session.isnull(), steps.query_event_id), else_=lib.null("string"))
    order = lib.window(group_by=["session", lone_search], order_by=["at", "source_line"])
    pause = seconds(steps.at.lead(), steps.at).over(order)
    with_dwell = steps.mutate(
        in_session=steps.session.notnull(),
        dwell=lib.cases((steps.session.notnull(), pause), else_=lib.null("float64")),
    )
    timed = with_dwell.filter(with_dwell.kind == "click").select(
        *("query_event_id", "doc_id", "rank", "dwell", "in_session"),
        own_day=with_dwell.at.cast("timestamp").date(),
        own_variant=with_dwell.variant,
        own_session=with_dwell.session,
        own_user=with_dwell.user,
    )
    logged_dwells = (
        rows.filter(rows.kind == "dwell")
        .group_by("query_event_id", "doc_id")
        .aggregate(logged=rows.value.max())
    )
    joined = timed.left_join(logged_dwells, ["query_event_id", "doc_id"])
    best = joined.mutate(dwell=lib.coalesce(joined.logged, joined.dwell)).select(*timed.columns)
    search_columns = search_table.select(
        *("query_event_id", "day", "variant", "application", "session", "user", *dimensions),
        known=lib.literal(value=True),
    )
    with_search = best.left_join(search_columns, "query_event_id").drop("query_event_id_right")
    has_no_searches = search_table.count().as_scalar() == 0
    own_columns = ("day", "variant", "session", "user")
    return (
        with_search.filter(with_search.known.notnull() | has_no_searches)
        .mutate(
            satisfied=lib.cases(
                (with_search.dwell.notnull(), with_search.dwell >= SATISFIED_SECONDS),
                (with_search.in_session, True),
                else_=lib.null("boolean"),
            ),
            **{
                name: lib.cases(
                    (with_search.known.notnull(), with_search[name]), else_=with_search[f"own_{name}"]
                )
                for name in own_columns
            },
        )
        .drop("in_session", "known", *(f"own_{name}" for name in own_columns))
    )


def sessions(
    rows: ir.Table, search_table: ir.Table, goal: Sequence[str] = (), dimensions: Sequence[str] = ()
) -> ir.Table:
    """One row for each session: its searches, impressions, purchases and duration.

    Args:
        rows: events.
        search_table: the searches.
        goal: rules of success; add_to_cart and purchase by default.
        dimensions: attributes of events that become columns.
    """
    session_events = rows.filter(rows.session.notnull())
    goal_rules = parse_goals(goal)
    by_session = session_events.group_by("session").aggregate(
        user=session_events.user.max(),
        variant=session_events.variant.max(),
        begin=session_events.at.min(),
        end=session_events.at.max(),
        views=session_events.kind.isin(["click"]).sum(),
        purchases=(session_events.kind == "purchase").sum(),
        revenue=exact_sum(session_events.value, session_events.kind == "purchase"),
        **goal_times(session_events, goal_rules),
        **{name: attribute_text(session_events, name).max() for name in dimensions},
    )
    by_session = add_goal_columns(by_session, goal_rules)
    session_searches = search_table.filter(search_table.session.notnull())
    sums = session_searches.group_by("session").aggregate(
        application=session_searches.application.max(),
        searches=session_searches.count(),
        clicked=(session_searches.clicks > 0).any(),
        clicked_searches=(session_searches.clicks > 0).sum(),
        **(
            {"reformulations": session_searches.reformulated.sum()}
            if "reformulated" in search_table.columns
            else {}
        ),
        first_search=session_searches.at.min(),
    )
    joined = by_session.left_join(sums, "session").drop("session_right")
    return joined.mutate(
        day=joined.begin.cast("timestamp").date(),
        pages=joined.searches.fill_null(0) + joined.views,
        seconds=seconds(joined.end, joined.begin),
    )


def users(session_table: ir.Table) -> ir.Table:
    """One row for each session of a known user, with the days to the user's next one."""
    lib = load_ibis()
    user_sessions = session_table.filter(session_table.user.notnull() & session_table.begin.notnull())
    order = lib.window(group_by="user", order_by=["begin", "session"])
    log_end = user_sessions.end.max().over(lib.window())
    return user_sessions.mutate(
        days_to_next=seconds(user_sessions.begin.lead().over(order), user_sessions.end) / 86400.0,
        days_seen=seconds(log_end, user_sessions.end) / 86400.0,
    )


def people(rows: ir.Table, dimensions: Sequence[str] = ()) -> ir.Table:
    """One row for each user, from the first event: in an experiment the first one with an arm.

    Args:
        rows: events of `with_begin`.
        dimensions: attributes of events that become columns.
    """
    begin = rows.begin.min()
    return rows.group_by("user").aggregate(
        variant=rows.variant.max(),
        day=begin.cast("timestamp").date(),
        **{name: attribute_text(rows, name).max() for name in dimensions},
    )


def with_begin(rows: ir.Table, key: str) -> ir.Table:
    """The events that have a key, with the first time of its events and the last of the log.

    Events of a user before the first one with an arm are left out, if there is one.
    """
    lib = load_ibis()
    keyed = rows.filter(rows[key].notnull())
    of_key = lib.window(group_by=key)
    begin = keyed.at.min().over(of_key)
    if key == "user":
        exposed_at = lib.cases((keyed.variant.notnull(), keyed.at), else_=None)
        begin = lib.coalesce(exposed_at.min().over(of_key), begin)
    timed = keyed.mutate(begin=begin, log_end=keyed.at.max().over(lib.window()))
    return timed.filter(timed.at.isnull() | (timed.at >= timed.begin)) if key == "user" else timed


_KEYS: Mapping[str, str] = {"searches": "query_event_id", "sessions": "session", "people": "user"}
"""The column that tells the rows of a table apart."""


class KpiTables:
    """The tables that KPIs are of, each made when it is first needed.

    Attributes:
        sums: the values of units that were read from the tables, by the name of a KPI, the unit,
            and a flag for single values.
    """

    sums: dict[tuple[str, str, bool], pl.DataFrame]

    def __init__(
        self, base: Database, success: Sequence[str], kpis: Sequence[Kpi], by: Sequence[str]
    ) -> None:
        """Store the settings; tables are made later.

        Args:
            base: has ``events``.
            success: the event by which a session reached its goal.
            kpis: the KPIs that will be computed.
            by: the columns by which the KPIs will be divided.
        """
        self.base = base
        self._chosen = kpis
        self._by = by
        self._dimensions = [name for name in by if name not in (*SLICES, *COLUMNS)]
        self._success = success
        self._made: dict[str, Any] = {}
        self.sums = {}
        rows = events()
        has_user = rows.user.notnull()
        lacks_session = rows.session.isnull() & (has_user | rows.query_event_id.notnull())
        if base.first_value(base.text(rows.aggregate(found=lacks_session.any() & has_user.any()))):
            rows = self._make("visits", with_visits(rows))
        self.rows = rows

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        if name == "events":
            return self.rows.mutate(
                day=self.rows.at.cast("timestamp").date(),
                position=self.rows["rank"],
                **{name: attribute_text(self.rows, name) for name in self._dimensions},
            )
        if name not in self._made:
            self._made[name] = self._make(name, self._with_own_columns(name, self._expression(name)))
        return self._made[name]

    def _expression(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        if name == "searches":
            return self._searches()
        if name == "clicks":
            return clicks(self.rows, self["searches"], self._dimensions)
        if name == "people":
            return people(with_begin(self.rows, "user"), self._dimensions)
        if name == "sessions":
            return sessions(self.rows, self["searches"], self._success, self._dimensions)
        return users(self["sessions"])

    def _with_own_columns(self, name: str, table: Any) -> Any:  # noqa: ANN401 - tables of Ibis
        """The table with the columns that KPIs of a mapping need."""
        kpis = [kpi for kpi in self._chosen if kpi.table == name and kpi.own_columns]
        if not kpis:
            return table
        key = _KEYS[name]
        rows = self.rows.filter(self.rows[key].notnull())
        if key == "user" or any(kpi.window for kpi in kpis):
            rows = with_begin(self.rows, key)
        columns = {column: make(rows) for kpi in kpis for column, make in kpi.own_columns.items()}
        joined = table.left_join(rows.group_by(key).aggregate(**columns), key)
        return joined.drop(f"{key}_right")

    def _searches(self) -> Any:  # noqa: ANN401 - a table of Ibis
        """The searches with only the columns that KPIs read: others take most of the work."""
        search_table = searches(self.rows, self._dimensions)
        more = with_next_search(search_table)
        full = with_bands(more) if "band" in self._by else more
        needed_columns = {column for column in self._by if column in full.columns}
        leaf = load_ibis().table(full.schema(), name="searches")
        if self._dimensions:
            needed_columns |= {"user", "session"}
        for kpi in self._chosen:
            if kpi.table == "searches" and not kpi.own_columns:
                needed_columns |= read_columns(kpi.of(leaf))
            elif kpi.table != "events":
                needed_columns |= SEARCH_COLUMNS
        on_sessions = [
            kpi for kpi in self._chosen if kpi.table in ("sessions", "users") and not kpi.own_columns
        ]
        if on_sessions:
            session_leaf = load_ibis().table(users(sessions(self.rows, leaf)).schema(), name="sessions")
            if any("reformulations" in read_columns(kpi.of(session_leaf)) for kpi in on_sessions):
                needed_columns.add("reformulated")
        source = search_table if needed_columns <= set(search_table.columns) else full
        return source.select([column for column in source.columns if column in needed_columns])

    def _make(self, name: str, expression: Any) -> Any:  # noqa: ANN401 - tables of Ibis
        lib = load_ibis()
        self.base.keep(name, expression)
        return lib.table(lib.schema(expression.schema()), name=name)
