"""Lengths, subscripts and loops of results, by their stored JSON."""

import json
from pathlib import Path

import pytest

from rankgate.core.errors import UsageError
from rankgate.core.present.base_result import result_class
from rankgate.interface.kinds_of_results import CLASSES

STORED = Path(__file__).parent / "stored"
LENGTHS = {
    "axes": "axes",
    "baselines": "baselines",
    "checklist": "checks",
    "comparison": "comparisons",
    "conventions": "conventions",
    "engine_kinds": "kinds",
    "evaluation": "runs",
    "formats": "formats",
    "metrics": "metrics",
    "scorecard": "systems",
    "sheets": "tables",
    "split": "folds",
    "tradeoff": "means",
    "validation": "problems",
}
"""What a kind's length counts, as named in its JSON."""


def stored(kind):
    """The stored values of a kind, and the result that they make."""
    values = json.loads((STORED / f"{kind}.json").read_text("utf-8"))
    return values, result_class(kind).from_dict(values)


def kinds_with(method):
    return {kind for kind in CLASSES if hasattr(result_class(kind), method)}


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_length_is_that_of_the_list(kind):
    values, result = stored(kind)
    assert len(result) == len(values[LENGTHS[kind]]) > 0


def subscripts(kind, values):
    """Subscripts with what they are, by the JSON, and some that there are not."""
    if kind == "evaluation":
        means = {run["name"]: run["mean"] for run in values["runs"]}
        pairs = {(name, metric): mean for name, row in means.items() for metric, mean in row.items()}
        return means | pairs, ["none", ("old", "none"), ("none", "RR")]
    if kind == "comparison":
        rows = {
            (comparison["candidate"]["name"], row["metric"]): row
            for comparison in values["comparisons"]
            for row in comparison["metrics"]
        }
        return rows, ["none", ("none", "RR"), (next(iter(rows))[0], "none")]
    if kind == "scorecard":
        rows = {(row["system"], row["metric"]): row["value"] for row in values["figures"]}
        return rows, [("none", next(iter(rows))[1]), (next(iter(rows))[0], "none")]
    if kind == "kpi_table":
        return {row["kpi"]: row["value"] for row in values["values"] if row["by"] == "all"}, ["none"]
    if kind == "rating_accuracy":
        return values["values"], ["none"]
    assert kind == "policy"
    return values["gate"], ["none"]


SUBSCRIPTS = ("comparison", "evaluation", "kpi_table", "policy", "rating_accuracy", "scorecard")


@pytest.mark.parametrize("kind", SUBSCRIPTS)
def test_a_subscript_is_what_the_json_has(kind):
    values, result = stored(kind)
    expected, missing = subscripts(kind, values)
    assert expected
    for key, value in expected.items():
        row = result[key]
        assert row == value or {name: row[name] for name in value} == value
    for key in missing:
        with pytest.raises(KeyError):
            result[key]


def test_a_subscript_of_a_comparison_is_that_with_a_candidate():
    values, result = stored("comparison")
    for number, comparison in enumerate(values["comparisons"]):
        assert result[comparison["candidate"]["name"]] is result.comparisons[number]


def test_conventions_are_looped_over_and_found_by_name():
    values, result = stored("conventions")
    names = [details["name"] for details in values["conventions"]]
    assert [convention.name for convention in result] == names
    assert [result[name].name for name in names] == names
    with pytest.raises(UsageError):
        result["none"]


def test_all_kinds_with_conveniences_are_here():
    assert kinds_with("__len__") == set(LENGTHS)
    assert kinds_with("__getitem__") == {*SUBSCRIPTS, "conventions"}
    assert kinds_with("__iter__") == {"conventions"}
