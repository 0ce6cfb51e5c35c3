"""Equal scores, pairs and negative grades, against what every order of a small list gives."""

from dataclasses import replace
from itertools import permutations
from math import log2

import numpy as np
import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.graded.dcg import nDCG
from rankgate.measurement.metrics.judged_block import PAD, block
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.metrics.metric_name_parser import parse
from support.wording import raises

GRADES = [0, 1, 2, 3, -1, None]
TIED = ["DCG", "nDCG", "LRAP", "OPA", "FallOut"]


def examples(seed):
    """A list of documents as ``(grade, score)``, few scores, so that many are equal."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 7)
    return [(rng.choice(GRADES), float(rng.integers(1, 4))) for _ in range(size)]


def computed(documents, *metrics, missed=()):
    """The values of metrics for one query, through ranking and alignment."""
    judged = {f"d{i}": grade for i, (grade, _) in enumerate(documents) if grade is not None}
    judged |= {f"m{i}": grade for i, grade in enumerate(missed)}
    run = {f"d{i}": score for i, (_, score) in enumerate(documents)}
    scores = evaluate({"q": judged}, {"q": run}, list(metrics)).runs[0]
    return [scores.means[metric] for metric in metrics]


def orders(documents):
    """Every order of the grades that falling scores allow."""
    for order in permutations(documents):
        scores = [score for _, score in order]
        if scores == sorted(scores, reverse=True):
            yield [grade for grade, _ in order]


def gain(grade, *, signed):
    number = 0 if grade is None else grade
    return number if signed else max(number, 0)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("cutoff", [1, 2, 4, 9])
def test_averaged_dcg_is_the_mean_over_all_orders(seed, cutoff):
    documents = examples(seed)
    for kind, signed in (("linear", False), ("signed", True)):
        sums = [
            sum(gain(grade, signed=signed) / log2(i + 1) for i, grade in enumerate(order[:cutoff], 1))
            for order in orders(documents)
        ]
        (value,) = computed(documents, f"DCG(gain='{kind}',ties='averaged')@{cutoff}")
        assert value == pytest.approx(np.mean(sums), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_a_signed_ideal_of_known_documents_is_their_best_order(seed):
    documents, missed = examples(seed), [2, -2][: seed % 3]
    pool = [gain(grade, signed=True) for grade, _ in documents] + missed
    ideal = sum(pool_gain / log2(i + 1) for i, pool_gain in enumerate(sorted(pool, reverse=True)[:4], 1))
    dcg, value = computed(
        documents,
        "DCG(gain='signed',ties='averaged')@4",
        "nDCG(gain='signed',ties='averaged',ideal='known')@4",
        missed=missed,
    )
    assert value == pytest.approx(dcg / ideal if ideal else 0, abs=1e-12)


def test_a_signed_ideal_of_judged_documents_leaves_the_unjudged_out():
    judged = block([[None, None, 1, -1]], ideal=[[1, -1, -2]])
    dcg = 1 / 2 - 1 / log2(5)
    metric = nDCG(gain="signed")
    assert metric.compute(judged) == pytest.approx(dcg / (1 - 1 / log2(3) - 2 / 2))
    known_ndcg = dcg / (1 - 1 / log2(5) - 2 / log2(6))  # 1, two without a grade, -1, -2
    assert metric(ideal="known").compute(judged) == pytest.approx(known_ndcg)
    retrieved = dcg / (1 - 1 / log2(5))
    assert metric(ideal="retrieved").compute(judged) == pytest.approx(retrieved)
    assert (metric(ideal="shown") @ 3).compute(judged) == pytest.approx(1 / 2)


def test_a_negative_grade_that_is_missed_stands_in_the_ideal():
    means = evaluate({"q": {"a": 1, "b": -2}}, {"q": {"a": 1.0}}, "NDCG(2, gain='rating')", "lenskit")
    assert means.runs[0].means["NDCG(2, gain='rating')"] == 1 / (1 - 2)


@pytest.mark.parametrize("seed", range(40))
def test_label_ranking_average_precision_is_its_definition(seed):
    documents = examples(seed)
    relevant = [score for grade, score in documents if gain(grade, signed=False) >= 1]
    at_each = [
        sum(other_score >= score for other_score in relevant)
        / sum(other_score >= score for _, other_score in documents)
        for score in relevant
    ]
    (value,) = computed(documents, "LRAP")
    assert value == pytest.approx(np.mean(at_each) if relevant else 0, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_ordered_pairs_are_counted_one_by_one(seed):
    missed = [3, 1, 0][: seed % 4]
    documents = examples(seed)
    all_documents = [*documents, *((grade, 0.0) for grade in missed)]
    pairs = [
        first_score > second_score
        for first_grade, first_score in all_documents
        for second_grade, second_score in all_documents
        if gain(first_grade, signed=False) > gain(second_grade, signed=False)
    ]
    (value,) = computed(documents, "OPA", missed=missed)
    assert value == pytest.approx(np.mean(pairs) if pairs else 0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_parts_of_a_tied_list_add_up_to_its_value(seed):
    lists = [examples(50 * seed + i) for i in range(20)]
    judged = block([[grade for grade, _ in documents] for documents in lists])
    first, last = judged.first.copy(), judged.last.copy()
    pair = np.broadcast_to(judged.rank[:, 2:3] < PAD, (len(lists), 2))
    # the second and the third judged are equal, where there is a third
    first[:, 1:3] = np.where(pair, first[:, 1:2], first[:, 1:3])
    last[:, 1:3] = np.where(pair, last[:, 2:3], last[:, 1:3])
    judged = replace(judged, first=first, last=last)
    for metric in (*(by_name[name] for name in TIED), nDCG(gain="signed", ideal="known")):
        bound = metric(ties="averaged") if "ties" in metric.parameters else metric
        steps = bound.decompose(judged)
        if steps:
            np.testing.assert_allclose(steps.value, bound.compute(judged), rtol=1e-12)


def test_what_is_refused_is_said():
    with raises("grade-outside-scale", InputError):
        nDCG(negative="refused").compute(block([[1, 0]], ideal=[[1, 0, -1]]))
    with raises("single-document", InputError):
        nDCG(single="refused").compute(block([[1, 0], [1]]))
    assert nDCG(negative="refused", single="refused").compute(block([[1, None]])) == 1


def test_the_best_document_is_sought_in_the_whole_pool():
    judged = block([[0, 1, 0, 2]], ideal=[[2, 1, 0, 0]])
    values = {"RR": 1 / 2, "RR(target='best')": 1 / 4, "RR(target='best')@3": 0}
    assert {name: float(parse(name).compute(judged)[0]) for name in values} == values
