"""Comparisons of one metric, made by hand."""

import numpy as np
import polars as pl

from rankgate.decisions.comparison.comparison import Comparison, Identity
from rankgate.decisions.comparison.comparison_columns import METRICS


def compared(delta):
    """A comparison of one metric, made by hand."""
    names = [f"q{i:03}" for i in range(len(delta))]
    queries = pl.DataFrame(
        {
            "query_id": names,
            "metric": "AP",
            "baseline": [0.5] * len(delta),
            "candidate": [0.5 + d for d in delta],
            "delta": list(delta),
            "gain": list(delta),
        }
    )
    ones = dict.fromkeys(("judged_baseline", "judged_candidate", "overlap"), 1.0)
    queries = queries.with_columns(**ones).sort("delta")
    row = dict.fromkeys(METRICS) | {"metric": "AP", "n": len(delta)}
    lists = pl.DataFrame(
        {"query_id": names, "system": "candidate", "rank": 1, "doc_id": "d", "grade": 1.0, "moved": None},
        schema_overrides={"moved": pl.Int64},
    )
    empty = pl.DataFrame()
    return Comparison(
        baseline=Identity("old", None, "1"),
        candidate=Identity("new", None, "2"),
        qrels="q",
        qrels_sha256="3",
        convention={"name": "trec"},
        metrics=pl.DataFrame([row], schema=METRICS),
        queries=queries,
        lists=lists,
        latency=empty,
        states=empty,
        excluded=empty,
        slices=empty,
        interactions=empty,
        judged=empty,
    )


def spread(mean, n=40, seed=1):
    """Differences with exactly this mean."""
    sample = np.random.default_rng(seed).normal(0, 0.1, n)
    return sample - sample.mean() + mean
