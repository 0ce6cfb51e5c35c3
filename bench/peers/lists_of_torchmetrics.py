"""torchmetrics' retrieval metrics on tensors of scores, targets and users.

Its AP at a cutoff is another one, the mean over the hits within it, and is left out.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from lists_clock import timed
from torchmetrics import retrieval

shown, relevant, _ = (np.load(path) for path in sys.argv[1:])
# what is relevant and not shown ranks behind the list, so that it counts in recall and ideals
missed = relevant[:, relevant.shape[1] // 2 :]
items = np.concatenate([shown, missed], axis=1)
target = np.zeros(items.shape, bool)
for column in relevant.T:
    target |= items == column[:, None]
width = items.shape[1]
scores = torch.arange(width, 0, -1, dtype=torch.float32).repeat(len(items))
users = torch.arange(len(items)).repeat_interleave(width)
targets = torch.from_numpy(target.ravel())

METRICS = {
    "P@10": retrieval.RetrievalPrecision(top_k=10),
    "R@100": retrieval.RetrievalRecall(top_k=100),
    "nDCG@10": retrieval.RetrievalNormalizedDCG(top_k=10),
    "RR": retrieval.RetrievalMRR(top_k=100),
    "Success@10": retrieval.RetrievalHitRate(top_k=10),
    "Rprec": retrieval.RetrievalRPrecision(),
}


def accuracy() -> dict[str, float]:
    """One metric after the other, as its collection does."""
    return {name: float(metric(scores, targets, indexes=users)) for name, metric in METRICS.items()}


timed(accuracy=accuracy)
