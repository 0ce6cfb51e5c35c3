"""The means that libraries for recommenders print themselves, where some users have nothing.

``python oracle/summaries.py LIBRARY … > part.json`` in an environment with the libraries, which prints
what each summarises for the same two worlds; ``tests/golden/summaries.json`` has the parts of all.
In the world ``gaps`` one user gets no recommendations, one has no test item, one is recommended to
without test items; in ``full`` all have both, and one list is short.
"""

import importlib.util
import json
import sys
from importlib.metadata import files, version

K = 3
FULL = {
    "lists": {"u1": [*"abcd"], "u2": [*"bca"], "u3": [*"ea"], "u4": [*"dcba"], "u5": [*"fgh"]},
    "test": {"u1": [*"ac"], "u2": [*"def"], "u3": [*"a"], "u4": [*"dcbef"], "u5": [*"a"]},
}
GAPS = {"lists": {**FULL["lists"], "u2": [], "u7": [*"abc"]}, "test": {**FULL["test"], "u3": []}}
WORLDS = {"full": FULL, "gaps": GAPS}


def lenskit(world):
    """``RunAnalysis.measure(…).list_summary()``."""
    import numpy as np
    from lenskit.data import ItemList, ItemListCollection
    from lenskit.metrics import DCG, NDCG, RBP, Hit, Precision, Recall, RecipRank, RunAnalysis
    from lenskit.metrics.ranking import AveragePrecision

    def collection(rows, *, ordered):
        lists = ItemListCollection(["user_id"])
        for user, items in rows.items():
            lists.add(ItemList(item_ids=np.array(items, dtype=str), ordered=ordered), user_id=user)
        return lists

    lists, test = (collection(world["lists"], ordered=True), collection(world["test"], ordered=False))
    metrics = {
        f"{kind.__name__}({K})": kind(K) for kind in (DCG, NDCG, RBP, Hit, Precision, Recall, RecipRank)
    }
    metrics[f"AveragePrecision({K})"] = AveragePrecision(K)
    for name, metric in metrics.items():
        analysis = RunAnalysis(metric)
        try:
            yield name, float(analysis.measure(lists, test).list_summary()["mean"].iloc[0])
        except ZeroDivisionError as error:
            yield name, f"error: {error}"


def recommenders(world):
    """The functions of ``python_evaluation`` on tables of both."""
    import pandas as pd
    from recommenders.evaluation import python_evaluation as evaluation

    test = pd.DataFrame(
        [(user, item, 1.0) for user, items in world["test"].items() for item in items],
        columns=["userID", "itemID", "rating"],
    )
    lists = pd.DataFrame(
        [
            (user, item, float(-rank))
            for user, items in world["lists"].items()
            for rank, item in enumerate(items)
        ],
        columns=["userID", "itemID", "prediction"],
    )
    for name in ("precision_at_k", "recall_at_k", "ndcg_at_k", "map", "map_at_k"):
        yield f"{name}(k={K})", float(getattr(evaluation, name)(test, lists, k=K))


def recbole(world):
    """``Evaluator.evaluate`` of what its collector has: users with test items and full lists."""
    import numpy as np

    np.float = float  # noqa: NPY001 - the name that it uses, which NumPy 1.24 removed
    import torch
    from recbole.evaluator import DataStruct, Evaluator

    rows = [
        [*(int(item in items) for item in world["lists"][user][:K]), len(items)]
        for user, items in world["test"].items()
        if items and len(world["lists"][user]) >= K
    ]
    data = DataStruct()
    data.set("rec.topk", torch.tensor(rows))
    names = ["Recall", "MRR", "NDCG", "Hit", "Precision", "MAP"]
    config = {"metrics": names, "topk": [K], "metric_decimal_place": 4}
    printed = Evaluator(Config(config)).evaluate(data)
    for name in names:
        yield f"{name}@{K}", float(printed[f"{name.lower()}@{K}"])


class Config(dict):
    """Settings of RecBole, with those that are not needed missing."""

    def __missing__(self, name):
        return None


def recmetrics(world):
    """``mark`` of the lists of all users with test items."""
    package = next(path for path in files("recmetrics") if path.name == "metrics.py")
    spec = importlib.util.spec_from_file_location("metrics", package.locate())
    metrics = importlib.util.module_from_spec(spec)  # the package itself imports a seaborn that is gone
    spec.loader.exec_module(metrics)
    users = [user for user in world["test"] if user in world["lists"]]
    actual, predicted = ([world[part][user] for user in users] for part in ("test", "lists"))
    yield f"mark(k={K})", float(metrics.mark(actual, predicted, k=K))


def evidently(world):
    """The results of a ``Report`` on one table of lists, with the target of each row."""
    import pandas as pd
    from evidently.legacy import metrics
    from evidently.legacy.pipeline.column_mapping import ColumnMapping, RecomType
    from evidently.legacy.report import Report

    rows = [
        (user, item, rank, int(item in world["test"].get(user, [])))
        for user, items in world["lists"].items()
        for rank, item in enumerate(items, 1)
    ]
    table = pd.DataFrame(rows, columns=["user_id", "item_id", "prediction", "target"])
    for name in ("PrecisionTopK", "RecallTopK", "MAPK", "MARK", "NDCGK", "MRRK", "HitRateK"):
        metric = getattr(metrics, f"{name}Metric")(k=K)
        mapping = ColumnMapping(recommendations_type=RecomType.RANK)
        Report(metrics=[metric]).run(reference_data=None, current_data=table, column_mapping=mapping)
        value = metric.get_result().current_value if hasattr(metric.get_result(), "current_value") else None
        if value is None:
            value = metric.get_result().current.iloc[K - 1]
        yield f"{name}Metric(k={K})", float(value)


def recpack(world):
    """``Metric.calculate`` on matrices, and its ``value``."""
    import numpy as np
    from recpack import metrics
    from scipy.sparse import csr_matrix

    users, items = sorted({*world["lists"], *world["test"]}), [*"abcdefgh"]

    def matrix(rows, score):
        table = np.zeros((len(users), len(items)))
        for user, row in rows.items():
            for rank, item in enumerate(row):
                table[users.index(user), items.index(item)] = score(rank)
        return csr_matrix(table)

    for name in ("NDCGK", "PrecisionK", "RecallK", "CalibratedRecallK", "ReciprocalRankK", "HitK"):
        metric = getattr(metrics, name)(K)
        metric.calculate(matrix(world["test"], lambda _: 1), matrix(world["lists"], lambda rank: 10 - rank))
        yield f"{name}({K})", float(metric.value)


LIBRARIES = {
    function.__name__: function
    for function in (lenskit, recommenders, recbole, recmetrics, evidently, recpack)
}


def summary(name):
    """What a library prints for each world."""
    return {world: dict(LIBRARIES[name](rows)) for world, rows in WORLDS.items()}


if __name__ == "__main__":
    parts = {name: {"version": version(name), "printed": summary(name)} for name in sys.argv[1:]}
    print(json.dumps(parts, indent=1))
