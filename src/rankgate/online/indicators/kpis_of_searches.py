"""KPIs whose rows are searches."""

from __future__ import annotations

from functools import partial
from typing import Any

from rankgate.online.events.event_table import PRICED
from rankgate.online.events.log_checks import Subject
from rankgate.online.indicators.kpi import Kpi
from rankgate.online.indicators.search_tables import NEXT_SEARCH_SECONDS, NULL_IS_FALSE, seconds, value_where

_CLICKS: tuple[Subject, ...] = ("searches", "clicks")
_WIKIMEDIA = "Wikimedia search metrics"

search_kpi = partial(Kpi, table="searches")
click_kpi = partial(search_kpi, needs=("click",), made_of=_CLICKS)


def _ctr_kpi(k: int) -> Kpi:
    return click_kpi(
        f"ctr_at_{k}",
        title=f"Searches with a click at rank {k} or above" if k > 1 else "Searches with a click at rank 1",
        formula=f"searches with a click at rank <= {k} / searches with results",
        source="Alibaba (top5PvCtr)",
        of=lambda t: value_where(t.with_results, (t.top_rank <= k).fill_null(NULL_IS_FALSE)),
        unit="share",
        better="up",
        made_of=(*_CLICKS, "ranks"),
    )


def _seconds_to_click(table: Any) -> Any:  # noqa: ANN401 - a column of Ibis
    """Seconds to the first click; null without a click, or if clocks contradict each other."""
    delay = seconds(table.first_click_at, table.at)
    return value_where(delay >= 0, delay)


def _reciprocal_rank(rank: Any) -> Any:  # noqa: ANN401 - a column of Ibis
    return (1.0 / rank).fill_null(0.0)


def _latency_kpi(p: int) -> Kpi:
    return search_kpi(
        f"latency_p{p}",
        title=f"Latency of searches, {p}th percentile",
        formula=f"quantile {p / 100:g} of latency_ms over searches with a latency",
        of=lambda t: t.latency_ms,
        quantile=p / 100,
        unit="ms",
        better="down",
        made_of=("searches",),
    )


def _click_delay_kpi(name: str, p: float, quantile_name: str) -> Kpi:
    return search_kpi(
        name,
        title=f"Time to the first click, {quantile_name}",
        formula=f"quantile {p:g} of (first click - search) over searches with a click; negative times do not "
        "count",
        of=_seconds_to_click,
        quantile=p,
        unit="seconds",
        better="down",
        made_of=(*_CLICKS, "time", "click times"),
    )


def _resource_kpi(name: str, title: str, unit: Any) -> Kpi:  # noqa: ANN401 - a literal
    return search_kpi(
        name,
        title=title,
        formula=f"mean of attributes.{name} over searches that have it",
        of=lambda t: t[name],
        unit=unit,
        better="down",
        made_of=("searches",),
    )


