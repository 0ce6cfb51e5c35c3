"""recommenders on pandas frames: those of the metrics that it has."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from lists_clock import timed
from recommenders.evaluation import python_evaluation as theirs

warnings.simplefilter("ignore")
shown, relevant, before = (np.load(path) for path in sys.argv[1:])


def frame(table: np.ndarray, **more: np.ndarray) -> pd.DataFrame:
    """A row for each user and item."""
    users = np.repeat(np.arange(len(table)), table.shape[1])
    return pd.DataFrame({"userID": users, "itemID": table.ravel().astype(np.int64), **more})


truth = frame(relevant, rating=np.ones(relevant.size))
lists = frame(shown, prediction=np.tile(np.arange(shown.shape[1], 0.0, -1), len(shown)))
train = frame(before)


def accuracy() -> dict[str, float]:
    """In an order in which its cache helps: what has the same cutoff comes together."""
    return {
        "R@100": theirs.recall_at_k(truth, lists, k=100),
        "AP": theirs.map(truth, lists, k=100),
        "Rprec": theirs.r_precision_at_k(truth, lists, k=100),
        "P@10": theirs.precision_at_k(truth, lists, k=10),
        "nDCG@10": theirs.ndcg_at_k(truth, lists, k=10),
    }


def beyond() -> dict[str, float]:
    """Its coverage is over the items of training."""
    return {
        "Coverage(over='training')": theirs.catalog_coverage(train, lists),
        "Entropy": theirs.distributional_coverage(train, lists),
        "Novelty(of='interactions')": theirs.novelty(train, lists),
    }


timed(accuracy=accuracy, lists=beyond)
