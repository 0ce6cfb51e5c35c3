"""rexmex: lists as they are, against the relevant items."""

from rexmex.metrics import ranking as rexmex
from wire import by_query

METRICS = {}
for k in (1, 3, 10):
    for name in ("average_precision_at_k", "average_recall_at_k", "hits_at_k"):
        function = getattr(rexmex, name)
        METRICS[f"{name}(k={k})"] = lambda g, r, f=function, k=k: f(list(g), list(r), k=k)

by_query("listed_relevant", METRICS)
