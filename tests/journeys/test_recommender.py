"""A recommender: what users took in a frame, and the matrices of scores that two models return."""

import numpy as np
import pandas as pd
import pytest

import rankgate

from .journey import MOST_TO_NUMBER, MOST_TO_VERDICT, ndcg

USERS, ITEMS = 60, 40


@pytest.fixture
def material():
    rng = np.random.default_rng(9)
    taste = rng.random((USERS, ITEMS))
    taken = taste > np.sort(taste, axis=1)[:, -4:-3]  # three items of each user
    users, items = np.nonzero(taken)
    log = pd.DataFrame({"customer": users, "article": items, "bought": 1})
    scores = {name: taste + rng.normal(0, noise, taste.shape) for name, noise in (("knn", 0.6), ("als", 0.1))}
    return log, scores


def test_from_a_frame_and_matrices_to_a_verdict(material):
    log, scores = material
    commands = 0
    columns = {"query": "customer", "doc": "article", "grade": "bought"}
    result = rankgate.evaluate(rankgate.Collection(log, columns=columns), scores, ["nDCG@10"])
    commands += 1
    means = dict(result.means.rows())
    for name, matrix in scores.items():
        values = []
        for user in range(USERS):
            grades = dict.fromkeys(log.article[log.customer == user], 1)
            values.append(ndcg(grades, list(np.argsort(-matrix[user], kind="stable")), 10))
        assert means[name] == pytest.approx(np.mean(values), abs=1e-12)
    assert commands <= MOST_TO_NUMBER
    verdict = rankgate.gate(result, policy=["nDCG@10"])
    commands += 1
    assert verdict.verdict == "inconclusive"  # what users did not take was never judged
    assert "selection" in str(verdict)
    collection = rankgate.Collection(log, columns=columns, selection="complete")
    verdict = rankgate.gate(collection, scores, policy=["nDCG@10"])
    commands += 1
    assert (verdict.verdict, verdict.names) == ("pass", ("knn", "als"))
    assert commands <= MOST_TO_VERDICT
