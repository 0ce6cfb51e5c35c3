"""KPIs of a log that is small enough to count by hand."""

import json
import math
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from online.logs import event, honest, search, stamp, written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.online.indicators.kpi_catalogue import KPIS
from support.wording import raises


def row(kind, query, session, user, at, **more):
    return {
        "type": kind,
        "q": query[0],
        "words": query[1],
        "visit": session,
        "who": user,
        "when": stamp(at),
        **more,
    }


ROWS = [
    # session v1 of ann: a search that is reformulated, two clicks, a purchase
    row("search", ("s1", "red shoe"), "v1", "ann", 0, hits=2, ms=10.0, hit=True, arm="a"),
    row("impression", ("s1", None), "v1", "ann", 0, doc="x", pos=1),
    row("impression", ("s1", None), "v1", "ann", 0, doc="y", pos=2),
    row("search", ("s2", "red shoes women"), "v1", "ann", 20, hits=3, ms=30.0, hit=False, arm="a"),
    *(row("impression", ("s2", None), "v1", "ann", 20, doc=d, pos=p) for p, d in enumerate("abc", 1)),
    row("click", ("s2", None), "v1", "ann", 24, doc="b", pos=2),
    row("click", ("s2", None), "v1", "ann", 29, doc="a", pos=1),
    row("purchase", ("s2", None), "v1", "ann", 60, doc="a", money=40.0),
    # session v2 of bob: no results, then the same words again, then an answer on the page
    row("search", ("s3", "tv"), "v2", "bob", 100, hits=0, ms=20.0, hit=False, arm="b"),
    row("search", ("s4", "tv"), "v2", "bob", 130, state="failed", arm="b"),
    row("search", ("s5", "weather"), "v2", "bob", 1000, hits=1, ms=40.0, arm="b", more='{"answer": true}'),
    row("impression", ("s5", None), "v2", "bob", 1000, doc="w", pos=1),
    # session v3 of ann, two days later: one click that is the last of its session
    row("search", ("s6", "bag"), "v3", "ann", 172_800, hits=1, arm="a"),
    row("impression", ("s6", None), "v3", "ann", 172_800, doc="g", pos=1),
    row("click", ("s6", None), "v3", "ann", 172_802, doc="g", pos=1),
    row("refund", ("s2", None), "v3", "ann", 172_900, doc="a", money=40.0),
    row("survey", (None, None), "v3", "ann", 172_950, money=4),
]

MAPPING = """
[columns]
action = "type"
query_event_id = "q"
query = "words"
session = "visit"
user = "who"
at = "when"
hits = "hits"
latency_ms = "ms"
cache_hit = "hit"
variant = "arm"
doc_id = "doc"
rank = "pos"
value = "money"
state = "state"
attributes = "more"
"""

