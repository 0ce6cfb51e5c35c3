"""Evidently: tables of what is shown and of training, with features and what was relevant."""

import pandas as pd
from evidently.legacy.metrics import (
    DiversityMetric,
    NoveltyMetric,
    PersonalizationMetric,
    PopularityBias,
    SerendipityMetric,
)
from evidently.legacy.pipeline.column_mapping import ColumnMapping, RecomType
from evidently.legacy.report import Report
from wire import tell, worlds

FEATURES = ["x", "y", "z"]


def table(pairs, features):
    """Users, items, ranks and features."""
    rows = [
        (user, item, rank, *features[item])
        for user, items in pairs.items()
        for rank, item in enumerate(items, 1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "prediction", *FEATURES])


def result(metric, world):
    """What a metric has for a world."""
    recommendations = table(world["lists"], world["features"])
    pairs = zip(recommendations["user_id"], recommendations["item_id"], strict=True)
    recommendations["target"] = [int(item in world["relevant"][user]) for user, item in pairs]
    train = table(world["train"], world["features"]).drop(columns="prediction")
    Report(metrics=[metric]).run(
        reference_data=None,
        current_data=recommendations,
        column_mapping=ColumnMapping(recommendations_type=RecomType.RANK),
        additional_data={"current_train_data": train},
    )
    return metric.get_result()


for world in worlds():
    k = world["k"]
    plain = {
        f"NoveltyMetric(k={k})": NoveltyMetric(k=k),
        f"PersonalizationMetric(k={k})": PersonalizationMetric(k=k),
        f"DiversityMetric(k={k})": DiversityMetric(k=k, item_features=FEATURES),
        f"SerendipityMetric(k={k})": SerendipityMetric(k=k, item_features=FEATURES),
    }
    for name, metric in plain.items():
        tell(world["id"], name, lambda m=metric, w=world: result(m, w).current_value)
    for part in ("apr", "coverage", "gini"):
        tell(
            world["id"],
            f"PopularityBias(k={k}).current_{part}",
            lambda w=world, k=k, p=part: getattr(result(PopularityBias(k=k), w), f"current_{p}"),
        )
