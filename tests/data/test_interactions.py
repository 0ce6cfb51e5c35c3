"""Logs of interactions: repeated rows, ground truth by stated rules; files of logs are in tests/door."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.log_judgments import Truth, truth
from rankgate.data.logs.read_logs import LOG_FORMATS, read_interactions
from support.command import assert_refused
from support.wording import raises


def test_lists_have_places_instead_of_times(tmp_path):
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"b: x y\na:z\nb: x\n"))
    assert read_interactions(path).unit == "place"


def test_the_real_lists_have_the_rows_of_their_index(shared):
    folder = shared / "amazon-beauty-selfrec"
    train, test = (read_interactions(folder / f"{split_name}.txt.gz") for split_name in ("train", "test"))
    assert train.table["query_id"].n_unique() == 22_363
    assert len(test.table) == 22_363  # the last item of each
    with gzip.open(folder / "train.txt.gz", "rt") as lines:
        assert len(train.table) == sum(len(line.partition(":")[2].split()) for line in lines)


def test_a_column_that_no_log_has_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("who,what,how\na,x,click\n")
    with raises("missing-column", UsageError):
        read_interactions(path, {"visitor": "who"})


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


def test_a_log_without_rows_is_refused():
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


def test_a_log_has_the_separator_and_the_titles_that_any_table_may_have(tmp_path):
    path = tmp_path / "export.csv"
    for text in (
        'buyer;note;bought\nann;"one, two,\nthree";a\nbob;"x, y";b\n',
        "Orders of May;;\nuser;item;amount\nann;a;1,5\nbob;b;2\n",
    ):
        path.write_text(text)
        columns = {"user": "buyer", "item": "bought"} if "buyer" in text else None
        assert read_interactions(path, columns, timed=False).table["doc_id"].to_list() == ["a", "b"]


def test_the_line_for_missing_columns_has_those_that_names_suggest(tmp_path, run):
    path = tmp_path / "orders.csv"
    path.write_text(
        "customer,article,bought_on\n" + "".join(f"c{n % 4},a{n},2026-01-0{n}\n" for n in range(1, 9))
    )
    refused = run("split", path)
    assert_refused(refused, "missing-column")
    (line,) = [line.strip() for line in refused.err.splitlines() if line.strip().startswith("--columns")]
    assert run("split", path, *line.split(), "--way", "random").code == 0