EXPECTED = {
    "search_ctr": 2 / 4,
    "ctr_at_1": 2 / 4,
    "clicks_per_search": 3 / 4,
    "abandonment_rate": 2 / 4,
    "good_abandonment_rate": 1 / 1,
    "quiet_abandonment_rate": 1 / 2,
    "zero_result_rate": 1 / 5,
    "reformulation_rate": 1 / 6,
    "refinement_rate": 0 / 6,
    "reformulation_chain_length": 6 / 5,
    "chain_success_rate": 2 / 5,
    "repeated_query_rate": 1 / 6,
    "mrr_first_click": (1 / 2 + 1) / 4,
    "mrr_last_click": (1 + 1) / 4,
    "time_to_first_click_p50": 3.0,
    "return_rate": 1 / 2,
    "conversion_rate": 1 / 4,
    "revenue_per_search": 40 / 4,
    "latency_p50": 25.0,
    "latency_p99": 39.7,
    "cache_hit_rate": 1 / 3,
    "error_rate": 1 / 6,
    "impression_ctr": 3 / 7,
    "goods_return_rate": 1.0,
    "survey_score": 4.0,
    "mean_click_rank": 4 / 3,
    "dwell_p50": 5.0,
    "satisfied_click_rate": 2 / 3,
    "quick_back_rate": 1.0,
    "session_ctr": 2 / 3,
    "searches_per_session": 6 / 3,
    "pages_per_session": (4 + 3 + 2) / 3,
    "session_duration": (60 + 900 + 150) / 3,
    "bounce_rate": 0.0,
    "session_return_rate": 1 / 2,
    "reformulations_per_session": 1 / 3,
    "session_success_rate": 1 / 3,
    "searches_per_success": 6 / 1,
    "pages_per_success": (4 + 3 + 2) / 1,
    "time_to_success_p50": 60.0,
    "session_conversion_rate": 1 / 3,
    "revenue_per_session": 40 / 3,
    "repeat_visit_rate": 1.0,
    "days_to_return_p50": (172_800 - 60) / 86_400,
}
UNDEFINED = {"add_to_cart_rate", "inference_ms", "cpu_ms", "memory_mb"}
ALIKE = {
    "ctr_at_3": "search_ctr",
    "ctr_at_5": "search_ctr",
    "ctr_at_10": "search_ctr",
    "latency_p95": None,
    "time_to_first_click_p95": None,
    "revenue_per_search_winsorised": "revenue_per_search",
    "revenue_per_session_winsorised": "revenue_per_session",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kpi")
    (folder / "map.toml").write_text(MAPPING)
    written(folder / "log.jsonl", ROWS)
    return folder


@pytest.fixture(scope="module")
def table(place):
    return online.kpi(
        online.Events(place / "log.jsonl", mapping=place / "map.toml", despite=True),
        by=("day", "variant", "position"),
    )


@pytest.mark.parametrize("name", KPIS)
def test_a_kpi_is_what_its_definition_says(table, name):
    value = table[name]
    if name in UNDEFINED:
        assert value is None
    elif name in EXPECTED:
        assert value == pytest.approx(EXPECTED[name], rel=1e-12)
    elif ALIKE[name]:
        assert value == pytest.approx(table[ALIKE[name]])


def test_it_is_divided_by_day_variant_and_position(table):
    values = {(row["by"], row["slice"], row["kpi"]): row["value"] for row in table.values.to_dicts()}
    assert values["day", "2026-03-02", "search_ctr"] == 1 / 3
    assert values["day", "2026-03-04", "search_ctr"] == 1.0
    assert values["variant", "b", "zero_result_rate"] == 1 / 2
    assert values["position", "1", "impression_ctr"] == 2 / 4
    assert values["position", "3", "impression_ctr"] == 0.0
    assert values["day", "2026-03-04", "latency_p50"] is None


def test_large_sums_are_cut_off(tmp_path):
    rows = [event_row for event_row in honest(1500) if event_row.get("action_name") != "click"]
    rows += [
        event(
            "purchase",
            n,
            n * 60 + 5,
            0,
            event_attributes={"value": 1e6 if n == 7 else 10, "object": {"object_id": "d0"}},
        )
        for n in range(1500)
    ]
    kpis = online.kpi(
        written(tmp_path / "log.ndjson", rows),
        checks=False,
        by=(),
        names=("revenue_per_search", "revenue_per_search_winsorised"),
    )
    assert kpis["revenue_per_search"] == (1499 * 10 + 1e6) / 1500
    # the 99.9th percentile lies between the two largest of 1,500 sums
    cap = 10 + (0.999 * 1499 - 1497) * 0
    cap = 10 if math.floor(0.999 * 1499) < 1498 else cap
    assert kpis["revenue_per_search_winsorised"] == pytest.approx(cap)


def test_a_fault_blocks_what_it_spoils(tmp_path):
    rows = [
        *honest(),
        event("purchase", 1, 90, 0, event_attributes={"value": -5, "object": {"object_id": "d0"}}),
    ]
    log = written(tmp_path / "log.ndjson", rows)
    kpis = online.kpi(log, by=())
    assert kpis.blocked["revenue_per_search"] == ("negative-revenue",)
    assert kpis["revenue_per_search"] is None
    assert kpis["search_ctr"] == 20 / 60
    assert {notice.code for notice in kpis.notices} == {"negative-revenue", "blocked-kpis"}
    name = "revenue_per_search"
    assert online.kpi(online.Events(log, despite=True), (name,), by=())[name] == -5 / 60


def test_bots_and_repeated_events_can_be_left_out(tmp_path):
    bots = [search(1000 + n, n) for n in range(60)] + [
        event("impression", 1000 + n, n, 0, session_id="bot") for n in range(60)
    ]
    click = next(event_row for event_row in honest() if event_row.get("action_name") == "click")
    log = written(tmp_path / "log.ndjson", [*honest(), *bots, click])
    names = ("search_ctr", "clicks_per_search")
    plain = online.kpi(online.Events(log, despite=True), names, by=())
    clean = online.kpi(
        online.Events(log, despite=True, without_bots=True, without_duplicates=True), names, by=()
    )
    assert plain["clicks_per_search"] == 21 / 120
    assert clean["clicks_per_search"] == clean["search_ctr"] == 20 / 60
    assert len(clean.excluded) == 2


@pytest.mark.parametrize(
    ("success", "share", "seconds"),
    [
        (("survey", "click"), 2 / 3, (24 + 2) / 2),
        (("survey>=4",), 1 / 3, 150),
        (("survey > 4",), 0, None),
        (("click and survey >= 4",), 1 / 3, 150),
        (("purchase and survey",), 0, None),
        (("refund", "purchase >= 40"), 2 / 3, (60 + 100) / 2),
    ],
)
def test_success_is_what_the_user_declares(place, success, share, seconds):
    names = ("session_success_rate", "time_to_success_p50")
    kpis = online.kpi(
        online.Events(place / "log.jsonl", mapping=place / "map.toml", success=success), names, by=()
    )
    assert kpis["session_success_rate"] == share
    assert kpis["time_to_success_p50"] == seconds


def test_null_is_not_zero(tmp_path):
    rows = [*honest(), event("purchase", 1, 90, 0), {**search(900, 1), "query_response_hit_ids": []}]
    log = written(tmp_path / "log.ndjson", rows)
    names = ("goods_return_rate", "error_rate", "add_to_cart_rate", "latency_p50")
    kpis = online.kpi(log, names, by=())
    assert [kpis[name] for name in names] == [None] * 4
    assert online.kpi(log, ("zero_result_rate",), by=())["zero_result_rate"] == 1.0


def test_a_search_of_several_records_has_its_best_state(tmp_path):
    attributes = {"query_response_hit_ids": []}
    rows = [
        *honest(2),
        search(0, 50, **attributes),
        search(1, 110, **attributes),
        search(7, 300, **attributes),
    ]
    kpis = online.kpi(online.Events(written(tmp_path / "log.ndjson", rows), despite=True), by=())
    # both honest searches showed results, whatever the later records say
    assert kpis["zero_result_rate"] == 1 / 3


def test_words_that_name_nothing(place):
    with raises("unknown-KPI", UsageError):
        online.kpi(online.Events(place / "log.jsonl", mapping=place / "map.toml"), ("ctr",))
    with raises("invalid-goal", UsageError):
        online.kpi(online.Events(place / "log.jsonl", mapping=place / "map.toml", success=("a >= b",)))
    with raises("unknown-slice", UsageError):
        online.kpi(online.Events(place / "log.jsonl", mapping=place / "map.toml"), by=("week",))


SHOP = """[columns]
at = "when"
user = "who"
action = "event"
doc_id = "item"
"""
EVENTS = ["view"] * 90 + ["login"] * 5 + ["transaction"] * 5


def shop(tmp_path, kinds="", names=EVENTS):
    """A log of a shop with other names of actions, and its mapping."""
    rows = [f"{stamp(n)},u{n % 9},{name},i{n % 7}" for n, name in enumerate(names)]
    (tmp_path / "shop.csv").write_text("\n".join(["when,who,event,item", *rows]) + "\n")
    (tmp_path / "shop.toml").write_text(SHOP + kinds)
    return tmp_path / "shop.csv", tmp_path / "shop.toml"


def test_actions_without_a_kind_are_named_with_their_share_and_the_lines_to_add(tmp_path):
    log, mapping = shop(tmp_path)
    result = online.kpi(online.Events(log, mapping=mapping))
    (finding,) = (entry for entry in result.findings if entry.code == "unmapped-actions")
    assert (finding.count, finding.total) == (95, 100)
    (text,) = (entry.text for entry in result.notices if entry.code == "unmapped-actions")
    for phrase in ("view (90)", "login (5)", "95.00%", 'impression = ["view"]', 'other = ["login"]'):
        assert phrase in text
    diagnosis = online.doctor(online.Events(log, mapping=mapping))
    assert finding in diagnosis.findings
    lines = 'click = ["view"]\nother = ["login"]\n'
    log, mapping = shop(tmp_path, f"[kinds]\n{lines}")
    result = online.kpi(online.Events(log, mapping=mapping))
    codes = {entry.code for entry in result.findings}
    assert not codes & {"clicks-without-search", "unmapped-actions"}  # a log of clicks alone
    assert result["search_ctr"] is None


def test_a_log_of_clicks_alone_has_their_ranks(tmp_path):
    log = tmp_path / "clicks.csv"
    log.write_text(
        "created_at,query,click,rank\n2026-06-10 00:00:00,co2,/a,3\n2026-06-10 00:01:00,co2,/b,1\n"
    )
    mapping = tmp_path / "clicks.toml"
    mapping.write_text(
        '[log]\nkind = "click"\n[columns]\nat = "created_at"\nquery = "query"\n'
        'doc_id = "click"\nrank = "rank"\n'
    )
    result = online.kpi(online.Events(log, mapping=mapping), ("mean_click_rank",))
    assert result["mean_click_rank"] == 2.0


def test_a_log_with_nothing_usable_is_an_error(tmp_path, run):
    log, mapping = shop(tmp_path)
    with raises("no-usable-events", InputError) as error:
        online.kpi(online.Events(log, mapping=mapping), ["search_ctr"])
    assert 'impression = ["view"]' in str(error.value)
    assert run("online", "kpi", log, "--mapping", mapping, "-k", "search_ctr").code == 2
    for command in (online.kpi, online.doctor, lambda log: online.ingest(log, tmp_path / "events")):
        with raises("no-usable-events", InputError) as error:
            command(log)
        assert "--mapping" in str(error.value)
        assert "when, who, event, item" in str(error.value)
    assert not list(tmp_path.glob("events/*"))
    log, mapping = shop(tmp_path, names=["view"] * 9)
    with raises("no-usable-events", InputError):
        online.doctor(online.Events(log, mapping=mapping))


def test_kinds_alone_add_to_the_actions_of_ubi(tmp_path):
    rows = [
        {**row, "action_name": "Product-Tap"} if row.get("action_name") == "click" else row
        for row in honest()
    ]
    log = written(tmp_path / "log.ndjson", rows)
    assert online.kpi(log, by=())["search_ctr"] is None
    mapping = tmp_path / "more.toml"
    mapping.write_text('[kinds]\nclick = ["product-tap"]\n')
    kpis = online.kpi(online.Events(log, mapping=mapping), ("search_ctr",), by=())
    assert kpis["search_ctr"] == pytest.approx(20 / 60)


def test_every_kpi_blocked_is_exit_3_and_stands_in_json(tmp_path, run):
    lost = [event("click", n, 9, 0, query_id=f"other{n}") for n in range(40)]
    log = written(tmp_path / "log.ndjson", [*honest(), *lost])
    blocked = run("online", "kpi", log, "-k", "search_ctr", "--format", "json")
    assert blocked.code == 3
    values = json.loads(blocked.out)
    assert values["values"] == [{"kpi": "search_ctr", "by": "all", "slice": "", "value": None, "n": 0}]
    assert values["blocked"] == {"search_ctr": ["clicks-without-search"]}
    assert [finding["code"] for finding in values["findings"]] == ["clicks-without-search"]
    partly_blocked = run("online", "kpi", log, "-k", "search_ctr", "-k", "session_duration")
    assert partly_blocked.code == 0
    assert "has nothing for" not in partly_blocked.out
    assert run("online", "kpi", log, "-k", "search_ctr", "--despite").code == 0


def test_ranks_of_clicks_need_no_sessions(tmp_path):
    rows = [
        {name: value for name, value in row.items() if name not in ("session_id", "client_id")}
        for row in honest()
    ]
    result = online.kpi(written(tmp_path / "log.ndjson", rows), by=())
    ranks = [number % 4 + 1 for number in range(0, 60, 3)]
    assert result["mean_click_rank"] == pytest.approx(sum(ranks) / len(ranks))
    for name in ("dwell_p50", "satisfied_click_rate", "quick_back_rate"):
        assert result[name] is None


def test_clicks_with_and_without_sessions_together():
    """Six clicks at ranks 1 to 3 have a session; only they count for dwells."""
    table = pl.DataFrame(
        [
            {
                "kind": kind,
                "query_event_id": f"s{n}",
                "session": f"v{n}" if n < 6 else None,
                "at": datetime(2026, 3, 2, 8, n, 10 * (kind == "click"), tzinfo=UTC),
                "doc_id": f"d{n}",
                "rank": n % 3 + 1 if kind == "click" else None,
                "source_line": n,
            }
            for n in range(9)
            for kind in ("search", "click")
        ],
        infer_schema_length=None,
    )
    first = table.filter(pl.col("kind") == "click", pl.col("session") == "v0")
    second = first.with_columns(pl.col("at") + timedelta(seconds=5), doc_id=pl.lit("e"))
    table = pl.concat([table, second])
    result = online.kpi(table, by=())
    assert result["mean_click_rank"] == pytest.approx((3 * (1 + 2 + 3) + 1) / 10)
    assert result["dwell_p50"] == 5
    assert result["satisfied_click_rate"] == pytest.approx(6 / 7)  # the first click of v0 is not
