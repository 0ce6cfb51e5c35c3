"""ranx: the mean of each collection, where judgments and run have the same queries."""

from ranx import Qrels, Run, evaluate
from wire import read, tell

CUTS = ("map", "mrr", "ndcg", "ndcg_burges", "precision", "recall", "f1", "hit_rate", "hits")
NAMES = [
    *(f"{name}@{k}" for name in CUTS for k in (1, 3, 10)),
    *("map", "mrr", "ndcg", "ndcg_burges", "precision", "recall", "f1", "r-precision", "bpref"),
    *("rbp.8", "rbp.50"),
]

for collection in read("plain"):
    qrels, run = collection["qrels"], collection["run"]
    same = set(qrels) == set(run)
    for name in NAMES:
        tell(
            collection["id"],
            name if same else f"{name}(make_comparable=True)",
            lambda n=name, q=qrels, r=run, s=same: evaluate(
                Qrels(q), Run(r), n, make_comparable=not s
            ),
        )
