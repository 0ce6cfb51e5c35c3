"""Metrics on lists under the conventions of libraries, on the examples of their own tests."""

from __future__ import annotations

from math import log, log2

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import UsageError
from rankgate.data.collection import Collection, Items
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.list_names import parse_list
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.convention_overrides import override_convention
from rankgate.recommenders.scorecard import scorecard
from support.wording import raises

SIX = Listed(np.array([[1, 2, 3], [1, 2, 4], [1, 5, 6]]), 10)


def under(convention, name):
    ((_, metric),) = find_ranking_metrics([name], CONVENTIONS[convention], LIST_METRICS)
    return metric


@pytest.mark.parametrize(
    ("convention", "name", "value"),
    [
        ("trec", "Gini@3", 0.5444444),
        ("recbole", "GiniIndex@3", 0.5444444),
        ("lenskit", "ListGini(n=3)", 0.5444444),
        ("elliot", "Gini@3", 0.3950617),  # 1 less an index over n − 1
        ("evidently", "PopularityBias(k=3).current_gini", 0.2888889),
        ("evidently", "Gini@3", 0.2888889),
    ],
)
def test_the_ginis_of_the_same_lists(convention, name, value):
    assert under(convention, name).value(SIX) == pytest.approx(value, abs=1e-7)


def test_the_entropies_of_the_same_lists():
    nats = -sum(p * log(p) for p in (3 / 9, 2 / 9, *[1 / 9] * 4))
    assert under("recbole", "ShannonEntropy@3").value(SIX) == pytest.approx(nats / 6)
    for convention, name in (("elliot", "SEntropy@3"), ("recommenders", "distributional_coverage")):
        assert under(convention, name).value(SIX) == pytest.approx(nats / log(2))


@pytest.mark.parametrize(("convention", "name"), [("lenskit", "Entropy"), ("recommenders", "Serendipity")])
def test_our_names_name_ours_where_a_tool_writes_its_own_in_lower_case(convention, name):
    assert under(convention, name).name == name
    assert under(convention, name.lower()).name != name


# the items of evidently's tests of diversity and serendipity, with their two features
ITEMS = {
    "0a": (1, 0),
    "1a": (1, 0.1),
    "5a": (1, 1),
    "6a": (-0.1, 0.9),
    "4a": (1, 0.9),
    "10a": (-1, -1),
    "2a": (1, 0.2),
}
SHOWN = (("0a", "1a", "5a", "6a"), ("0a", "1a", "5a", "6a"), ("0a", "4a", "6a", "10a"))
CODES = {item: code for code, item in enumerate(ITEMS)}


def of_evidently(features, **context):
    items = np.array([[CODES[item] for item in row] for row in SHOWN])
    table = np.array([{**ITEMS, **features}[item] for item in CODES], float)
    return Listed(items, len(CODES), features=table, **context)


def test_evidently_s_diversity_grows_with_the_list():
    result = under("evidently", "DiversityMetric(k=4)").value(of_evidently({}))
    assert result == pytest.approx(1.0963345074906863)


def test_evidently_s_serendipity_falls_with_every_hit():
    # 10a is given twice in its example, and the features of training hold
    result = of_evidently(
        {"10a": (-1, 0)},
        relevant=np.array([[CODES["5a"]], [CODES["0a"]], [NONE]]),
        history=np.array([[CODES["10a"]], [CODES["2a"]], [CODES["5a"]]]),
    )
    metric = under("evidently", "SerendipityMetric(k=3)")
    values = metric.values(result)
    assert values[0] == pytest.approx(1 + 1 / 2**0.5)  # 5a and 10a look away from each other
    assert values[1] == pytest.approx(1 - 1 / (1 + 0.2**2) ** 0.5)
    assert np.isnan(values[2])
    assert metric.value(result) == pytest.approx(0.8632630527478137)


