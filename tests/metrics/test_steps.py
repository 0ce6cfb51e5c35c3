"""A metric taken apart is the metric: gains times weights over the norm give its value."""

import numpy as np
import pytest

from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.metric_declaration import RANKING
from rankgate.measurement.metrics.metric_name_parser import parse


def is_sum(metric):
    """True for a metric whose value is a sum over documents."""
    bound = metric @ 1 if metric.missing else metric
    return metric.view == RANKING and bound.decompose(block([[1]])) is not None


APART = [metric for metric in CATALOGUE if is_sum(metric)]
BINDINGS = {
    "nDCG": [
        {"gain": "exp", "cutoff": 3},
        {"gain": "judged", "cutoff": 3},
        {"ideal": "counted", "discount": "graded", "cutoff": 4},
        {"discount": "original", "ideal": "retrieved"},
        {"depth": "all", "cutoff": 2},
        {"depth": "returned", "cutoff": 8},
        {"gain": {0: 0.5, 1: 3, 2: 1}, "levels": "truncated"},
        {"gain": "binary", "ideal": "shown", "cutoff": 3},
        {"gain": "exp", "term_digits": 2, "cutoff": 6},
        {"gain": "signed"},
        {"gain": "signed", "ideal": "known", "cutoff": 3},
        {"least": 2, "cutoff": 5},
    ],
    "DCG": [{"gain": "exp", "base": 10.0}, {"cutoff": 4, "discount": "original"}],
    "CG": [{"gain": {1: 7}, "cutoff": 2}],
    "AP": [
        {"denominator": "reachable", "cutoff": 2},
        {"denominator": "returned", "rel": 2},
        {"denominator": "found", "cutoff": 3},
        {"denominator": "found"},
        {"denominator": "retrieved", "cutoff": 2},
        {"denominator": "ranks"},
        {"denominator": "ranks", "cutoff": 4},
    ],
    "P": [{"denominator": "returned", "cutoff": 6}, {"denominator": "judged", "cutoff": 4}],
    "R": [{"denominator": "reachable", "cutoff": 2}, {"denominator": "retrieved", "cutoff": 4}],
    "F": [{"beta": 2, "cutoff": 3}],
    "RBP": [
        {"gain": "scaled", "p": 0.5, "cutoff": 3},
        {"gain": "linear"},
        {"gain": {0: 1, 2: 5}, "max_grade": 3, "horizon": 4},
        {"ties": "averaged", "cutoff": 2},
    ],
    "Bpref": [{"negative": "relevant"}, {"negative": "nonrelevant", "unopposed": "lost"}],
    "Q": [{"beta": 0.5, "cutoff": 3}],
    "Compat": [{"p": 0.5}, {"best": "endless"}],
    "Accuracy": [{"cutoff": 4, "rel": 2}],
    "ERR": [
        {"gain": {0: 1, 1: 2}, "cutoff": 4},
        {"max_grade": 3, "cutoff": 2},
        {"scale": "query"},
        {"decay": 0.18},
    ],
    "RR": [{"rel": 2, "cutoff": 3}, {"target": "highest", "cutoff": 4}, {"offset": 1}],
    "Rprec": [{"rel": 2}, {"cutoff": 2}],
    "ARR": [{"rel": 2, "cutoff": 3}],
}


def random_block(seed):
    """Twenty queries with unjudged, negative, missing and no relevant documents, some empty."""
    rng = np.random.default_rng(seed)
    grades, pools = [], []
    for _ in range(20):
        query_grades = rng.choice([None, -1, 0, 1, 2, 3], size=rng.integers(0, 12)).tolist()
        grades.append(query_grades)
        left_out = rng.choice([0, 1, 3], size=rng.integers(0, 4)).tolist()
        pools.append([grade for grade in query_grades if grade is not None] + left_out)
    return block([*grades, [0, None]], ideal=[*pools, [0]])


@pytest.mark.parametrize("metric", APART, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_parts_add_up_to_the_value(metric, seed):
    judged = random_block(seed)
    plain = {metric.at: 5} if metric.missing else {}
    for bound in [plain, *BINDINGS.get(metric.name, [])]:
        bound_metric = metric(**bound)
        steps = bound_metric.decompose(judged)
        # a value is computed without the documents below its cutoff, its steps with them
        np.testing.assert_array_equal(steps.value, bound_metric.compute(judged), str(bound_metric))
        assert steps.gain.shape == steps.weights.shape == judged.rank.shape
        np.testing.assert_allclose(
            np.cumsum(steps.gain * steps.weights, axis=-1)[:, -1], steps.sum, rtol=1e-13, atol=1e-15
        )


def test_the_norm_of_ndcg_is_the_sum_over_its_ideal():
    metric = next(candidate for candidate in APART if candidate.name == "nDCG")
    steps = (metric(gain="exp") @ 3).decompose(block([[3, 2, 1]], ideal=[[3, 3, 2, 1]]))
    np.testing.assert_allclose(steps.ideal.terms, [[7, 7 / np.log2(3), 3 / 2]])
    np.testing.assert_allclose(steps.norm, [7 + 7 / np.log2(3) + 3 / 2])


def test_an_ideal_of_all_documents_is_the_same_for_a_value_at_a_cutoff():
    """Which documents the list holds below the cutoff decides at which ranks the ideal has the worst."""
    judged = block([[1, -1, -1, -1, -2]])
    assert parse("nDCG(gain='signed',ideal='known')@3").compute(judged) == 1


def test_weights_are_reported_where_an_unjudged_document_stands_too():
    """Explanations put unjudged documents in as if in the pool; that must change nothing."""
    from_pool = block([[2, -1, 1]], ideal=[[2, 1]])
    unjudged = block([[2, None, 1]], ideal=[[2, 1]])
    for metric in APART:
        if metric.name in ("infAP", "ERR"):  # one estimates from the pool, one needs a scale
            continue
        bound_metric = metric @ 5 if metric.missing else metric
        np.testing.assert_array_equal(bound_metric.compute(from_pool), bound_metric.compute(unjudged))
