"""LightGBM: a metric of rankgate in each round of training; its own nDCG agrees with ours."""

import lightgbm
import numpy as np
import polars as pl

import rankgate
from rankgate.metrics import AP, nDCG

QUERIES, DOCUMENTS = 200, 20
rng = np.random.default_rng(0)
features = rng.normal(size=(QUERIES * DOCUMENTS, 5))
noisy = features[:, 0] + 0.5 * features[:, 1] + rng.normal(size=len(features))
labels = np.clip(noisy * 1.2, 0, 4).astype(int)

# The rows' queries and documents: made once, as judgments with the labels and as runs with scores.
rows = pl.DataFrame(
    {
        "query_id": np.repeat(np.arange(QUERIES), DOCUMENTS),
        "doc_id": np.tile(np.arange(DOCUMENTS), QUERIES),
    }
).cast(pl.String)
qrels = rows.with_columns(grade=pl.Series(labels))

# LightGBM leaves equal scores in the order of rows, and a query without a relevant document is 1.
RULES = rankgate.convention("trec", {"ties": "file_order", "without_relevant": 1.0})
METRICS = [nDCG(gain="exp") @ 10, AP(rel=2)]


def measured(predictions, _):
    """What LightGBM calls a feval: names, values, and that higher is better."""
    run = rows.with_columns(score=pl.Series(predictions))
    means = rankgate.evaluate(qrels, run, METRICS, RULES).means
    return [(f"rankgate {name}", means[name][0], True) for name in means.columns[1:]]


seen = {}
lightgbm.train(
    {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbosity": -1},
    data := lightgbm.Dataset(features, labels, group=np.full(QUERIES, DOCUMENTS)),
    num_boost_round=20,
    valid_sets=[data],
    feval=measured,
    callbacks=[lightgbm.record_evaluation(seen)],
)
theirs, ours, average_precision = seen["training"].values()
assert max(abs(a - b) for a, b in zip(theirs, ours, strict=True)) < 1e-12
print(
    f"nDCG@10 {theirs[-1]:.6f} by both; AP {average_precision[0]:.4f} to {average_precision[-1]:.4f}"
)
