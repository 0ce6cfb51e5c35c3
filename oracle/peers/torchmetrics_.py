"""torchmetrics: one query at a time, every judged document in the arrays."""

import torch
from torchmetrics.functional import retrieval
from wire import by_query

BINARY = ("average_precision", "reciprocal_rank", "precision", "recall", "hit_rate", "fall_out")


def call(name, top_k=None, *, binary=True):
    """A function of the package, for one ranking."""
    function = getattr(retrieval, f"retrieval_{name}")
    options = {} if top_k is None else {"top_k": top_k}

    def of(grades, ranking):
        scores = torch.tensor(list(ranking.values()), dtype=torch.float32)
        labels = [grades.get(document, 0) for document in ranking]
        target = torch.tensor([label > 0 for label in labels] if binary else labels)
        return function(scores, target, **options)

    return of


METRICS = {}
for each in BINARY:
    for k in (1, 3):
        METRICS[f"retrieval_{each}(top_k={k})"] = call(each, k)
METRICS["retrieval_average_precision"] = call("average_precision")
METRICS["retrieval_reciprocal_rank"] = call("reciprocal_rank")
METRICS["retrieval_r_precision"] = call("r_precision")
METRICS["retrieval_normalized_dcg"] = call("normalized_dcg", binary=False)
METRICS["retrieval_normalized_dcg(top_k=3)"] = call("normalized_dcg", 3, binary=False)

torch.set_num_threads(1)
by_query("complete", METRICS)
