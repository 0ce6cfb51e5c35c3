"""RecBole's metrics on what its collector hands over: hits and items as tensors.

Its share of the long tail is left out: it looks for each item in a Python list.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import torch
from lists_clock import timed

np.float = float  # type: ignore[attr-defined]  # noqa: NPY001 - what it still calls it

from recbole.evaluator import DataStruct, metrics  # noqa: E402 - after that

shown, relevant, before = (np.load(path) for path in sys.argv[1:])
depth = shown.shape[1]
at = "metric_decimal_place"
config = {"topk": [10, depth], at: 12}

hits = np.zeros(shown.shape, np.int32)
for column in relevant.T:
    hits |= shown == column[:, None]
lengths = np.full((len(shown), 1), relevant.shape[1], np.int32)
data = DataStruct()
data.set("rec.topk", torch.from_numpy(np.concatenate([hits, lengths], axis=1)))
data.set("rec.items", torch.from_numpy(shown.astype(np.int64)))
data.set("data.num_items", 50_000)
data.set("data.count_items", Counter(before.ravel().tolist()))

ACCURACY = (metrics.Hit, metrics.MRR, metrics.MAP, metrics.Recall, metrics.NDCG, metrics.Precision)
LISTS = (metrics.ItemCoverage, metrics.AveragePopularity, metrics.ShannonEntropy, metrics.GiniIndex)
NAMES = {
    "precision@10": "P@10",
    "recall@100": "R@100",
    "ndcg@10": "nDCG@10",
    "hit@10": "Success@10",
    "mrr@100": "RR",
    "map@100": "AP",
    "itemcoverage@100": "Coverage",
    "giniindex@100": "Gini",
    "averagepopularity@100": "Popularity(unknown='zero')",
    "shannonentropy@100": "Entropy(base=2.718281828459045,per='item')",
}


def evaluated(chosen: tuple[type, ...]) -> dict[str, float]:
    """Those of its metrics that are ours as well, by our names."""
    result: dict[str, float] = {}
    for metric in chosen:
        result |= metric(config).calculate_metric(data)
    return {NAMES[name]: value for name, value in result.items() if name in NAMES}


timed(accuracy=lambda: evaluated(ACCURACY), lists=lambda: evaluated(LISTS))
