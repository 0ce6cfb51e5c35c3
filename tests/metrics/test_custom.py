"""A user's function is a metric like any other."""

# ruff: noqa: ARG001, ARG005 - what these functions are given is what is tested

from __future__ import annotations

import doctest
import inspect
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics import judged_block
from rankgate.measurement.metrics.custom import from_file, metric
from rankgate.measurement.metrics.judged_block import Judged, Steps, block
from rankgate.measurement.metrics.metric_name_parser import parse, parse_all
from rankgate.metrics import P
from support.wording import raises, refused

QRELS = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1, "d": -1}}
RUN = {"q": {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0}, "r": {"d": 2.0, "a": 1.0}}


@metric
def finds(grades: Sequence[float | None], *, cutoff: int = 10, rel: float = 1) -> float:
    """Relevant documents per place.

    As precision does.
    """
    return sum(grade is not None and grade >= rel for grade in grades) / cutoff


def test_a_function_of_grades_gives_what_the_house_s_kernel_gives():
    rng = np.random.default_rng(3)
    grades = [rng.choice([None, 0, 1, 2], size=rng.integers(0, 9)).tolist() for _ in range(50)]
    judged = block(grades, ideal=[[2, 1]] * 50)
    for bound in ({"cutoff": 3}, {"cutoff": 10, "rel": 2}, {"cutoff": 1}):
        np.testing.assert_array_equal(finds(**bound).compute(judged), P(**bound).compute(judged))


def test_the_grades_are_the_ranking_s_down_to_the_cutoff():
    result = []

    @metric(per_query=True)
    def spy(grades, *, ideal, cutoff=3):
        result.append((list(grades), list(ideal), cutoff))
        return 0.0

    rankgate.evaluate(QRELS, RUN, [spy, spy @ 9])
    # `x` is not judged; `d`, graded below 0, is in the pool but unjudged
    assert ([None, 2, 0], [2, 1, 0], 3) in result
    assert ([None, 2, 0, 1], [2, 1, 0], 9) in result
    assert ([None, 1], [1], 9) in result
    assert len(result) == 4


def test_without_a_cutoff_the_whole_list_is_seen_and_nothing_stands_after_at():
    @metric(per_query=True)
    def length(grades):
        return len(grades)

    assert rankgate.evaluate(QRELS, RUN, length).means.row(0) == ("run1", 3.0)
    with raises("unexpected-cutoff", UsageError):
        _ = length @ 3


def test_a_kernel_sees_a_block():
    @metric
    def top(judged: Judged, *, times: float = 1.0) -> np.ndarray:
        "The grade of the first document."
        return times * np.where(judged.rank[:, 0] == 1, judged.grade[:, 0], 0)

    result = rankgate.evaluate({"q": {"a": 3}, "r": {"a": 1}}, RUN, [top, top(times=4)]).means
    assert result.row(0) == ("run1", 0.0, 0.0)
    result = rankgate.evaluate({"q": {"x": 3}, "r": {"d": 1}}, RUN, [top, top(times=4)]).means
    assert result.row(0) == ("run1", 2.0, 8.0)


def test_the_passport_comes_from_the_function():
    assert (finds.name, finds.at) == ("finds", "cutoff")
    assert finds.title == "Relevant documents per place."
    assert {name: parameter.default for name, parameter in finds.parameters.items()} == {
        "cutoff": 10,
        "rel": 1,
    }
    zero_metric = metric(lambda grades: 0, name="zero", per_query=True, high=1, source="none")
    assert (zero_metric.name, zero_metric.high, zero_metric.source, zero_metric.at) == (
        "zero",
        1,
        "none",
        None,
    )
    assert rankgate.metric is metric


def test_it_is_a_value_as_other_metrics_are():
    assert str(finds(rel=2) @ 5) == "finds(rel=2)@5"
    assert parse("finds(rel=2)@5", [finds]) == finds(rel=2) @ 5
    assert parse_all("FINDS@5", [finds]) == [("FINDS@5", finds @ 5)]
    assert len({finds @ 5, finds(cutoff=5), finds @ 6}) == 2


def test_two_declarations_of_one_function_are_equal():
    def zero(grades):  # pragma: no cover - never called
        return 0

    assert metric(zero, per_query=True) == metric(zero, per_query=True)


def test_parameters_are_checked_as_declared():
    with raises("invalid-parameter", UsageError):
        finds(cutoff="5")
    with raises("unknown-parameter", UsageError):
        finds(rle=1)


