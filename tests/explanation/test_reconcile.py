"""One run under many conventions: groups, the path between two, and the origin of a number."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.reconcile import bridge, find_reported, reconcile_metrics
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.presets import chosen_convention as overridden
from rankgate.measurement.scoring.presets import refuse_mixed
from rankgate.measurement.scoring.run_sources import RunSource
from support.wording import raises

# the worked example of the product search benchmark: its text says exponential gain
QRELS = {"laptop": {"p1": 3, "p2": 2, "p3": 1, "p4": 3}}
RUN = {"laptop": {"p1": 3.0, "p2": 2.0, "p3": 1.0}}
LINEAR = (3 + 2 / log2(3) + 1 / 2) / (3 + 3 / log2(3) + 2 / 2)
EXPONENTIAL = (7 + 3 / log2(3) + 1 / 2) / (7 + 7 / log2(3) + 3 / 2)

# ties, a hole, a missed document, a query without relevant ones, a missing and an unknown query
MANY = {"1": {"a": 3.0, "b": 0.0, "c": 1.0}, "2": {"a": 1.0, "x": 2.0}, "3": {"z": 0.0}, "4": {"z": 1.0}}
RANKED = {
    "1": {"a": 8.0, "b": 8.0, "u": 8.0, "c": 7.0},
    "2": {"x": 3.0, "y": 2.0},
    "3": {"z": 2.0},
    "9": {"z": 2.0},
}


def values_of(group):
    return dict.fromkeys(group.conventions, group.value)


def number(value):
    return float("nan") if value is None else value


def test_groups_hold_equal_values_and_the_axis_that_separates_them():
    result = reconcile_metrics(QRELS, RUN, "nDCG@3", ["trec", "esci", "esci-code", "leaf"])
    first, second = result.groups
    assert first.conventions == ("trec", "esci-code", "leaf")
    assert second.conventions == ("esci",)
    assert (first.value, second.value) == pytest.approx((LINEAR, EXPONENTIAL), rel=1e-15)
    (step,) = second.steps
    assert (step.axes, step.begin, step.end) == (("nDCG.gain",), ("linear",), ("exp",))
    assert step.effect == second.value - first.value
    assert (second.nearest, second.member) == ("trec", "esci")


@pytest.mark.parametrize("metric", ["nDCG@2", "AP", "RR", "P@10"])
def test_every_convention_has_its_own_number(metric):
    result = reconcile_metrics(MANY, RANKED, metric)
    values = {name: value for group in result.groups for name, value in values_of(group).items()}
    refused = {refusal.convention for refusal in result.refusals}
    assert {*values, *refused} == {*CONVENTIONS}
    assert {"trec", "trec9", "pytrec_eval"} <= {*values}
    for name, value in values.items():
        expected = evaluate(MANY, RANKED, metric, name).runs[0].means[metric]
        assert number(value) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    for name in refused:
        with pytest.raises((InputError, UsageError)):
            evaluate(MANY, RANKED, metric, name)


def test_a_convention_that_stops_is_reported_with_its_reason():
    strict = overridden("trec", ["missing=error"])
    result = reconcile_metrics(MANY, RANKED, "AP", ["trec9", strict])
    assert [group.conventions for group in result.groups] == [("trec9",)]
    (refusal,) = result.refusals
    assert refusal.convention == "trec+"
    assert "1 query has judgments and no results ('4')" in refusal.reason


def test_where_all_stop_the_reason_is_the_error():
    with raises("queries-differ", InputError):
        reconcile_metrics(MANY, {"x": {"a": 1.0}}, "AP")


@pytest.mark.parametrize("metric", ["nDCG@2", "AP", "RR@3"])
@pytest.mark.parametrize("name", ["trec9", "esci", "note", "rre", "opensearch", "elasticsearch"])
def test_steps_go_from_one_number_to_the_other_without_a_gap(name, metric):
    result = bridge(MANY, RANKED, metric, "trec", name)
    ends = [evaluate(MANY, RANKED, metric, convention).runs[0].means[metric] for convention in ("trec", name)]
    assert [result.before, result.after] == ends
    means = [result.before, *(step.after for step in result.steps)]
    assert [step.before for step in result.steps] == means[:-1]
    assert means[-1] == result.after
    effects = [Fraction(step.after) - Fraction(step.before) for step in result.steps]
    assert sum(effects) == Fraction(result.after) - Fraction(result.before)


def test_a_mean_that_is_lost_is_lost_at_the_last_step():
    result = bridge(MANY, RANKED, "AP@10", "trec", "quepid")  # 0 / 0 without relevant documents
    assert result.after is None
    assert result.steps[-1].after is None
    assert all(step.effect is not None for step in result.steps[:-1])


def test_the_axis_that_moves_most_goes_first():
    end = overridden("trec", ["missing=leave_out", "ties=doc_id_asc", "nDCG.gain=exp"])
    steps = bridge(MANY, RANKED, "nDCG@2", "trec", end).steps
    first = {
        key: abs(
            evaluate(MANY, RANKED, "nDCG@2", overridden("trec", [word])).runs[0].means["nDCG@2"]
            - steps[0].before
        )
        for key, word in (
            ("missing", "missing=leave_out"),
            ("ties", "ties=doc_id_asc"),
            ("nDCG.gain", "nDCG.gain=exp"),
        )
    }
    assert steps[0].axes == (max(first, key=first.get),)
    assert {key for step in steps for key in step.axes} == set(first)


def test_a_step_names_the_query_it_moves_most():
    end = overridden("trec", ["ties=doc_id_asc"])
    (step,) = bridge(MANY, RANKED, "RR", "trec", end).steps
    # u, b, a by falling id, a, b, u by rising id
    assert (step.query_id, step.query_before, step.query_after) == ("1", 1 / 3, 1)
    assert step.moved == 1


def test_a_query_that_ceases_to_count_is_moved():
    end = overridden("trec", ["missing=leave_out"])
    (step,) = bridge(MANY, RANKED, "RR", "trec", end).steps
    assert (step.moved, step.query_id, step.query_after) == (1, "4", None)


def test_the_way_to_a_convention_that_stops_is_refused():
    with raises("missing-query", InputError):
        bridge(MANY, RANKED, "AP", "trec", overridden("trec", ["missing=error"]))


@pytest.mark.parametrize(
    ("metric", "value", "convention"),
    [("nDCG@3", f"{EXPONENTIAL:.4f}", "esci"), ("nDCG@3", f"{LINEAR:.4f}", "esci-code")],
)
def test_a_reported_value_is_found(metric, value, convention):
    result = find_reported(QRELS, RUN, metric, value)
    conventions = {name for fit in result.fits if fit.metric == metric for name in fit.conventions}
    assert {"esci", "esci-code"} & conventions == {convention}
    assert result.tolerance == 0.00005


def test_what_is_called_rr_at_10_and_has_no_cutoff_is_found():
    run = {"laptop": {**{f"n{i:02}": 100.0 - i for i in range(10)}, "p1": 1.0}}
    result = find_reported(QRELS, run, "RR", "0.0909")
    conventions = {name for fit in result.fits if fit.metric == "RR" for name in fit.conventions}
    assert "esci-code" in conventions  # rank 11
    assert "esci" not in conventions  # its text cuts at 10


@pytest.mark.parametrize(
    ("documents", "metric", "value", "other"),
    [("p1 p2 x y z", "P(rel=2)@10", "0.4", "P(rel=2)@5"), ("x y z p3 p1", "RR(rel=3)@2", "0.2", "RR(rel=3)")],
)
def test_other_cutoffs_keep_the_other_parameters(documents, metric, value, other):
    """Two of five documents have grade 2 or more; the first of grade 3 is at rank 5."""
    run = {"laptop": {doc: 9.0 - rank for rank, doc in enumerate(documents.split())}}
    assert other in {fit.metric for fit in find_reported(QRELS, run, metric, value).fits}


def test_a_percentage_is_taken_as_one():
    result = find_reported(QRELS, RUN, "nDCG@3", f"{100 * LINEAR:.1f}")
    assert result.percent
    assert "esci-code" in result.fits[0].conventions


def test_what_nobody_gives_has_its_nearest():
    result = find_reported(QRELS, RUN, "nDCG@3", "0.1234")
    assert result.fits == ()
    far = [abs(fit.mean - 0.1234) for fit in result.nearest]
    assert len(far) == 3
    assert far == sorted(far)


def test_a_value_that_is_no_number():
    with raises("not-a-number", UsageError):
        find_reported(QRELS, RUN, "nDCG@3", "about 0.4")


def test_a_run_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "a.run"
    path.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, row in RANKED.items() for d, s in row.items()))
    readings = []
    form = RunSource.formed
    monkeypatch.setattr(RunSource, "formed", lambda self, *args: readings.append(1) or form(self, *args))
    find_reported(MANY, path, "nDCG@10", "0.5")
    assert len(readings) == 1


def test_a_duplicate_is_an_error_only_where_the_convention_says_so(tmp_path):
    path = tmp_path / "twice.run"
    path.write_text("1 Q0 a 1 9 t\n1 Q0 b 1 8 t\n1 Q0 a 1 7 t\n")
    last = overridden("trec", ["duplicates=last"])
    result = reconcile_metrics(MANY, path, "RR", ["trec", last])
    assert [group.conventions for group in result.groups] == [("trec+",)]
    assert result.groups[0].value == 1 / 2 / 4  # b, then a; four judged queries
    assert [refusal.convention for refusal in result.refusals] == ["trec"]
    assert "ranked twice" in result.refusals[0].reason


def test_results_of_two_conventions_are_not_put_together():
    first_scores = evaluate(MANY, RANKED, "AP")
    second_scores = evaluate(MANY, {"new": RANKED}, "AP", overridden("trec", ["ties=doc_id_asc", "AP.rel=2"]))
    with raises("not-comparable", UsageError) as refused:
        first_scores.joined(second_scores)
    result = str(refused.value)
    assert "ties (doc_id_desc or doc_id_asc)" in result
    assert "AP.rel" in result
    comparable = evaluate(MANY, {"new": RANKED}, "AP")
    assert [run.run for run in first_scores.joined(comparable).runs] == ["run1", "new"]


def test_equal_choices_under_two_names_can_be_compared():
    convention = CONVENTIONS["trec"]
    refuse_mixed({"a": convention.to_dict(), "b": {**convention.to_dict(), "name": "mine"}})
