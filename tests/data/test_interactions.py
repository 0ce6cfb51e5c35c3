"""Logs of interactions: every format, mixed units of time, ground truth by stated rules."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.interactions import format_instant
from rankgate.data.logs.log_judgments import Truth, truth
from rankgate.data.logs.read_logs import LOG_FORMATS, read_interactions
from support.wording import raises

ROWS = [("1", "10", 5.0, 881250949), ("1", "20", 3.0, 891717742), ("2", "10", 1.0, 878887116)]
AT = [row[3] * 1_000_000 for row in ROWS]


def written(form, folder):
    path = folder / {"parquet": "log.parquet"}.get(form, "log.txt")
    if form == "parquet":
        names = ["user_id", "item_id", "rating", "timestamp"]
        pl.DataFrame(ROWS, schema=names, orient="row").write_parquet(path)
        return path
    texts = {
        "csv": ["userId,movieId,rating,timestamp", *(f"{u},{i},{v},{t}" for u, i, v, t in ROWS)],
        "tsv": ["item\tuser\ttime\trating", *(f"{i}\t{u}\t{t}\t{v}" for u, i, v, t in ROWS)],
        "jsonl": [f'{{"user": "{u}", "item": {i}, "rating": {v}, "ts": {t}}}' for u, i, v, t in ROWS],
        "recbole": [
            "user_id:token\titem_id:token\trating:float\ttimestamp:float",
            *(f"{u}\t{i}\t{v}\t{t}" for u, i, v, t in ROWS),
        ],
        "movielens-100k": [f"{u}\t{i}\t{v:.0f}\t{t}" for u, i, v, t in ROWS],
        "movielens-1m": [f"{u}::{i}::{v:.0f}::{t}" for u, i, v, t in ROWS],
        "milliseconds": ["user,item,value,at", *(f"{u},{i},{v},{t}000" for u, i, v, t in ROWS)],
        "dates": [
            "user,item,value,at",
            *(f"{u},{i},{v},{datetime.fromtimestamp(t, UTC).isoformat()}" for u, i, v, t in ROWS),
        ],
    }
    path.write_text("\n".join(texts[form]) + "\n")
    return path


FORMS = (
    "csv",
    "tsv",
    "jsonl",
    "recbole",
    "movielens-100k",
    "movielens-1m",
    "parquet",
    "milliseconds",
    "dates",
)


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_log(form, tmp_path):
    log = read_interactions(written(form, tmp_path))
    expected = [(u, i, timestamp, "interaction", v) for (u, i, v, _), timestamp in zip(ROWS, AT, strict=True)]
    assert log.table.rows() == expected


def test_lists_are_in_the_order_of_time(tmp_path):
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"b: x y\na:z\nb: x\n"))
    log = read_interactions(path)
    assert log.unit == "place"
    assert log.table.select("query_id", "doc_id", "at").rows() == [
        ("a", "z", 1_000_000),
        ("b", "x", 1_000_000),
        ("b", "y", 2_000_000),
        ("b", "x", 3_000_000),
    ]


def test_the_real_lists_have_the_rows_of_their_index(shared):
    folder = shared / "amazon-beauty-selfrec"
    train, test = (read_interactions(folder / f"{split_name}.txt.gz") for split_name in ("train", "test"))
    assert train.table["query_id"].n_unique() == 22_363
    assert len(test.table) == 22_363  # the last item of each
    with gzip.open(folder / "train.txt.gz", "rt") as lines:
        assert len(train.table) == sum(len(line.partition(":")[2].split()) for line in lines)


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("who,what,how\na,x,click\n")
    columns = {"query_id": "who", "doc_id": "what", "kind": "how"}
    assert read_interactions(path, columns).table["kind"].to_list() == ["click"]
    with raises("missing-column", InputError, line=1):
        read_interactions(path)
    with raises("missing-column", InputError, line=1):
        read_interactions(path, {"query_id": "wer"})
    with raises("missing-column", UsageError):
        read_interactions(path, {"visitor": "who"})
    named_shortly = read_interactions(path, {"user": "who", "item": "what", "kind": "how"})
    assert named_shortly.table.equals(read_interactions(path, columns).table)


@pytest.mark.parametrize(
    ("times", "code"),
    [
        (["1700000000", "1700000001", "1700000000123"], "mixed-times"),
        (["1700000000", "1700000001", "0"], "mixed-times"),
        (["1700000000", "2024-01-01", "1700000001"], "mixed-times"),
        (["2024-01-01", "gestern", "2024-01-01"], "not-a-time"),
        (["20240131120000"] * 3, "not-a-time"),
        (["1700000000", "", "1700000001"], "empty-value"),
    ],
)
def test_mixed_or_impossible_times_are_refused(times, code, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,at\n" + "".join(f"u,i{k},{t}\n" for k, t in enumerate(times)))
    with raises(code, InputError):
        read_interactions(path)


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("u.data", "1\t2\t3\t881250949\n1\t3\tx\t881250949\n", "not-a-number"),
        ("u.data", "1\t2\t3\t881250949\n1\t3\t4\n", "wrong-field-count"),
        ("ratings.dat", "1::2::3::978300760\n1::3::4\n", "wrong-field-count"),
        ("ratings.dat", "1::2::3::978300760\n1::3::b::978300760\n", "not-a-number"),
        ("ratings.csv", "userId,movieId,rating\n1,2,3.5\n1,,4\n", "empty-value"),
        ("ratings.csv", "userId,movieId\n1,2\n1,3,4\n", "wrong-field-count"),
        ("a.inter", "user_id:token\titem_id:token\trating:float\n1\t2\t3\n1\t3\tb\n", "not-a-number"),
        ("lists.txt", "u: a b\nv: c\nbroken\n", "invalid-syntax"),
        ("a.jsonl", '{"user":"a","item":"b"}\n{"user":"a","item":\n', "invalid-json"),
        ("a.jsonl", '{"user":"a","item":"b"}\n{"user":"a"}\n', "invalid-id"),
        ("a.csv", "", "no-interactions"),
        ("a.csv", "user,item\n", "no-interactions"),
        ("a.csv", "1,2,3\n", "missing-column"),
    ],
)
def test_what_is_wrong_with_a_file_names_it_and_the_line(name, text, code, tmp_path):
    (tmp_path / name).write_text(text)
    with raises(code, InputError):
        read_interactions(tmp_path / name)


def test_a_query_may_hold_commas_and_quotes(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('query,item\n"shoes, red",a\n"12"" pan",b\n')
    assert read_interactions(path).table["query_id"].to_list() == ['12" pan', "shoes, red"]


def test_recbole_s_other_columns_are_left_aside(tmp_path):
    path = tmp_path / "sessions.inter"
    path.write_text("session_id:token\titem_id_list:token_seq\titem_id:token\ns1\t1 2 3\t4\n")
    assert read_interactions(path).table.select("query_id", "doc_id").rows() == [("s1", "4")]


def test_the_order_of_judgments_is_that_of_what_was_done():
    frame = pl.DataFrame(
        [
            ("q", "a", 1, "seen"),
            ("q", "b", 1, "seen"),
            ("q", "c", 1, "seen"),
            ("q", "b", 2, "click"),
            ("q", "a", 3, "click"),
            ("q", "b", 4, "buy"),
        ],
        schema=["query", "item", "at", "event"],
        orient="row",
    )
    rule = Truth({"seen": 0, "click": 1, "buy": 3}, repeats="max", grades="value")
    assert truth(read_interactions(frame), rule).table.rows() == [
        ("q", "b", 3.0),
        ("q", "a", 1.0),
        ("q", "c", 0.0),
    ]


def test_the_unit_can_be_said():
    log = read_interactions(pl.DataFrame({"user": ["u"], "item": ["i"], "at": [5.5]}), unit="ms")
    assert log.table["at"].to_list() == [5500]


def test_equal_rows_count_once_or_each():
    frame = pl.DataFrame({"user": ["u", "u", "u"], "item": ["i", "i", "j"], "at": [7, 7, 8]})
    interactions = read_interactions(frame)
    assert (len(interactions.table), interactions.repeated) == (2, 1)
    assert len(read_interactions(frame, same="each").table) == 3


def test_missing_ids_and_values_name_their_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\nu,i,5\n,i,4\n")
    with raises("empty-value", InputError, line=3):
        read_interactions(path)
    path.write_text("user,item,rating\nu,i,5\nu,j,viel\n")
    with raises("not-a-number", InputError, line=3):
        read_interactions(path)
    with raises("no-interactions", InputError):
        read_interactions(pl.DataFrame({"user": [], "item": []}))


LOG = pl.DataFrame(
    {
        "user": ["u", "u", "u", "u", "v"],
        "item": ["a", "b", "a", "c", "a"],
        "event": ["view", "buy", "buy", "return", "view"],
        "time": [1, 2, 3, 4, 5],
        "value": [1.0, 1.0, 1.0, 1.0, 1.0],
    }
)


def test_kinds_weigh_and_those_without_weight_do_not_count():
    judgments = truth(read_interactions(LOG), Truth({"buy": 2, "view": 0.5, "return": 0}, threshold=1))
    assert judgments.table.rows() == [("u", "a", 1.0), ("u", "b", 1.0), ("u", "c", 0.0), ("v", "a", 0.0)]
    purchase_judgments = truth(read_interactions(LOG), Truth({"buy": 1}, threshold=1))
    assert purchase_judgments.table.rows() == [("u", "b", 1.0), ("u", "a", 1.0)]
    assert purchase_judgments.made_by["weights"] == {"buy": 1}
    with raises("unknown-choice", UsageError):
        truth(read_interactions(LOG), Truth({"click": 1}))


@pytest.mark.parametrize(
    ("repeats", "grade"), [("max", 2.0), ("last", 2.0), ("first", 0.5), ("sum", 2.5), ("mean", 1.25)]
)
def test_repeats_become_one_grade_by_the_rule(repeats, grade):
    rule = Truth({"buy": 2, "view": 0.5}, repeats=repeats, grades="value")
    assert truth(read_interactions(LOG), rule).table.row(0) == ("u", "a", grade)


def test_a_rating_below_the_threshold_is_judged_and_not_relevant():
    ratings = pl.DataFrame({"user": ["u"] * 2, "item": ["a", "b"], "rating": [3.0, 4.0]})
    assert truth(read_interactions(ratings), Truth(threshold=4)).table["grade"].to_list() == [0, 1]
    rule = Truth(threshold=4, grades="value")
    assert truth(read_interactions(ratings), rule).table["grade"].to_list() == [0, 4]


def test_kinds_have_thresholds_of_their_own():
    frame = pl.DataFrame(
        [
            ("u", "a", "rating", 3),
            ("u", "b", "rating", 4),
            ("u", "c", "dwell", 29),
            ("u", "d", "dwell", 30),
            ("u", "a", "dwell", 5),
            ("u", "e", "click", 1),
        ],
        schema=["user", "item", "kind", "value"],
        orient="row",
    )
    log, thresholds = read_interactions(frame), {"rating": 4, "dwell": 30}
    result = truth(log, Truth(least=thresholds)).table.sort("doc_id")["grade"].to_list()
    assert result == [0, 1, 0, 1, 1]
    rule = Truth({"rating": 0.25, "dwell": 0.1}, threshold=1, grades="value", least=thresholds)
    worth = dict(truth(log, rule).table.select("doc_id", "grade").iter_rows())
    assert worth == {"a": 0, "b": 1, "c": 0, "d": 3}  # clicks weigh nothing here
    with raises("not-a-number", UsageError):
        Truth(least={"rating": float("nan")})


def test_wrong_rules_are_refused():
    with raises("unknown-choice", UsageError):
        Truth(repeats="all")
    with raises("unknown-choice", UsageError):
        Truth(grades="stars")


def test_every_format_has_its_name():
    assert len({log_format.name for log_format in LOG_FORMATS}) == len(LOG_FORMATS)


@pytest.mark.parametrize("timed", [True, False])
def test_equal_rows_count_once_and_the_others_keep_their_order(timed):
    rng = np.random.default_rng(3)
    columns = {"user": rng.integers(0, 9, 600), "item": rng.integers(0, 4, 600)}
    columns |= {"time": 1_700_000_000 + rng.integers(0, 5, 600)} if timed else {}
    log = pl.DataFrame(columns).with_columns(pl.col("user", "item").cast(pl.String))
    interactions = read_interactions(log)
    order = ["user", "time"] if timed else ["user"]
    expected = log.unique(maintain_order=True).sort(order, maintain_order=True)
    assert interactions.table["query_id"].to_list() == expected["user"].to_list()
    assert interactions.table["doc_id"].to_list() == expected["item"].to_list()
    assert interactions.repeated == len(log) - len(expected) > 0
    all_rows = read_interactions(log, same="each").table
    assert all_rows["doc_id"].to_list() == log.sort(order, maintain_order=True)["item"].to_list()


@pytest.mark.parametrize(
    ("times", "days"),
    [
        (["10.06.2026 14:00", "25.6.2026 09:30:15"], ["2026-06-10T14:00:00Z", "2026-06-25T09:30:15Z"]),
        (["10.06.2026, 14:00:00", "1.7.2026"], ["2026-06-10T14:00:00Z", "2026-07-01T00:00:00Z"]),
        (["02/03/2026 10:00", "25/03/2026"], ["2026-03-02T10:00:00Z", "2026-03-25T00:00:00Z"]),
        (["02/03/2026 10:00", "02/25/2026"], ["2026-02-03T10:00:00Z", "2026-02-25T00:00:00Z"]),
        (["02/03/2026", "04/05/2026"], None),  # either could be the month
        (["25/03/2026", "03/25/2026"], None),
        (["31.02.2026"], None),
    ],
)
def test_dates_with_the_day_or_the_month_first_need_evidence(tmp_path, times, days):
    path = tmp_path / "log.csv"
    path.write_text("user,item,timestamp\n" + "".join(f'u,i{n},"{time}"\n' for n, time in enumerate(times)))
    if days is None:
        with pytest.raises(InputError) as error:
            read_interactions(path)
        assert (error.value.code, error.value.line) == ("not-a-time", 2)
    else:
        rows = read_interactions(path).table.sort("doc_id")
        assert [format_instant(time, "date") for time in rows["at"].to_list()] == days