def test_a_kernel_that_returns_steps_is_explained_document_by_document():
    @metric(low=0.0)
    def faded(judged: Judged, *, cutoff: int | None = None) -> Steps:
        """The grades, each divided by its rank."""
        return Steps(judged.grade, judged.within(cutoff), judged.retrieved, discount=judged.rank, divisor="n")

    qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    assert rankgate.evaluate(qrels, run, [faded, faded @ 1]).means.row(0)[1:] == ((1 + 3 / 2) / 2, 1 / 2)
    explained = rankgate.explain(qrels, run, "q", faded @ 1)
    assert [(row.gain, row.weight, row.contribution) for row in explained.rows] == [(1, 1, 1), (3, 0, 0)]
    assert (explained.norm.name, explained.norm.value, explained.value) == ("n", 2, 1 / 2)


@pytest.mark.parametrize("discount", [np.zeros(2), np.ones(3)], ids=["zero", "too many"])
def test_steps_that_give_no_number_are_reported(discount):
    @metric
    def wrong(judged: Judged) -> Steps:
        """Divided by 0, or by more than there are documents."""
        return Steps(judged.grade, discount=discount)

    with raises("function-failed", UsageError):
        rankgate.evaluate({"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, wrong)


def test_a_function_that_fails_is_reported_with_metric_and_query():
    @metric(per_query=True)
    def first(grades):
        return grades[0] + 1

    with raises("function-failed", UsageError) as result:
        rankgate.evaluate({"r": {"a": 1}, "q": {"a": 1}}, {"q": {"a": 1.0}, "r": {"b": 1.0}}, first)
    line = first.kernel.__wrapped__.__code__.co_firstlineno + 2
    assert str(result.value) == (
        f"first (test_custom.py:{line}) failed on a list of 1 document: TypeError: unsupported operand "
        "type(s) for +: 'NoneType' and 'int'; it was computed for query 'r'."
    )
    assert isinstance(result.value.__cause__.__cause__, TypeError)


def test_an_error_of_a_kernel_names_the_line_of_its_author(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        "import numpy as np\nfrom rankgate import metric\nfrom rankgate.extend import Judged\n\n\n"
        "@metric\ndef helper(judged: Judged):\n    return totl(judged.rel)\n\n\n"
        "@metric\ndef shape(judged: Judged):\n    return np.zeros((3, 7))\n"
    )
    for own_metric, line in zip(from_file(path), (8, 11), strict=True):
        with raises("function-failed", UsageError) as refused:
            rankgate.evaluate(QRELS, RUN, own_metric)
        assert f"{own_metric.name} (kernels.py:{line})" in str(refused.value)


@pytest.mark.parametrize("value", [None, "0.5", math.inf, [0.5]])
def test_what_is_no_number_is_refused(value):
    wrong = metric(lambda grades: value, name="wrong", per_query=True)
    with raises("function-failed", UsageError):
        rankgate.evaluate({"q": {"a": 1}}, RUN, wrong)


def test_for_nan_the_convention_says_what_counts():
    @metric(per_query=True)
    def mean_grade(grades):
        judged_grades = [grade for grade in grades if grade is not None]
        return sum(judged_grades) / len(judged_grades) if judged_grades else math.nan

    result = rankgate.evaluate({"q": {"a": 2, "b": 1}, "r": {"z": 1}}, RUN, mean_grade)
    assert result.values.select("value", "why").rows() == [(1.5, None), (0.0, "nothing judged")]


@pytest.mark.parametrize("value", [0.5, np.zeros(7), np.array(["a", "b"]), np.array([1.0, np.inf]), None])
def test_a_kernel_gives_one_number_for_each_query(value):
    def wrong(judged: Judged) -> np.ndarray:
        return value

    with raises("function-failed", UsageError):
        rankgate.evaluate(QRELS, RUN, metric(wrong))


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda grades: 0, "invalid-metric-name"),
        (lambda: 0, "invalid-metric-function"),
        (lambda grades, k: 0, "invalid-metric-function"),
        (lambda grades, *, judged_only: 0, "invalid-metric-function"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(function, code):
    with raises(code, UsageError):
        metric(function, name=None if code == "invalid-metric-name" else "m", per_query=True)


def test_what_a_function_sees_must_be_said():
    def bare(grades):  # pragma: no cover - never called
        return 0

    with raises("invalid-metric-function", UsageError):
        metric(bare)


def test_it_is_explained_by_the_value_of_the_list_read_down_to_each_rank():
    result = rankgate.explain(QRELS, RUN, "q", finds @ 4)
    assert [row.running for row in result.rows] == [0, 0.25, 0.25, 0.5]
    assert [row.contribution for row in result.rows] == [0, 0.25, 0, 0.25]
    assert result.value == result.rows[-1].running


def test_names_of_the_house_are_not_taken():
    for name in ("P", "map", "mrr"):
        clashing_metric = metric(lambda grades: 0, name=name, per_query=True)
        with raises("metric-name-taken", UsageError):
            parse("nDCG@5", [clashing_metric])


def written(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


HEAD = "import rankgate\nfrom rankgate.metrics import nDCG\nten = nDCG @ 10\n"
ONE = "@rankgate.metric(per_query=True)\ndef one(grades, *, cutoff=1):\n    return 1.0\n"


def test_a_file_gives_its_own_metrics_each_once(tmp_path):
    loaded_metrics = from_file(written(tmp_path, HEAD + ONE + "again = one @ 3\n"))
    assert [str(loaded_metric) for loaded_metric in loaded_metrics] == ["one"]


def test_a_file_may_hide_its_annotations_from_the_running_program(tmp_path):
    text = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nimport rankgate\n"
        "from dataclasses import dataclass\n"
        "if TYPE_CHECKING:\n    from collections.abc import Sequence\n"
        "    from rankgate.measurement.metrics.judged_block import Judged\n"
        "@dataclass\nclass Pair:\n    one: int\n"
        "@rankgate.metric\ndef one(grades: Sequence[float | None], *, k: int = 1) -> float:\n"
        "    return k\n"
        "@rankgate.metric\ndef two(judged: Judged) -> Judged:\n    return judged.retrieved\n"
    )
    first, second = from_file(written(tmp_path, text))
    result = rankgate.evaluate(QRELS, RUN, [first(k=3), second]).means
    assert result.row(0) == ("run1", 3.0, 3.0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import rankgate\n", "invalid-plugin"),
        ("x = 1\nx = = 2\n", "invalid-plugin"),
        ("x = 1\n\nx / 0\n", "invalid-plugin"),
        ("raise SystemExit(3)\n", "invalid-plugin"),
        (HEAD + ONE + "a = one\n" + ONE, "metric-name-taken"),
    ],
)
def test_a_file_that_gives_none_is_reported_with_its_line(tmp_path, text, code):
    with raises(code, UsageError):
        from_file(written(tmp_path, text))


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with raises("cannot-read", UsageError):
        from_file(tmp_path / "none.py")
    assert from_file(None) == ()


def test_the_page_about_them_runs():
    page = Path(__file__).parents[2] / "docs" / "custom-metrics.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert (result.failed, result.attempted > 6) == (0, True)


def test_the_page_about_them_names_fields_and_helpers_of_a_block():
    page = (Path(__file__).parents[2] / "docs" / "custom-metrics.md").read_text("utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    attributes = {name for name in dir(Judged) if not name.startswith("_")}
    helpers = {name for name, value in vars(judged_block).items() if is_helper_of_kernels(value)}
    assert {"rank", "hits", "at_level"} <= attributes
    assert {"total", "count", "ratio", "until_hit"} <= helpers
    assert sorted((attributes | helpers) - words) == []


def is_helper_of_kernels(value):
    """True for a public function of the module with a block or an array as first argument."""
    if not inspect.isfunction(value) or value.__module__ != judged_block.__name__:
        return False
    first = next(iter(inspect.signature(value).parameters.values()))
    is_public = not value.__name__.startswith("_")
    return is_public and re.match("Judged|Floats|Flags", str(first.annotation)) is not None


@metric
def writes(judged: Judged) -> list[float]:
    """It would change what other metrics see."""
    judged.grade[:] = 9
    return [0.0] * len(judged.rank)


@metric
def too_large(grades: Sequence[float | None]) -> float:
    """Floats cannot be so large."""
    return 10**400


@metric
def leaves(judged: Judged) -> list[float]:
    """Such an exception ends the program."""
    raise SystemExit(3)


@pytest.mark.parametrize("function", [writes, too_large, leaves], ids=lambda each: each.name)
def test_a_function_that_misbehaves_is_one_clear_error(function):
    with raises("function-failed", UsageError) as refused:
        rankgate.evaluate(QRELS, RUN, [function, P @ 1])
    assert len(str(refused.value)) < 200
    assert "'r'" in str(refused.value)


def test_a_block_is_read_only():
    judged = block([[1, None, 0]])
    for view in (judged, judged.at_level(2), judged.from_grade(0.5)):
        with refused(ValueError):
            view.grade[0, 0] = 5