KPIS = (
    click_kpi(
        "search_ctr",
        title="Searches with a click",
        formula="searches with results and at least one click / searches with results",
        source=f"{_WIKIMEDIA}; Algolia",
        of=lambda t: value_where(t.with_results, t.clicks > 0),
        unit="share",
        better="up",
    ),
    *(_ctr_kpi(k) for k in (1, 3, 5, 10)),
    click_kpi(
        "clicks_per_search",
        title="Clicks per search",
        formula="clicks / searches with results",
        of=lambda t: value_where(t.with_results, t.clicks),
        unit="count",
        better="",
    ),
    click_kpi(
        "abandonment_rate",
        title="Searches with results and no click",
        formula="1 - search_ctr",
        source="Algolia (no click rate)",
        of=lambda t: value_where(t.with_results, t.clicks == 0),
        unit="share",
        better="down",
    ),
    click_kpi(
        "good_abandonment_rate",
        title="Abandoned searches that were answered on the page of results",
        formula="searches without a click, with an answer on the page (attributes.answer), and without "
        f"another search within {NEXT_SEARCH_SECONDS} s / searches without a click where it is known whether "
        "there was an answer",
        source="Li, Huffman and Tokuda 2009",
        of=lambda t: value_where(
            t.with_results & (t.clicks == 0) & t.answer.notnull(), t.answer & ~t.requeried
        ),
        unit="share",
        better="up",
        made_of=(*_CLICKS, "sessions", "time"),
    ),
    click_kpi(
        "quiet_abandonment_rate",
        title="Abandoned searches without a following search",
        formula="searches without a click and without another search within "
        f"{NEXT_SEARCH_SECONDS} s / searches with results and no click; an upper bound of good abandonment "
        "where answers are not logged",
        source="Diriye and others 2012",
        of=lambda t: value_where(t.with_results & (t.clicks == 0) & t.asked, ~t.requeried),
        unit="share",
        better="",
        made_of=(*_CLICKS, "sessions", "time"),
    ),
    search_kpi(
        "zero_result_rate",
        title="Searches without results",
        formula="searches with state zero / searches with state ok or zero",
        source=_WIKIMEDIA,
        of=lambda t: value_where(t.state.isin(["ok", "zero"]), t.state == "zero"),
        unit="share",
        better="down",
        made_of=("searches", "states"),
    ),
    search_kpi(
        "reformulation_rate",
        title="Searches that the user reformulated",
        formula=f"searches followed in their session within {NEXT_SEARCH_SECONDS} s by another query that "
        "shares a word, or has an edit similarity of at least 0.5 / searches with a query, a session and a "
        "time",
        source="Hassan and others 2013",
        of=lambda t: value_where(t.asked, t.reformulated),
        unit="share",
        better="down",
        made_of=("searches", "sessions", "time"),
    ),
    search_kpi(
        "refinement_rate",
        title="Searches to which the user added words",
        formula=f"searches followed within {NEXT_SEARCH_SECONDS} s by a query with all their words and more "
        "/ searches with a query, a session and a time",
        of=lambda t: value_where(t.asked, t.refined),
        unit="share",
        better="down",
        made_of=("searches", "sessions", "time"),
    ),
    search_kpi(
        "reformulation_chain_length",
        title="Searches in a chain of reformulations",
        formula="searches / chains, where a reformulation continues the chain of the search before",
        of=lambda t: t.asked,
        per=lambda t: (t.asked & ~t.reformulated).cast("int64"),
        unit="count",
        better="down",
        made_of=("searches", "sessions", "time"),
    ),
    click_kpi(
        "chain_success_rate",
        title="Chains of reformulations that end with a click",
        formula="chains with a click on the last search / chains",
        source="Hassan and others 2013",
        of=lambda t: value_where(t.asked & ~t.reformulated, t.clicks > 0),
        unit="share",
        better="up",
        made_of=(*_CLICKS, "sessions", "time"),
    ),
    search_kpi(
        "repeated_query_rate",
        title="Searches that were repeated in the same words",
        formula=f"searches followed within {NEXT_SEARCH_SECONDS} s by the same query (next pages included) / "
        "searches with a query, a session and a time",
        of=lambda t: value_where(t.asked, t.repeated),
        unit="share",
        better="down",
        made_of=("searches", "sessions", "time"),
    ),
    click_kpi(
        "mrr_first_click",
        title="Reciprocal rank of the first click",
        formula="mean of 1 / rank of the first click in time, 0 without a click, over searches with results",
        of=lambda t: value_where(t.with_results, _reciprocal_rank(t.first_rank)),
        unit="score",
        better="up",
        made_of=(*_CLICKS, "ranks"),
    ),
    click_kpi(
        "mrr_last_click",
        title="Reciprocal rank of the last click",
        formula="mean of 1 / rank of the last click in time, 0 without a click, over searches with results",
        of=lambda t: value_where(t.with_results, _reciprocal_rank(t.last_rank)),
        unit="score",
        better="up",
        made_of=(*_CLICKS, "ranks"),
    ),
    _click_delay_kpi("time_to_first_click_p50", 0.5, "median"),
    _click_delay_kpi("time_to_first_click_p95", 0.95, "95th percentile"),
    click_kpi(
        "return_rate",
        title="Searches in which the user returned to the results after a click",
        formula="searches with a second click / searches with a click",
        source=f"{_WIKIMEDIA} (desktop return rate)",
        of=lambda t: value_where(t.clicks > 0, t.clicks > 1),
        unit="share",
        better="",
    ),
    search_kpi(
        "add_to_cart_rate",
        title="Searches that led to an addition to the cart",
        formula="searches with an add_to_cart / searches with results",
        of=lambda t: value_where(t.with_results, t.carts > 0),
        unit="share",
        better="up",
        needs=("add_to_cart",),
        made_of=(*_CLICKS, "carts"),
    ),
    search_kpi(
        "conversion_rate",
        title="Searches that led to a purchase",
        formula="searches with a purchase / searches with results",
        source="last-touch attribution by query id",
        of=lambda t: value_where(t.with_results, t.purchases > 0),
        unit="share",
        better="up",
        needs=("purchase",),
        made_of=(*_CLICKS, "purchases"),
    ),
    search_kpi(
        "revenue_per_search",
        title="Revenue per search",
        formula="value of purchases of the search / searches with results; null where the log has no prices",
        of=lambda t: value_where(t.with_results, t.revenue.fill_null(0.0)),
        unit="money",
        better="up",
        needs=(PRICED,),
        made_of=("searches", "revenue", "purchases"),
    ),
    search_kpi(
        "revenue_per_search_winsorised",
        title="Revenue per search, large sums cut off",
        formula="as revenue_per_search, with each sum cut off at the 99.9th percentile of sums above 0",
        of=lambda t: value_where(t.with_results, t.revenue.fill_null(0.0)),
        cap=0.999,
        unit="money",
        better="up",
        needs=(PRICED,),
        made_of=("searches", "revenue", "purchases"),
    ),
    *(_latency_kpi(p) for p in (50, 95, 99)),
    search_kpi(
        "cache_hit_rate",
        title="Searches answered by a cache",
        formula="cache hits / (hits + misses)",
        of=lambda t: t.cache_hit,
        unit="share",
        better="up",
        made_of=("searches",),
    ),
    search_kpi(
        "error_rate",
        title="Searches that failed",
        formula="searches with state failed / searches with a state; null where the log has states only from "
        "the number of results",
        of=lambda t: t.state == "failed",
        unit="share",
        better="down",
        made_of=("searches", "states"),
    ),
    _resource_kpi("inference_ms", "Time of the model per search", "ms"),
    _resource_kpi("cpu_ms", "Processor time per search", "ms"),
    _resource_kpi("memory_mb", "Memory per search", "MB"),
)
"""Of searches, in the order of the docs."""
