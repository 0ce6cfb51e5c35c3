"""Logs of every variant become the same table of events."""

import gzip
import json

import polars as pl
import pytest

from online.logs import event, honest, search, stamp, written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.online.events.event_table import COLUMNS
from support.wording import raises


def events_of(folder):
    return pl.read_parquet(folder / "part-*.parquet").sort("source_line", "event_id")


def read(tmp_path, rows, **options):
    log = written(tmp_path / "log.ndjson", rows)
    online.ingest(log, tmp_path / "events", **options)
    return events_of(tmp_path / "events")


def test_ubi_becomes_events_with_ranks_from_one(tmp_path):
    table = read(tmp_path, honest(3))
    assert table.columns == list(COLUMNS)
    assert (
        table["kind"].to_list()
        == ["search", *["impression"] * 4, "click"] + ["search", *["impression"] * 4] * 2
    )
    first = table.row(1, named=True)
    assert first["rank"] == 1
    assert first["doc_id"] == "d0"
    assert (first["source_file"], first["source_line"]) == ("log.ndjson", 2)
    assert first["at"].isoformat() == "2026-03-02T08:00:01+00:00"
    assert first["session"] == "v0"
    assert table["query"][0] == "words 0"


def test_variants_of_ubi_are_the_same_events(tmp_path):
    rows = honest(3)
    plain = read(tmp_path, rows).drop("event_id", "source_line", "source_file", "attributes")
    text = json.dumps(rows).replace('"ordinal"', '"index"')
    old = json.loads(text.replace('"click"', '"click_through"'))
    bulk = tmp_path / "bulk.ndjson"
    bulk.write_text("".join(f'{{"index": {{"_index": "ubi"}}}}\n{json.dumps(row)}\n\n' for row in old))
    tabs = tmp_path / "tabs.txt.gz"
    tabs.write_bytes(gzip.compress("".join(f"ubi_events\t{json.dumps(row)}\r\n" for row in rows).encode()))
    epochs = json.loads(json.dumps(rows))
    for row in epochs:
        from datetime import datetime

        row["timestamp"] = int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000)
    written(tmp_path / "epoch.jsonl", epochs)
    flat = pl.DataFrame(
        [
            {
                **{
                    key: row.get(key)
                    for key in (
                        "action_name",
                        "query_id",
                        "session_id",
                        "client_id",
                        "timestamp",
                        "user_query",
                    )
                },
                "event_attributes": json.dumps(row.get("event_attributes")),
            }
            for row in rows
        ]
    )
    flat.write_csv(tmp_path / "log.csv")
    flat.write_parquet(tmp_path / "log.parquet")
    for name in ("bulk.ndjson", "tabs.txt.gz", "epoch.jsonl", "log.csv", "log.parquet"):
        online.ingest(tmp_path / name, tmp_path / f"events-{name}")
        events = events_of(tmp_path / f"events-{name}").drop(
            "event_id", "source_line", "source_file", "attributes"
        )
        renamed_action = pl.col("action").replace("click_through", "click")
        assert events.with_columns(renamed_action).equals(plain), name


def test_lists_of_results_are_impressions_where_there_are_none(tmp_path):
    rows = [search(1, 0, query_response_hit_ids=["a", "b"]), search(2, 9, query_response_hit_ids=[])]
    table = read(tmp_path, [*rows, event("click", 1, 5, 0, "a")])
    impressions = table.filter(kind="impression")
    assert impressions.select("doc_id", "rank").rows() == [("a", 1), ("b", 2)]
    assert table.filter(kind="search")["state"].to_list() == ["ok", "zero"]


def test_a_mapping_reads_other_logs(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(
        "visit,q,pos,item,clicked,when\n1,tv,0,a,False,2026-03-02 09:00\n1,tv,1,b,True,2026-03-02 09:00\n"
    )
    mapping = tmp_path / "map.toml"
    mapping.write_text(
        '[log]\nkind = "impression"\ntime_zone = "Europe/Berlin"\n[columns]\nat = "when"\n'
        'session = "visit"\nquery = "q"\nquery_event_id = "visit+q"\nrank = "pos"\n'
        'doc_id = "item"\n[flags]\nclick = "clicked"\n'
    )
    result = online.ingest(log, tmp_path / "events", mapping=mapping)
    table = events_of(tmp_path / "events")
    assert table.select("kind", "doc_id", "rank").rows() == [
        ("impression", "a", 1),
        ("impression", "b", 2),
        ("click", "b", 2),
    ]
    assert table["at"][0].isoformat() == "2026-03-02T08:00:00+00:00"
    assert [notice.code for notice in result.notices] == []  # the mapping names the zone


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[columns]\nat = "t"\n[log]\nkind = "klick"\n', 4),
        ('[columns]\nwhen = "t"\n', 2),
        ('[columns]\nat = "t"\n', 1),
        ('[log]\nkind = "click"\ntime_zone = "Mars"\n[columns]\nat = "t"\n', 3),
    ],
)
def test_a_wrong_mapping_names_its_line(tmp_path, text, line):
    (tmp_path / "map.toml").write_text(text)
    log = written(tmp_path / "log.ndjson", honest(1))
    with raises("invalid-mapping", InputError) as caught:
        online.ingest(log, tmp_path / "events", mapping=tmp_path / "map.toml")
    assert caught.value.line == line


