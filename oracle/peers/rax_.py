"""rax: one query at a time, every judged document in the arrays.

All arrays have one length, with rax's own mask over what is there: each function is then
compiled once and not for every length anew.
"""

import functools

import jax
import numpy as np
import rax
from wire import by_query

LENGTH = 72


def call(metric, topn):
    """A metric of the package, for one ranking."""
    compiled = jax.jit(functools.partial(metric, topn=topn) if topn else metric)

    def of(grades, ranking):
        scores, labels = np.zeros(LENGTH, np.float32), np.zeros(LENGTH, np.float32)
        mask = np.arange(LENGTH) < len(ranking)
        scores[: len(ranking)] = list(ranking.values())
        labels[: len(ranking)] = [grades.get(name, 0) for name in ranking]
        return compiled(scores, labels, where=mask)

    return of


NAMES = ("ap", "ndcg", "dcg", "mrr", "precision", "recall")
METRICS = {f"{name}_metric()": call(getattr(rax, f"{name}_metric"), None) for name in NAMES}
METRICS |= {f"{name}_metric(topn=3)": call(getattr(rax, f"{name}_metric"), 3) for name in NAMES}
METRICS["opa_metric()"] = call(rax.opa_metric, None)

by_query("complete", METRICS)
