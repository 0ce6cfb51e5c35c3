"""The mapping that ``rankgate online map`` writes reads the log; presets read the logs of products."""

import json
import tomllib

import polars as pl
import pytest

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.online.events.mapping_draft import draft_mapping
from support.wording import raises

GERMAN = """ts;visit_id;visitor;search_term;action;product_no;pos;test_group
01.09.2026 08:02:13;v1;u1;tv;search;;;A
01.09.2026 08:02:20;v1;u1;;tap;p7;1;A
13.09.2026 09:15:00;v2;u2;tv;search;;;B
13.09.2026 09:15:30;v2;u2;;detail;p7;2;B
13.09.2026 09:25:30;v3;u3;radio;search;;;B
"""


def parameter(key, **value):
    return {"key": key, "value": value}


def ga4(name, second, session="77", items=(), **more):
    return {
        "event_timestamp": str(1772442000000000 + second * 1_000_000),
        "event_name": name,
        "event_params": [
            *([parameter("search_term", string_value=more.pop("term"))] if "term" in more else []),
            parameter("ga_session_id", int_value=session),
        ],
        "user_pseudo_id": f"p{session}",
        "geo": {"country": "Germany"},
        "items": list(items),
        **more,
    }


def ga4_item(item, index=None, **more):
    return {"item_id": item, **({"item_list_index": index} if index else {}), **more}


SHOWN = (ga4_item("a", "1"), ga4_item("b", "2"))
GA4 = [
    ga4("page_view", 0),
    ga4("view_search_results", 1, term="tv"),
    ga4("view_item_list", 2, items=SHOWN),
    ga4("select_item", 9, items=[ga4_item("b", "2")]),
    ga4(
        "purchase", 60, items=[ga4_item("b", price=20.0, quantity="2")], ecommerce={"purchase_revenue": 41.0}
    ),
    ga4("view_search_results", 3, "78", term="radio"),
    ga4("view_item_list", 4, "78", items=SHOWN),
]


def segment(event, second, user="a1", **properties):
    return {
        "type": "track",
        "event": event,
        "messageId": f"{user}-{second}",
        "anonymousId": user,
        "timestamp": f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z",
        "properties": properties,
    }


def products(*ids, **more):
    return [{"product_id": name, "position": rank, **more} for rank, name in enumerate(ids, 1)]


SEGMENT = [
    segment("Products Searched", 1, query="tv", products=products("a", "b")),
    segment("Product Clicked", 9, product_id="b", position=2),
    segment("Order Completed", 60, total=45.0, products=products("b", price=20, quantity=2)),
    segment("Products Searched", 3, "a2", query="radio", products=products("a", "b")),
]

_ECOMMERCE = "com_snowplowanalytics_snowplow_ecommerce"


def snowplow(name, second, session="d1", terms=None, ids=(), **more):
    return {
        "event_id": f"{session}-{second}",
        "collector_tstamp": f"2026-03-02T09:00:{second:02}.000Z",
        "event_name": "site_search" if terms else "snowplow_ecommerce_action",
        "domain_sessionid": session,
        "domain_userid": "u" + session,
        **(
            {
                "unstruct_event_com_snowplowanalytics_snowplow_site_search_1": {
                    "terms": terms,
                    "total_results": 2,
                }
            }
            if terms
            else {f"unstruct_event_{_ECOMMERCE}_snowplow_ecommerce_action_1": {"type": name}}
        ),
        f"contexts_{_ECOMMERCE}_product_1": [
            {"id": item, "position": rank, **more} for rank, item in enumerate(ids, 1)
        ],
    }


SNOWPLOW = [
    snowplow("", 1, terms=["red", "tv"]),
    snowplow("list_view", 2, ids=["a", "b"]),
    snowplow("list_click", 9, ids=["b"]),
    snowplow("transaction", 50, ids=["b"], price=20.0, quantity=2),
    snowplow("", 3, "d2", terms=["radio"]),
    snowplow("list_view", 4, "d2", ids=["a", "b"]),
]

