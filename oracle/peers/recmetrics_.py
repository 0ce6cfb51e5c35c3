"""recmetrics: lists as they are, against the relevant items."""

from recmetrics import metrics
from wire import by_query

METRICS = {
    "recommender_precision": lambda g, r: metrics.recommender_precision([list(r)], [list(g)]),
    "recommender_recall": lambda g, r: metrics.recommender_recall([list(r)], [list(g)]),
}
for k in (1, 3, 10):
    METRICS[f"_ark(k={k})"] = lambda g, r, k=k: metrics._ark(list(g), list(r), k)  # noqa: SLF001

by_query("listed_relevant", METRICS)
