"""PyTerrier: the frames of an experiment, measured and compared here; both tools' means agree."""

import ir_measures
import pandas as pd
import pyterrier as pt

import rankgate
from rankgate.metrics import AP, RR, nDCG

topics = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["hiking shoes", "rain jacket", "tent"]})
qrels = pd.DataFrame(
    [("1", "d1", 2), ("1", "d2", 1), ("2", "d3", 1), ("3", "d4", 3), ("3", "d5", 1)],
    columns=["qid", "docno", "label"],
)


def ranked(rows):
    """A transformer that returns what it is given; yours is a retriever or a reranker."""
    found = pd.DataFrame(rows, columns=["qid", "docno", "score"]).merge(topics)
    return pt.Transformer.from_df(pt.model.add_ranks(found))


old = ranked([("1", "d2", 3), ("1", "d1", 2), ("2", "d9", 5), ("2", "d3", 1), ("3", "d5", 1)])
new = ranked([("1", "d1", 3), ("1", "d2", 2), ("2", "d3", 5), ("2", "d9", 1), ("3", "d4", 1)])

measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]
theirs = pt.Experiment([old, new], topics, qrels, measures, names=["old", "new"])

runs = {"old": old(topics), "new": new(topics)}
ours = rankgate.evaluate(qrels, runs, [nDCG @ 10, AP, RR], "ir_measures")
for measure, name in zip(measures, ["nDCG@10", "AP", "RR"], strict=True):
    assert (theirs[str(measure)] - ours.means[name].to_numpy()).abs().max() < 1e-12

comparison = rankgate.compare(qrels, runs["old"], {"new": runs["new"]}, [nDCG @ 10], "ir_measures")
print(comparison)
