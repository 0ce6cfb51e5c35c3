"""recommenders: tables of users, items and ratings; the mean of each collection."""

import pandas as pd
from recommenders.evaluation import python_evaluation
from wire import read, tell

CALLS = {"precision_at_k": {}, "recall_at_k": {}, "r_precision_at_k": {}, "map": {}}
CALLS |= {"map_at_k": {}, "ndcg_at_k": {}}


def table(nested, column):
    """Rows of user, item and number."""
    rows = [(user, item, x) for user, items in nested.items() for item, x in items.items()]
    return pd.DataFrame(rows, columns=["userID", "itemID", column])


for collection in read("relevant"):
    qrels, run = collection["qrels"], collection["run"]
    true, result = table(qrels, "rating"), table(run, "prediction")
    for name in CALLS:
        function = getattr(python_evaluation, name)
        tell(collection["id"], f"{name}(k=3)", lambda f=function, t=true, p=result: f(t, p, k=3))
    for kind in ("raw", "exp"):
        tell(
            collection["id"],
            f"ndcg_at_k(k=3, score_type='{kind}')",
            lambda t=true, p=result, s=kind: python_evaluation.ndcg_at_k(t, p, k=3, score_type=s),
        )