UBI = [
    {
        "_index": "ubi_queries",
        "_source": {"query_id": name, "client_id": name, "user_query": name, "timestamp": 1767225600000},
    }
    for name in ("tv", "radio")
] + [
    {
        "_index": "ubi_events",
        "_source": {
            "action_name": action,
            "query_id": query,
            "client_id": query,
            "timestamp": 1767225610000,
            "event_attributes": {"object": {"object_id": item}, "position": {"ordinal": rank}, **more},
        },
    }
    for action, query, item, rank, more in (
        ("impression", "tv", "a", 1, {}),
        ("impression", "tv", "b", 2, {}),
        ("impression", "radio", "a", 1, {}),
        ("impression", "radio", "b", 2, {}),
        ("click", "tv", "b", 2, {}),
        ("purchase", "tv", "b", 2, {"value": 40.0}),
    )
]
PRODUCTS = {"ga4": GA4, "segment": SEGMENT, "snowplow": SNOWPLOW, "ubi": UBI}
KPIS = ("search_ctr", "mean_click_rank", "impression_ctr", "conversion_rate", "revenue_per_search")


def write(path, records):
    if path.suffix == ".json":
        path.write_text(json.dumps(records, indent=1))
    elif path.suffix == ".parquet":
        pl.DataFrame(records, infer_schema_length=None).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def values(log, mapping, names=KPIS):
    table = online.kpi(online.Events(log, mapping), names, by=(), checks=False)
    return {name: table[name] for name in names}


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_preset_reads_the_log_of_its_product(tmp_path, product):
    log = write(tmp_path / "log.ndjson", PRODUCTS[product])
    clicked_rank = 1.0 if product == "snowplow" else 2.0  # the click of its context is listed alone
    expected = dict(zip(KPIS, (0.5, clicked_rank, 0.25, 0.5, 20.0), strict=True))
    assert values(log, product) == expected
    (tmp_path / "log.toml").write_text(draft_mapping(log, preset=product))
    assert values(log, tmp_path / "log.toml") == expected


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_product_is_recognized_in_every_format(tmp_path, suffix):
    log = write(tmp_path / f"log{suffix}", GA4)
    (tmp_path / "log.toml").write_text(draft_mapping(log))
    assert values(log, tmp_path / "log.toml")["revenue_per_search"] == 20.0


def test_the_words_of_a_search_may_be_a_list(tmp_path):
    log = online.ingest(write(tmp_path / "log.ndjson", SNOWPLOW), tmp_path / "events", mapping="snowplow")
    queries = pl.read_parquet(f"{log.folder}/*.parquet")["query"].drop_nulls().unique().sort()
    assert queries.to_list() == ["radio", "red tv"]