def test_evidently_s_popularity_novelty_and_personalization():
    training = {"seen": np.array([0, 3, 1, 0]), "people": 3}
    result = Listed(np.array([[3, NONE], [2, 3], [1, 2]]), 4, **training)
    assert under("evidently", "NoveltyMetric(k=2)").value(result) == pytest.approx(1.188722, abs=1e-6)
    bias = "PopularityBias(k=2).current_"
    assert under("evidently", f"{bias}apr").value(result) == 1.5
    assert under("evidently", f"{bias}coverage").value(result) == 1.0  # of the two in training
    assert under("trec", "Coverage").value(result) == 3 / 4
    assert under("evidently", f"{bias}gini").value(result) == pytest.approx(0.2)
    similar_lists = Listed(np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 1, 4]]), 5)
    personal = under("evidently", "PersonalizationMetric(k=4)")
    assert personal.value(similar_lists) == pytest.approx(0.1666667, abs=1e-7)


def test_evidently_takes_every_list_for_a_full_one():
    short = Listed(np.array([[0, 1], [0, NONE]]), 3)
    pairs = 2**2 - 2
    assert under("evidently", "PersonalizationMetric(k=2)").value(short) == pytest.approx(
        (pairs - (2**2 + 1 - 2 * 2) / 2) / pairs
    )
    assert under("recmetrics", "personalization").value(short) == pytest.approx(1 - 1 / 2**0.5)


def test_recpack_s_example():
    result = Listed(
        np.array([[0, 2], [4, 3]]),
        5,
        features=np.eye(2)[[0, 1, 0, 1, 0]],
        seen=np.array([2, 1, 1, 1, 0]),
        relevant=np.array([[0, 2], [1, 3]]),
    )
    assert under("recpack", "CoverageK(2)").value(result) == 4 / 5
    assert under("recpack", "IntraListDiversityK(2)").value(result) == 1 / 2
    assert under("recpack", "IPSHitRateK(2)").value(result) == 12.5 / 2
    assert under("recpack", "SNIPSHitRateK(2)").value(result) == (1 + 0.5) / 2
    assert under("recpack", "IPSHitRateK(2)")(cap=3.0).value(result) == (2.5 + 3 + 3) / 2


def test_elliot_s_head_and_its_novelty_of_hits():
    result = Listed(
        np.array([[0, 3], [1, NONE]]),
        5,
        seen=np.array([4, 3, 1, 1, 1]),
        people=4,
        relevant=np.array([[3, NONE], [NONE, NONE]]),
    )
    discount = 1 / log2(3)
    assert under("elliot", "EPC@2").value(result) == pytest.approx(discount * 3 / 4 / (1 + discount))
    assert under("elliot", "EFD@2").value(result) == pytest.approx(discount * log2(10) / (1 + discount))
    # the first three have 8 of 10 interactions
    assert under("elliot", "APLT@2").values(result).tolist() == [1 / 2, 0]
    assert under("trec", "APLT@2").values(result).tolist() == [1 / 2, 1]  # all but one of five


def test_recbole_s_tail_is_of_items_that_were_seen():
    item_counts = np.array([0, 9, 1, 1, *range(2, 18)])  # 19 were seen, of which one is the tail
    result = Listed(np.array([[0, 2, 3, 1]]), 20, seen=item_counts)
    assert under("recbole", "TailPercentage@4").value(result) == 1 / 4
    assert under("recbole", "AveragePopularity@4").value(result) == (0 + 1 + 1 + 9) / 4
    assert under("evidently", "Popularity@4").value(result) == (1 + 1 + 9) / 3


def test_recommenders_counts_what_training_has_not_as_nothing_new():
    result = Listed(np.array([[0, 1]]), 3, seen=np.array([0, 1, 3]), people=3)
    assert under("recommenders", "novelty").value(result) == pytest.approx((0 + 2) / 2)
    assert under("recommenders", "catalog_coverage").value(result) == 1 / 2


