"""rankgate on integer lists, or on the frames that recommenders takes, all metrics at once."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from lists_clock import timed

from rankgate.data.collection import Collection, Items
from rankgate.data.memory.matrices import Lists
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.lists.list_builder import ListBuilder

assert ListBuilder
ITEMS = 50_000
ACCURACY = ["P@10", "R@100", "nDCG@10", "AP", "RR", "Success@10", "F1@10", "Rprec"]
LISTS = ["Coverage", "Gini", "Entropy", "Personalization", "Novelty", "Popularity"]
kind = sys.argv.pop(1)
shown, relevant, before = (np.load(path) for path in sys.argv[1:])


def frame(table: np.ndarray, **more: np.ndarray) -> pl.DataFrame:
    """A row for each user and item."""
    users = np.repeat(np.arange(len(table)), table.shape[1])
    return pl.DataFrame({"user": users, "item": table.ravel(), **more})


if kind == "frames":
    falling = np.tile(np.arange(shown.shape[1], 0.0, -1), len(shown))
    truth, lists = frame(relevant, grade=np.ones(relevant.size)), frame(shown, score=falling)
else:
    truth, lists = Lists(relevant), Lists(shown)
training = frame(before) if kind == "frames" else Lists(before)
collection = Collection(truth, training=training, items=Items(catalogue=ITEMS))


def evaluated(*metrics: str) -> dict[str, float]:
    """The means of some metrics."""
    result = evaluate(collection, lists, list(metrics))
    return dict(result.runs[0].means)


timed(accuracy=lambda: evaluated(*ACCURACY), all=lambda: evaluated(*ACCURACY, *LISTS))
