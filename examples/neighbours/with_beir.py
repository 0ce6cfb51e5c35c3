"""BEIR: its dictionaries of judgments and results are taken as they are; all values agree."""

from beir.retrieval.evaluation import EvaluateRetrieval

import rankgate
from rankgate.metrics import AP, P, R, nDCG

# GenericDataLoader(folder).load(split="test") returns judgments of this shape,
# EvaluateRetrieval(model).retrieve(corpus, queries) results of this shape.
qrels = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}, "q3": {"d4": 1}}
results = {
    "q1": {"d2": 0.9, "d1": 0.8, "d7": 0.7},
    "q2": {"d8": 0.5, "d3": 0.4},
    "q3": {"d4": 0.6},
}

theirs = {}
for part in EvaluateRetrieval.evaluate(qrels, results, [1, 10]):
    theirs |= part

metrics = [nDCG @ 10, AP @ 10, R @ 10, P @ 10]
ours = rankgate.evaluate(qrels, results, metrics, "beir").means.row(0)[1:]
for name, value in zip(["NDCG@10", "MAP@10", "Recall@10", "P@10"], ours, strict=True):
    assert abs(theirs[name] - value) < 1e-5, (name, theirs[name], value)  # BEIR rounds to five

baseline = {query: dict(list(found.items())[::-1]) for query, found in results.items()}
print(rankgate.compare(qrels, baseline, {"model": results}, metrics, "beir"))
