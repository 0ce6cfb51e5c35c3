"""XGBoost: a metric of rankgate in each round of training; its own nDCG agrees with ours."""

import numpy as np
import polars as pl
import xgboost

import rankgate
from rankgate.metrics import RR, nDCG

QUERIES, DOCUMENTS = 200, 20
rng = np.random.default_rng(0)
features = rng.normal(size=(QUERIES * DOCUMENTS, 5))
noisy = features[:, 0] + 0.5 * features[:, 1] + rng.normal(size=len(features))
labels = np.clip(noisy * 1.2, 0, 4).astype(int)

queries = np.repeat(np.arange(QUERIES), DOCUMENTS)
rows = pl.DataFrame({"query_id": queries, "doc_id": np.tile(np.arange(DOCUMENTS), QUERIES)}).cast(
    pl.String
)
qrels = rows.with_columns(grade=pl.Series(labels))


def measured(predictions, _):
    """What XGBoost calls a custom metric: a list of names, without spaces, and values."""
    run = rows.with_columns(score=pl.Series(predictions))
    means = rankgate.evaluate(qrels, run, [nDCG(gain="exp") @ 10, RR(rel=3)], "xgboost").means
    return [(f"rankgate-{name}", means[name][0]) for name in means.columns[1:]]


seen = {}
data = xgboost.DMatrix(features, labels, qid=queries)
xgboost.train(
    {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "max_depth": 3, "seed": 1},
    data,
    num_boost_round=20,
    evals=[(data, "training")],
    custom_metric=measured,
    evals_result=seen,
    verbose_eval=False,
)
theirs, ours, reciprocal = seen["training"].values()
assert max(abs(a - b) for a, b in zip(theirs, ours, strict=True)) < 1e-6  # XGBoost has 32 bits
print(f"nDCG@10 {theirs[-1]:.6f} by both; RR {reciprocal[0]:.4f} to {reciprocal[-1]:.4f}")