def test_lenskit_s_popularity_rank_is_a_quantile():
    result = Listed(np.array([[0, 1, 4], [2, 3, 1]]), 5, seen=np.array([0, 7, 7, 1, 9]))
    ranks = np.array([0, 2.5, 2.5, 1, 4]) / 4
    assert under("lenskit", "MeanPopRank(n=3)").values(result).tolist() == pytest.approx(
        [ranks[[0, 1, 4]].mean(), ranks[[2, 3, 1]].mean()]
    )


def test_one_s_own_parameters_go_before_the_convention_s():
    assert str(under("evidently", "Gini(divisor='n')@3")) == "Gini(over='shown',divisor='n')@3"
    assert str(under("recbole", "Gini@3")) == "Gini@3"


def test_a_convention_of_one_s_own_binds_them():
    convention = override_convention(CONVENTIONS["trec"], ["Gini.over=shown"])
    ((_, metric),) = find_ranking_metrics(["Gini@3"], convention, LIST_METRICS)
    assert metric.value(SIX) == pytest.approx(0.2407407, abs=1e-7)  # ClayRS
    assert convention.hash != CONVENTIONS["trec"].hash
    with raises("invalid-axis-value", UsageError):
        override_convention(CONVENTIONS["trec"], ["Gini.over=all"])


def test_every_name_of_a_tool_is_a_metric_with_parameters_that_there_are():
    spelled = 0
    for convention in CONVENTIONS.values():
        for tool_name, rankgate_name in convention.spellings.items():
            if parse_list(rankgate_name.partition("@")[0].partition("(")[0]) is not None:
                name = tool_name.replace("{k}", "5").replace("{n}", "5")
                assert under(convention.name, name).name in rankgate_name
                spelled += 1
        for metric in LIST_METRICS:
            assert metric.under_convention(convention.parameters.get(metric.name, {}))
    assert spelled > 30


def test_the_scorecard_has_the_number_of_the_tool():
    run = pl.DataFrame(
        [("u1", "a", 3.0), ("u1", "c", 2.0), ("u2", "a", 3.0), ("u2", "b", 2.0)],
        schema=["query_id", "doc_id", "score"],
        orient="row",
    )
    qrels = {"u1": {"a": 1}, "u2": {"b": 1}}
    train = pl.DataFrame({"user": ["u1", "u2"], "item": ["a", "d"]})

    def card(convention, *metrics):
        collection = Collection(qrels, training=train, items=Items(catalogue=[*"abcd"]))
        result = scorecard(collection, run, metrics, convention, resamples=5)
        return dict(zip(result.figures["metric"], result.figures["value"], strict=True))

    assert card("trec", "Coverage@2", "Gini@2") == {"Coverage@2": 3 / 4, "Gini@2": 0.375}
    evidently_values = card("evidently", "Coverage@2", "Gini@2")
    assert evidently_values == pytest.approx({"Coverage@2": 1 / 2, "Gini@2": 1 / 4})
    with raises("missing-input", UsageError):
        scorecard(qrels, run, ["Coverage@2"], "evidently")


def test_rankings_alone_have_no_such_metric():
    with raises("unknown-metric", UsageError):
        find_ranking_metrics(["Gini@10"])


def test_lenskit_s_gini_of_exposure():
    worth = {1: 3, 2: 2 * 0.85, 3: 0.85**2, 4: 0.85**2, 5: 0.85, 6: 0.85**2}  # by hand, of SIX
    ascending = sorted([*worth.values(), 0, 0, 0, 0])
    expected = sum((2 * i - 11) * exposure for i, exposure in enumerate(ascending, 1))
    expected /= 10 * sum(ascending)
    assert under("lenskit", "ExposureGini(n=3)").value(SIX) == pytest.approx(expected)
    trec_value = under("trec", "ExposureGini@3").value(SIX)
    assert trec_value == pytest.approx(under("trec", "ExposureGini(weight='log2')@3").value(SIX))
    assert trec_value != pytest.approx(expected)
