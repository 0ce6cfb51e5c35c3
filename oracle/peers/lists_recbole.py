"""RecBole: what its collector hands to its metrics, hits and items as tensors."""

from collections import Counter

import numpy as np
import torch
from wire import tell, worlds

np.float = float  # noqa: NPY001 - what it still calls it; numpy took the name away in 1.24

from recbole.evaluator import DataStruct, metrics  # noqa: E402 - after that

NAMES = (
    "Hit",
    "MRR",
    "MAP",
    "Recall",
    "NDCG",
    "Precision",
    "ItemCoverage",
    "AveragePopularity",
    "ShannonEntropy",
    "GiniIndex",
    "TailPercentage",
)


def handed(world):
    """What its collector would hand over."""
    codes = {item: code for code, item in enumerate(sorted(world["features"]))}
    list_codes = np.array([[codes[item] for item in items] for items in world["lists"].values()])
    relevant_codes = [{codes[item] for item in items} for items in world["relevant"].values()]
    hits = [
        [int(code in relevant) for code in row] for row, relevant in zip(list_codes, relevant_codes)
    ]  # noqa: B905
    data = DataStruct()
    data.set(
        "rec.topk",
        torch.tensor([[*row, len(relevant)] for row, relevant in zip(hits, relevant_codes)]),
    )  # noqa: B905
    data.set("rec.items", torch.tensor(list_codes))
    data.set("data.num_items", len(codes))
    data.set(
        "data.count_items",
        Counter(codes[i] for train_items in world["train"].values() for i in train_items),
    )
    return data


def value(name, world, k):
    """One of its metrics at k."""
    config = {"topk": [1, world["k"]], "metric_decimal_place": 15, "tail_ratio": 0.1}
    result = getattr(metrics, name)(config).calculate_metric(handed(world))
    return result[f"{name.lower()}@{k}"]


for world in worlds():
    for name in NAMES:
        for k in (1, world["k"]):
            tell(world["id"], f"{name}@{k}", lambda n=name, w=world, k=k: value(n, w, k))