def test_an_own_log_gets_its_mapping(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(GERMAN)
    assert run("online", "map", "visits.csv", "--kind", "detail=click", "-o", "log.toml").code == 0
    text = (tmp_path / "log.toml").read_text()
    assert 'time_format = "%d.%m.%Y %H:%M:%S"' in text
    assert 'query = "search_term"  # tv, radio' in text
    assert values("visits.csv", "log.toml", ("search_ctr", "mean_click_rank")) == {
        "search_ctr": pytest.approx(2 / 3),
        "mean_click_rank": 1.5,
    }
    days = online.kpi(online.Events("visits.csv", "log.toml"), ["search_ctr"]).values.filter(by="day")
    assert days["slice"].to_list() == ["2026-09-01", "2026-09-13"]


def test_values_are_no_lines_of_the_mapping(tmp_path):
    log = write(
        tmp_path / "log.ndjson",
        [
            {"ts": "2026-03-01T08:00:00Z", "visit_id": "v", "q": "tv\n[kinds]\x1b\x00", "action": "search"},
            {"ts": "2026-03-01T08:00:09Z", "visit_id": "v", "q": None, "action": 'tap "it"\n\x07'},
        ],
    )
    text = draft_mapping(log)
    assert tomllib.loads(text)["kinds"] == {"search": ["search"], "click": ['tap "it"\n\x07']}
    (tmp_path / "log.toml").write_text(text)
    assert values(log, tmp_path / "log.toml", ("search_ctr",)) == {"search_ctr": 1.0}


def test_what_is_not_known_is_asked(tmp_path):
    (tmp_path / "visits.csv").write_text(GERMAN.replace("13.09.2026", "09.01.2026").replace(".", "/"))
    asked = []

    def answer(question, choices, _default):
        asked.append(question)
        return {"%m/%d/%Y %H:%M:%S": "%m/%d/%Y %H:%M:%S"}.get(choices[-1], "click")

    text = draft_mapping(tmp_path / "visits.csv", ask=answer)
    assert ("%m/%d/%Y" in text, 'click = ["detail", "tap"]' in text, len(asked)) == (True, True, 2)


def test_what_is_not_known_is_an_error_without_a_terminal(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(GERMAN.replace("13.09.2026", "09.01.2026").replace(".", "/"))
    with raises("unknown-time-format", InputError) as caught:
        draft_mapping(path)
    assert caught.value.suggestions[0] == "--time-format '%d/%m/%Y %H:%M:%S'"
    path.write_text("a,b\n1,2\n")
    with raises("unknown-columns", InputError):
        draft_mapping(path)
    with raises("unknown-name", UsageError):
        draft_mapping(path, columns={"qury": "a"})


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
@pytest.mark.parametrize("line", ['variant = "arm"', '[dimensions]\ncountry = "geo.country"'])
def test_a_path_that_no_record_has_is_an_error(tmp_path, suffix, line):
    frame = pl.DataFrame({"q": ["tv"], "a": ["search"], "ts": ["2026-01-01T00:00:00Z"]})
    log = tmp_path / f"log.{suffix}"
    frame.write_csv(log) if suffix == "csv" else frame.write_ndjson(log)
    mapping = tmp_path / "log.toml"
    mapping.write_text(f'[columns]\nquery = "q"\naction = "a"\nat = "ts"\n{line}\n')
    with raises("missing-column", InputError, source=str(log)):
        online.kpi(online.Events(log, mapping), ["search_ctr"])


def test_a_key_that_is_always_null_is_no_error(tmp_path):
    log = write(tmp_path / "log.ndjson", [{"q": "tv", "a": "search", "ts": "2026-01-01", "arm": None}])
    (tmp_path / "log.toml").write_text('[columns]\nquery = "q"\naction = "a"\nat = "ts"\nvariant = "arm"\n')
    assert online.ingest(log, tmp_path / "events", mapping=tmp_path / "log.toml").event_count == 1


def test_counts_by_rank_teach_judgments(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts.csv").write_text(
        "query,product,position,impressions,clicks\n"
        "tv,a,1,1000,300\ntv,a,2,500,80\ntv,b,2,900,220\ntv,b,1,700,410\n"
    )
    result = online.judgments("counts.csv", model="pbm", held_out=0)
    value = dict(result.judged.select("doc_id", "value").iter_rows())
    assert value["b"] > 1.5 * value["a"]
    assert result.searches == 3100
    assert online.judgments("counts.csv", model="dbn", held_out=0).judged.is_empty()
    refused = run("online", "kpi", "counts.csv")
    assert (refused.code, "rankgate online judgments counts.csv -o qrels.csv" in refused.err) == (2, True)
    (tmp_path / "counts.csv").write_text("query,product,position,impressions,clicks\ntv,a,1,3,4\n")
    with raises("invalid-count", InputError, line=2):
        online.judgments("counts.csv")


def test_only_columns_are_named_as_not_used(tmp_path):
    header, *lines = GERMAN.splitlines()
    (tmp_path / "log.csv").write_text("\n".join([f"{header};note", *(f"{line};x" for line in lines)]) + "\n")
    assert draft_mapping(tmp_path / "log.csv").endswith("\n# not used: note\n")
    (tmp_path / "all.csv").write_text(GERMAN)
    assert "# not used" not in draft_mapping(tmp_path / "all.csv")
