"""LensKit: a data set of training, and lists of items."""

import numpy as np
import pandas as pd
from lenskit.data import ItemList, from_interactions_df
from lenskit.metrics import ExposureGini, ListGini, MeanPopRank
from lenskit.metrics.ranking import entropy, rank_biased_entropy
from wire import tell, worlds


def gini(kind, world, k):
    """Of the lists of all users together."""
    metric = kind(k, items=len(world["features"]))
    result = [
        metric.measure_list(ItemList(items, ordered=True), None)
        for items in world["lists"].values()
    ]
    return metric.global_aggregate(result)


def popular(world, k):
    """The mean over the lists."""
    pairs = [(user, item) for user, items in world["train"].items() for item in items]
    metric = MeanPopRank(
        from_interactions_df(pd.DataFrame(pairs, columns=["user_id", "item_id"])), n=k
    )
    result = [
        metric.measure_list(ItemList(items, ordered=True), None)
        for items in world["lists"].values()
    ]
    return sum(result) / len(result)


def spread(function, world, k):
    """The mean over the lists; an item's categories are the numbers of it that are above 0."""
    had = {item: np.array(numbers) > 0 for item, numbers in world["features"].items()}
    category_mask = np.any([*had.values()], axis=0)  # a category that no item has is none
    result = []
    for items in world["lists"].values():
        shares = np.array([had[item][category_mask] / max(had[item].sum(), 1) for item in items])
        result.append(function(ItemList(items, ordered=True), shares, n=k))
    return sum(result) / len(result)


for world in worlds():
    for k in (1, world["k"]):
        for each in (ListGini, ExposureGini):
            name = f"{each.__name__}(n={k})"
            tell(world["id"], name, lambda f=each, w=world, k=k: gini(f, w, k))
        tell(world["id"], f"MeanPopRank(n={k})", lambda w=world, k=k: popular(w, k))
        for each in (entropy, rank_biased_entropy):
            name = f"{each.__name__}(n={k})"
            tell(world["id"], name, lambda f=each, w=world, k=k: spread(f, w, k))
