"""Estimates from a stratified sample: by hand, in the limits, unbiased over all samples."""

from itertools import combinations, product
from math import log2

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS, SampledPool
from support.wording import raises

RUN = {"q": {f"d{i}": 20.0 - i for i in range(1, 9)}}
GRADES = {"d1": 2, "d2": 0, "d3": 1, "d4": 0, "d5": 1, "d6": 3, "d7": 0, "d9": 1}
STRATA = {"d1": "a", "d2": "a", "d3": "a", "d4": "a", "d5": "b", "d6": "b", "d7": "b", "d9": "b"}


def judgments(grades, strata=STRATA, chances=None):
    rows = [("q", doc, float(grade), strata[doc], (chances or {}).get(doc)) for doc, grade in grades.items()]
    names = ["query_id", "doc_id", "grade", "stratum", "inclusion"]
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    return table if chances else table.drop("inclusion")


def value(name, grades, **more):
    return evaluate(judgments(grades, **more), RUN, [name]).means.row(0)[1]


def test_values_by_hand():
    pool_grades = GRADES | {"d2": -1, "d4": -1, "d5": -1}  # 2 of 4 in a, 3 of 4 in b
    a, b = 4 / 2, 4 / 3
    e = 0.00001
    rank_one = a * 1
    rank_three = a / 3 * (1 + 2 * (1 + e) / (1 + 2 * e))
    rank_six = b / 6 * (1 + 4 * (2 + e) / (2 + 2 * e) + 1 * (0 + e) / (0 + 2 * e))
    assert value("xinfAP", pool_grades) == pytest.approx((rank_one + rank_three + rank_six) / (2 * a + 2 * b))
    dcg = a * 2 + a * 1 / log2(4) + b * 3 / log2(7)
    ideal = 3 + 2 / log2(3) + 2 / log2(4) + sum(1 / log2(i) for i in (5, 6, 7))
    assert value("infNDCG", pool_grades) == pytest.approx(dcg / ideal)
    pair = 4 * 3 / (2 * 1)
    numerator = a + (a + pair) / 3 + (b + 2 * a * b) / 6
    assert value("statAP", pool_grades) == pytest.approx(numerator / (2 * a + 2 * b))


def test_a_pool_that_is_judged_wholly_has_the_plain_values():
    assert value("xinfAP", GRADES) == pytest.approx(value("AP", GRADES), abs=1e-4)
    assert value("statAP", GRADES) == pytest.approx(value("AP", GRADES))
    for plain, estimated in (("nDCG", "infNDCG"), ("nDCG(gain='exp')@3", "infNDCG(gain='exp')@3")):
        assert value(estimated, GRADES) == pytest.approx(value(plain, GRADES))


def test_one_stratum_has_the_value_of_infap():
    pool_grades = GRADES | {"d2": -1, "d5": -1}
    single_stratum = dict.fromkeys(STRATA, "s")
    assert value("xinfAP", pool_grades, strata=single_stratum) == pytest.approx(value("infAP", pool_grades))


def test_the_numerator_of_statap_is_right_on_average_over_all_samples():
    rank = np.array([1.0, 2, 3, 4, 5, np.inf])
    grade, stratum = np.array([1.0, 0, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    unknown, sums = np.full(6, np.nan), []
    for first, second in product(combinations(range(3), 2), combinations(range(3, 6), 2)):
        sampled = np.isin(np.arange(6), [*first, *second])
        pool = SampledPool(rank, np.where(sampled, grade, -1), stratum, unknown)
        total_weight = pool.weight[pool.is_judged & (pool.grade >= 1)].sum()
        sums.append(np.nan_to_num(parse("statAP").kernel([pool])[0]) * total_weight)
    assert np.mean(sums) == pytest.approx(1 / 1 + 2 / 3 + 3 / 4)


def test_probabilities_say_how_large_a_stratum_is():
    pool_grades = GRADES | {"d2": -1, "d4": -1}
    judged = {doc: grade for doc, grade in pool_grades.items() if grade >= 0}
    chances = {"d1": 0.5, "d3": 0.5, **dict.fromkeys(("d5", "d6", "d7", "d9"), 1.0)}
    assert value("statAP", judged, chances=chances) == pytest.approx(value("statAP", pool_grades))


def test_probabilities_that_do_not_fit_their_strata_are_refused():
    pool_grades = GRADES | {"d2": -1, "d4": -1}
    chances = {"d1": 0.2, "d3": 0.2, **dict.fromkeys(("d5", "d6", "d7", "d9"), 1.0)}
    with raises("unfit-probability", InputError):
        value("xinfAP", pool_grades, chances=chances)


@pytest.mark.parametrize("metric", SAMPLE_METRICS, ids=lambda each: each.name)
def test_a_metric_is_declared_in_full(metric):
    assert metric_details(metric.name).source
    assert metric.name in metric.formula
    assert parse(str(metric)) == metric


@pytest.mark.parametrize(
    "changed",
    ["xinfAP(rel=2) xinfAP", "statAP(rel=2) statAP", "infNDCG@2 infNDCG", "infNDCG(gain='exp') infNDCG"],
)
def test_a_parameter_changes_the_value(changed):
    first, second = (value(name, GRADES | {"d2": -1, "d5": -1}) for name in changed.split())
    assert first != second