def test_files_are_read_once(tmp_path):
    first = written(tmp_path / "a.ndjson", honest(2))
    second = written(tmp_path / "b.ndjson", honest(3))
    online.ingest(first, tmp_path / "events")
    result = online.ingest([first, second], tmp_path / "events")
    assert result.files["new"].to_list() == [False, True]
    assert result.files["events"].sum() == 11 + 16
    with raises("different-events", UsageError):
        online.ingest(second, tmp_path / "events", privacy=online.Privacy(queries="drop"))
    third = written(tmp_path / "c.ndjson", honest(4, base=1))
    with raises("mixed-rank-base", InputError):
        online.ingest(third, tmp_path / "events")


def test_what_cannot_be_read_is_counted_with_its_lines(tmp_path):
    rows = honest(3)
    log = tmp_path / "log.ndjson"
    lines = [json.dumps(event_row).encode() for event_row in rows]
    lines[1] = b"nonsense"
    lines[2] = b'{"action_name": "\xff"}'
    lines[4] = json.dumps({**rows[4], "timestamp": "yesterday"}).encode()
    lines[5] = b'{"something": "else"}'
    log.write_bytes(b"\n".join(lines)[:-20])
    result = online.ingest(log, tmp_path / "events")
    problems = {row["code"]: (row["count"], row["lines"]) for row in result.problems.to_dicts()}
    assert problems == {
        "invalid-json": (1, "2"),
        "truncated-last-line": (1, "16"),
        "not-utf-8": (1, "3"),
        "unreadable-time": (1, "5"),
        "not-an-event": (1, "6"),
    }


def test_private_words_and_ids_are_not_kept(tmp_path, monkeypatch):
    log = written(tmp_path / "log.ndjson", honest())
    with raises("missing-secret", UsageError):
        online.ingest(log, tmp_path / "events", privacy=online.Privacy(users="hash"))
    monkeypatch.setenv("RANKGATE_HASH_KEY", "0123456789abcdef")
    result = online.ingest(log, tmp_path / "events", privacy=online.Privacy(queries="hash", users="hash"))
    table = events_of(tmp_path / "events")
    stored_text = (tmp_path / "events" / "events.json").read_text() + str(table.rows())
    assert "words" not in stored_text.replace('"words"', "")
    assert "'u1'" not in stored_text
    assert "'v1'" not in stored_text
    assert table["query"].n_unique() == 8  # with null
    assert result.privacy == {"queries": "hash", "users": "hash"}
    online.ingest(log, tmp_path / "rare", privacy=online.Privacy(queries="frequent", min_users=9))
    assert events_of(tmp_path / "rare")["query"].drop_nulls().n_unique() == 4
    online.ingest(log, tmp_path / "none", privacy=online.Privacy(queries="drop", users="drop"))
    dropped = events_of(tmp_path / "none")
    assert dropped["query"].is_null().all()
    assert dropped["user"].is_null().all()


@pytest.mark.parametrize("queries", ["keep", "drop", "hash", "frequent"])
@pytest.mark.parametrize("users", ["keep", "drop", "hash"])
def test_what_is_left_out_is_in_no_file(tmp_path, monkeypatch, queries, users):
    key = "0123456789abcdef"
    monkeypatch.setenv("RANKGATE_HASH_KEY", key)
    secret = {"note": "Ann asked for words 3"}
    rows = [
        {
            **event_row,
            "message": "words",
            "event_attributes": {**event_row.get("event_attributes", {}), **secret},
        }
        for event_row in honest()
    ]
    log = written(tmp_path / "log.ndjson", rows)
    online.ingest(log, tmp_path / "events", privacy=online.Privacy(queries=queries, users=users, min_users=9))
    table = events_of(tmp_path / "events")
    cells = {str(cell) for row in table.rows() for cell in row}
    original_values = {
        "queries": {f"words {n}" for n in range(7)},
        "users": {f"u{n}" for n in range(20)},
        "sessions": {f"v{n}" for n in range(60)},
    }
    remaining_counts = {name: len(identifiers & cells) for name, identifiers in original_values.items()}
    assert remaining_counts == {
        "queries": {"keep": 7, "frequent": 4}.get(queries, 0),
        "users": 20 if users == "keep" else 0,
        "sessions": 0 if users == "hash" else 60,
    }
    kept_all = queries == users == "keep"
    assert any("Ann" in cell for cell in cells) == kept_all
    files = b"".join(path.read_bytes() for path in (tmp_path / "events").iterdir())
    assert key.encode() not in files
    # who comes back is still known where ids are hashed
    assert table["user"].n_unique() == (1 if users == "drop" else 20)


