"""rexmex: pairs of users and items, and counts of items."""

from collections import Counter

from rexmex.metrics import coverage, ranking
from wire import tell, worlds

for world in worlds():
    pairs = [(user, item) for user, items in world["lists"].items() for item in items]
    everything = [[*world["lists"]], [*world["features"]]]
    rows = [*world["lists"].values()]
    seen = Counter(item for items in world["train"].values() for item in items)
    names = {
        "item_coverage": lambda e=everything, p=pairs: coverage.item_coverage(e, p),
        "user_coverage": lambda e=everything, p=pairs: coverage.user_coverage(e, p),
        "personalization": lambda r=rows: ranking.personalization(r),
        "novelty": lambda r=rows, s=seen, w=world: ranking.novelty(
            r, s, num_users=len(w["train"]), k=w["k"]
        ),
    }
    for name, call in names.items():
        tell(world["id"], name, call)
