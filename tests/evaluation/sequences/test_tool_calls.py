"""Calls of tools: matched with the expected ones, in order or not, by comparators, turn by turn."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgate
from rankgate.decisions.gating.policy import parse_policy
from rankgate.measurement.evaluation.sequences.tool_calls import _assign, _fits, _matches
from support.wording import raises

SEARCH = {"tool": "search", "arguments": {"to": "Rome"}, "tokens": 100, "seconds": 2}
BOOK = {"tool": "book", "arguments": {"flight": "AZ1", "price": 101}, "tokens": 50, "seconds": 1}
METRICS = [
    "CallMatch",
    "CallMatch(order='in_order')",
    "CallMatch(order='any')",
    "CallP",
    "CallR",
    "RedundantCalls",
]


def tasks(folder, name, *calls, key="calls"):
    path = folder / name
    rows = [{"query_id": f"t{i}", key: task} for i, task in enumerate(calls)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return f"tool-calls:{path}"


def values(folder, made, expected, metrics=METRICS):
    scores = rankgate.evaluate(
        tasks(folder, "expected.jsonl", expected, key="expected"), tasks(folder, "agent.jsonl", made), metrics
    ).runs[0]
    return [scores.per_query(metric)["t0"] for metric in metrics]


def named_tools(*names):
    return [{"tool": name} for name in names]


@pytest.mark.parametrize(
    ("made", "expected", "wanted"),
    [
        ("ab", "ab", [1, 1, 1, 1, 1, 0]),
        ("axb", "ab", [0, 1, 1, 2 / 3, 1, 0]),
        ("ba", "ab", [0, 0, 1, 1, 1, 0]),
        ("aab", "ab", [0, 1, 1, 2 / 3, 1, 1 / 3]),
        ("aab", "aab", [1, 1, 1, 1, 1, 0]),  # a call that is expected twice is no repetition
        ("aba", "ba", [0, 1, 1, 2 / 3, 1, 0]),  # the second a follows b
        ("ab", "aab", [0, 0, 0, 1, 2 / 3, 0]),
        ("xyx", "a", [0, 0, 0, 0, 0, 1 / 3]),
        ("", "a", [0, 0, 0, None, 0, None]),
        ("", "", [1, 1, 1, None, None, None]),
        ("x", "", [0, 1, 1, 0, None, 0]),
    ],
)
def test_by_hand(tmp_path, made, expected, wanted):
    assert values(tmp_path, named_tools(*made), named_tools(*expected)) == pytest.approx(wanted, nan_ok=True)


def test_costs_are_those_of_tasks_that_succeed(tmp_path):
    expected = tasks(
        tmp_path, "expected.jsonl", named_tools("search", "book"), named_tools("book"), key="expected"
    )
    made = tasks(tmp_path, "agent.jsonl", [SEARCH, BOOK], [SEARCH])
    names = ["SuccessCost", "SuccessCost(per='tokens')", "SuccessCost(per='seconds')", "FirstUseful"]
    scores = rankgate.evaluate(expected, made, names).runs[0]
    assert [scores.per_query(name)["t0"] for name in names] == [2, 0.15, 3, 1]
    assert [scores.per_query(name)["t1"] for name in names] == [None, None, None, 2]
    assert scores.means["SuccessCost"] == 2


@pytest.mark.parametrize(
    ("made", "expected", "fits"),
    [
        ("Rome", "Rome", True),
        ("rome", "Rome", False),
        ("rome ", {"$text": "Rome"}, True),
        ("to Rome", {"$text": "Rome"}, False),
        ("to Rome", {"$contains": "rome"}, True),
        (3, {"$in": [1, 3]}, True),
        (4, {"$in": [1, 3]}, False),
        (101, {"$number": 99, "within": 5}, True),
        (105, {"$number": 99, "within": 5}, False),
        ("99", {"$number": 99}, False),
        (None, {"$any": True}, True),
        (None, {"$contains": ""}, False),
        ({"a": 1}, {"a": 1}, True),
    ],
)
def test_comparators(made, expected, fits):
    assert _fits(made, expected, "file") is fits


def test_arguments_beyond_the_expected_ones_do_not_match():
    assert _matches('search {"to": "Rome"}', "search", "file")  # any arguments
    assert not _matches('search {"k": 5, "to": "Rome"}', 'search {"to": "Rome"}', "file")
    assert _matches("search", "search {}", "file")
    assert _matches('Web search {"q": 1}', 'Web search {"q": 1} #2', "file")


@pytest.mark.parametrize("value", [{"$in": 3}, {"$number": "x"}, {"$number": 1, "within": "x"}])
def test_a_comparator_with_another_value_is_named(tmp_path, value):
    with raises("wrong-type"):
        values(tmp_path, [{"tool": "a", "arguments": {"k": 2}}], [{"tool": "a", "arguments": {"k": value}}])


def test_an_unknown_comparator_is_named(tmp_path):
    with raises("unknown-choice"):
        values(tmp_path, [SEARCH], [{"tool": "search", "arguments": {"to": {"$like": "R"}}}])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=4))
def test_no_assignment_has_more_calls(matching):
    most = max(
        sum(place is not None and matching[index][place] for index, place in enumerate(places))
        for places in itertools.product([None, 0, 1, 2], repeat=len(matching))
        if len({*filter(lambda p: p is not None, places)}) == sum(p is not None for p in places)
    )
    found = _assign(matching)
    assert len(found) == len({*found.values()}) == most
    assert all(matching[index][place] for index, place in found.items())


def test_names_of_other_tools_and_turns(tmp_path):
    path = tmp_path / "talk.jsonl"
    function = {"name": "search", "arguments": json.dumps({"q": "a"})}
    turns = [
        {"tool_calls": [{"type": "function", "function": function}],
         "reference_tool_calls": [{"name": "search", "args": {"q": "a"}}]},
        {"tools_called": [], "expected_tools": ["book"]},
        {"toolsCalled": [{"name": "book", "inputParameters": {"n": 1}}], "expectedTools": [{"name": "book"}]},
    ]  # fmt: skip
    path.write_text(
        json.dumps({"id": "c1", "turns": turns}) + "\n" + json.dumps({"id": "c2", "turns": turns[:1]})
    )
    scores = rankgate.evaluate(str(path), str(path), ["CallMatch"]).runs[0]
    assert scores.per_query("CallMatch") == {
        "c1 turn 1": 1, "c1 turn 2": 0, "c1 turn 3": 1, "c2 turn 1": 1,
    }  # fmt: skip


def test_calls_without_an_order_match_in_any(tmp_path):
    qrels, run = {"t0": {"a": 1, "b": 1}}, tasks(tmp_path, "agent.jsonl", named_tools("b", "a"))
    assert (
        rankgate.evaluate(qrels, run, ["CallMatch(order='any')"]).runs[0].means["CallMatch(order='any')"] == 1
    )
    with raises("missing-input"):
        rankgate.evaluate(qrels, run, ["CallMatch"]).means  # noqa: B018 - it scores


def test_agents_are_compared_and_gated_task_by_task(tmp_path):
    expected = tasks(tmp_path, "expected.jsonl", *([named_tools("search", "book")] * 60), key="expected")
    old = tasks(tmp_path, "old.jsonl", *[[SEARCH], [SEARCH, BOOK]] * 30)
    new = tasks(tmp_path, "new.jsonl", *([[SEARCH, BOOK]] * 60))
    row = rankgate.compare(expected, old, new, ["CallR", "CallMatch"]).only.metrics
    assert row.select("metric", "n", "baseline", "candidate").rows() == [
        ("CallR", 60, 0.75, 1.0), ("CallMatch", 60, 0.5, 1.0),
    ]  # fmt: skip
    policy = parse_policy(
        "[[rules]]\nkind = 'noninferiority'\nmetric = 'CallMatch'\nmargin = 0.1\n", "policy"
    )
    assert rankgate.gate(expected, old, new, policy=policy).verdict == "pass"