def test_a_log_that_is_cut_in_its_compression_is_refused(tmp_path):
    log = written(tmp_path / "log.ndjson", honest(2000))
    compressed = gzip.compress(log.read_bytes())
    truncated_path = tmp_path / "log.ndjson.gz"
    truncated_path.write_bytes(compressed[: len(compressed) // 2])
    with raises("damaged-file", InputError, source=str(truncated_path)):
        online.ingest(truncated_path, tmp_path / "events")
    assert not list((tmp_path / "events").glob("*.json"))


def test_ranks_are_from_one_where_the_log_says_so(tmp_path):
    assert read(tmp_path, honest(3, base=1)).filter(kind="impression")["rank"].min() == 1


def test_times_of_every_unit(tmp_path):
    seconds = 1_772_438_400
    rows = [search(n, 0, timestamp=seconds * 10**power) for n, power in enumerate((0, 3, 6, 9))]
    rows.append(search(9, 0, timestamp="2026-03-02T09:00:00+01:00"))
    assert read(tmp_path, rows)["at"].n_unique() == 1
    assert stamp(0) == "2026-03-02T08:00:00Z"


def test_a_table_of_events_is_ingested_as_it_is_read_directly(tmp_path):
    online.ingest(written(tmp_path / "log.ndjson", honest()), tmp_path / "first")
    events = events_of(tmp_path / "first")
    events.write_parquet(tmp_path / "events.parquet")
    events.select("kind", "at", "query_event_id", "session", "doc_id", "rank").write_parquet(
        tmp_path / "few.parquet"
    )
    result = online.ingest(tmp_path / "events.parquet", tmp_path / "second")
    assert dict(result.counts.iter_rows()) == {"click": 20, "impression": 240, "search": 60}
    assert events_of(tmp_path / "second").equals(events)
    assert not result.notices
    online.ingest(tmp_path / "few.parquet", tmp_path / "third")
    assert events_of(tmp_path / "third").columns == list(COLUMNS)
    for folder in ("second", "third"):
        ingested = online.kpi(tmp_path / folder, ["search_ctr", "mrr_first_click"], by=())
        direct = online.kpi(tmp_path / "few.parquet", ["search_ctr", "mrr_first_click"], by=())
        assert ingested.values["n"].to_list() == [60, 60]
        assert ingested.values["value"].to_list() == pytest.approx(direct.values["value"].to_list())


def test_tables_of_events_keep_what_privacy_allows(tmp_path):
    online.ingest(written(tmp_path / "log.ndjson", honest()), tmp_path / "first")
    events_of(tmp_path / "first").write_parquet(tmp_path / "events.parquet")
    online.ingest(
        tmp_path / "events.parquet", tmp_path / "second", privacy=online.Privacy(queries="drop", users="drop")
    )
    table = events_of(tmp_path / "second")
    assert table["query"].null_count() == table["user"].null_count() == len(table)


def test_several_tables_of_events_are_one_log(tmp_path):
    online.ingest(written(tmp_path / "log.ndjson", honest()), tmp_path / "first")
    events = events_of(tmp_path / "first")
    events[:100].write_parquet(tmp_path / "a.parquet")
    events[100:].write_parquet(tmp_path / "b.parquet")
    kpis = online.kpi([tmp_path / "a.parquet", tmp_path / "b.parquet"], ["search_ctr"])
    assert kpis["search_ctr"] == pytest.approx(20 / 60)
    assert kpis.events == 320


def test_an_unknown_kind_in_a_table_of_events_is_refused(tmp_path):
    online.ingest(written(tmp_path / "log.ndjson", honest()), tmp_path / "first")
    events = events_of(tmp_path / "first").with_columns(kind=pl.lit("tap"))
    events.write_parquet(tmp_path / "events.parquet")
    with raises("unknown-kind", InputError):
        online.ingest(tmp_path / "events.parquet", tmp_path / "second")
