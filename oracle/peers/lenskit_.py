"""LensKit: lists as they are, against the relevant items and their ratings."""

from lenskit.data import ItemList
from lenskit.metrics.ranking import (
    NDCG,
    RBP,
    AveragePrecision,
    Hit,
    Precision,
    Recall,
    RecipRank,
)
from wire import by_query


def call(metric):
    """A metric of the package, for one ranking."""

    def of(grades, ranking):
        item_list = ItemList(item_ids=list(ranking), ordered=True)
        test = ItemList(item_ids=list(grades), rating=[float(grade) for grade in grades.values()])
        return metric.measure_list(item_list, test)

    return of


METRICS = {"NDCG()": call(NDCG()), "RBP(patience=0.8)": call(RBP(patience=0.8))}
for k in (1, 3, 10):
    METRICS |= {
        f"{kind.__name__}({k})": call(kind(k))
        for kind in (NDCG, Recall, Precision, RecipRank, AveragePrecision, Hit)
    }
    METRICS[f"NDCG({k}, gain='rating')"] = call(NDCG(k, gain="rating"))
    METRICS[f"RBP({k}, patience=0.8)"] = call(RBP(k, patience=0.8))

by_query("listed_relevant", METRICS)
