"""Queries that are typed, pasted from a spreadsheet, or drawn from a log of searches."""

from __future__ import annotations

import json

import pytest

from rankgate.core.errors import InputError
from rankgate.judging.store.query_lists import draw_from_log, parse_query_list
from support.wording import raises


def test_each_line_is_a_query_with_its_commas():
    queries = parse_query_list("\ufeffred shoes, size 40\r\n\n  rain coat \nred shoes, size 40\n")
    assert queries.table.to_dict(as_series=False) == {"text": ["red shoes, size 40", "rain coat"]}
    assert queries.repeated == 1


def test_a_first_line_that_names_the_column_is_no_query():
    assert parse_query_list("query\nshoes\rquery\n").table["text"].to_list() == ["shoes", "query"]


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_a_table_from_a_spreadsheet_has_ids_weights_and_tags(separator):
    lines = (("Query ID", "Search term", "Weight", "intent"), ("7", "shoes", "12.5", "buy"))
    text = "\n".join(separator.join(line) for line in lines)
    queries = parse_query_list(text)
    assert queries.table.to_dicts() == [
        {"query_id": "7", "text": "shoes", "frequency": 12.5, "intent": "buy"}
    ]
    assert queries.columns == {
        "query_id": "query_id",
        "search_term": "text",
        "weight": "frequency",
        "intent": "tag",
    }


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "no-queries", None),
        (" \n\n", "no-queries", None),
        ("query\tweight\n", "no-queries", None),
        ("sku\tprice\nA1\t10\n", "invalid-queries", 1),
        ('shoes\n{"a": 1}\n', "invalid-queries", 2),
        ("shoes\n***\n", "invalid-queries", 2),
        ("shoes\n" + "x" * 2_001, "invalid-queries", 2),
        ("id\tquery\n1\tshoes\n1\tcoats\n", "invalid-queries", 3),
        ("id\tquery\n1\t\n", "invalid-queries", 2),
        ("query\tweight\nshoes\tmany\n", "invalid-queries", 2),
        ("query\tweight\nshoes\t-1\n", "invalid-queries", 2),
        ("query\tweight\nshoes\t1\tmore\n", "invalid-queries", 2),
        ("query\tQuery\nshoes\tcoats\n", "invalid-queries", 1),
        ("query\tx\nshoes\t" + "x" * 200_000, "invalid-syntax", 2),
    ],
)
def test_what_is_no_list_of_queries_names_its_line(text, code, line):
    with pytest.raises(InputError) as caught:
        parse_query_list(text)
    assert (caught.value.code, caught.value.line) == (code, line)


def test_queries_of_a_log_are_drawn_with_their_frequencies(tmp_path):
    searches = ["shoes"] * 30 + ["coat"] * 5 + [f"rare {n}" for n in range(20)] + ["", "!!"]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps({"user_query": text, "user": 1}) for text in searches))
    queries = draw_from_log(log, 6)
    frequencies = dict(queries.table.select("text", "frequency").iter_rows())
    assert len(frequencies) == 6
    assert frequencies["shoes"] == 30.0
    assert set(queries.table["query_stratum"]) == {"head", "torso", "tail"}
    everything = draw_from_log(log, 1_000, "random").table
    assert len(everything) == 22
    assert set(everything["query_inclusion"]) == {"1.0"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "invalid-log"),
        (b"user,at\n1,2\n", "invalid-log"),
        (b"query,at\n", "no-queries"),
        (b"{broken", "invalid-log"),
        (b"PAR1", "invalid-log"),
    ],
)
def test_a_log_without_searches_is_refused(tmp_path, content, code):
    log = tmp_path / "log.csv"
    log.write_bytes(content)
    with raises(code, InputError, source="log.csv"):
        draw_from_log(log, 5)
