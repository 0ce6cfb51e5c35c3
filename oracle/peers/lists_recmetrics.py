"""recmetrics: lists as they are, and counts of items."""

from collections import Counter

from recmetrics import metrics
from wire import tell, worlds

for world in worlds():
    rows = [*world["lists"].values()]
    seen = Counter(item for items in world["train"].values() for item in items)
    names = {  # coverage is given in percent
        "prediction_coverage": lambda r=rows, w=world: (
            metrics.prediction_coverage(r, [*w["features"]]) / 100
        ),
        "personalization": lambda r=rows: metrics.personalization(r),
        "novelty": lambda r=rows, s=seen, w=world: metrics.novelty(
            r, dict(s), len(w["train"]), w["k"]
        )[0],
    }
    for name, call in names.items():
        tell(world["id"], name, call)
