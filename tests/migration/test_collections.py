"""Verdicts hold on judged collections that the study of docs/validity.md did not use."""

import gzip

import numpy as np
import pytest

import rankgate
from support.needs import SHARED

K, MARGIN = 10, 0.01
COLLECTIONS = {
    "dl20-doc": ("dl20-doc/qrels.dl20-doc.txt.gz", "dl20-doc/runs"),
    "trec-covid": ("trec-covid-r1/qrels.covid-round1.txt", "trec-covid-r1/runs/OHSU_RUN2.gz"),
}
pytestmark = [pytest.mark.shared, pytest.mark.parametrize("name", COLLECTIONS)]


def lines_of(path):
    if path.is_dir():
        path = min(path.iterdir())
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [line.split() for line in file]


def collection(name, copies=8):
    """Lists of 30 documents, several times the same queries, and their grades."""
    judged, run = (lines_of(SHARED / part) for part in COLLECTIONS[name])
    grades, lists = {}, {}
    for query, _, doc, grade in judged:
        grades.setdefault(query, {})[doc] = max(int(grade), 0)
    for query, _, doc, _, score, *_ in run:
        if query in grades:
            lists.setdefault(query, []).append((float(score), doc))
    old, all_grades = {}, {}
    for copy in range(copies):
        for query, rows in lists.items():
            docs = [doc for _, doc in sorted(rows, reverse=True)[:30]]
            old[f"{query}#{copy}"] = {doc: 30.0 - rank for rank, doc in enumerate(docs)}
            all_grades[f"{query}#{copy}"] = {doc: grades[query].get(doc, 0) for doc in docs}
    return old, all_grades


def thinned(old, grades, share, random, *, relevant_only=False):
    return {
        q: {d: s for d, s in docs.items() if random.random() >= share or (relevant_only and not grades[q][d])}
        for q, docs in old.items()
    }


def verdict(old, new, grades, seed):
    before = {q: {d: grades[q][d] for d in list(docs)[:K]} for q, docs in old.items()}
    test, answers = rankgate.Test(seed=seed), {}
    result = rankgate.migrate(old, new, before, test=test)
    while len(result.pool):
        for query, doc in result.pool.iter_rows():
            answers.setdefault(query, {})[doc] = grades[query][doc]
        result = rankgate.migrate(old, new, before, answers=answers, test=test)
    return result


def difference(old, new, grades):
    shown = {q: {d: grades[q][d] for r in (old, new) for d in list(r[q])[:K]} for q in old}
    means = dict(rankgate.evaluate(shown, {"old": old, "new": new}, ["nDCG@10"]).means.iter_rows())
    return means["new"] - means["old"]


def test_a_loss_beyond_the_margin_seldom_passes(name):
    old, grades = collection(name)
    share = 0.01
    while True:
        new = thinned(old, grades, share, np.random.default_rng(1), relevant_only=True)
        if difference(old, new, grades) < -MARGIN:
            break
        share += 0.0025
    passes = [verdict(old, new, grades, seed).outcome == "pass" for seed in range(20)]
    assert sum(passes) <= 4  # a binomial of 20 and .05 exceeds 4 in 3 of 1,000


def test_a_graph_that_misses_little_passes(name):
    old, grades = collection(name)
    new = thinned(old, grades, 0.006, np.random.default_rng(2))
    assert difference(old, new, grades) > -MARGIN / 2
    outcomes = [verdict(old, new, grades, seed) for seed in range(10)]
    assert sum(result.outcome == "pass" for result in outcomes) >= 6
    assert max(result.judged for result in outcomes) <= 100
