"""Values that ir_measures 0.4.3 gave for one seeded world, two topics missing from the run."""

from __future__ import annotations

import numpy as np
import pytest

import rankgate

WANTED = {
    "Accuracy": 0.5608829079202532,
    "Accuracy(rel=2)": 0.5649251805985551,
    "Accuracy(rel=2)@5": 0.21428571428571427,
    "NumRel": 73.0,
    "NumQ": 10.0,
    "SetF(beta=0.5)": 0.23635168683569638,
    "SetF(beta=2.0)": 0.3203689370485036,
    "SetF(beta=2.0,rel=2)": 0.24637605042016805,
    "IPrec(judged_only=True)@0.1": 0.7708333333333334,
    "IPrec(judged_only=True,rel=2)@0.5": 0.5365079365079365,
}


def world() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rng = np.random.default_rng(3)
    docs = [f"d{i}" for i in range(30)]
    qrels, run = {}, {}
    for topic in range(1, 13):
        judged = rng.choice(docs, 10, replace=False)
        qrels[str(topic)] = {str(doc): int(rng.integers(0, 4)) for doc in judged}
        if topic not in {4, 8}:
            order = rng.permutation(docs)[:20]
            run[str(topic)] = {str(doc): 100.0 - rank for rank, doc in enumerate(order)}
    return qrels, run


@pytest.mark.parametrize("metric", WANTED)
def test_values_are_those_of_the_tool(metric: str) -> None:
    mean = rankgate.evaluate(*world(), [metric], "ir_measures").means[metric][0]
    assert mean == pytest.approx(WANTED[metric], rel=1e-12)
