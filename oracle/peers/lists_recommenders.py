"""recommenders: tables of training, of what is shown with its relevance, and of features."""

import numpy as np
import pandas as pd
from recommenders.evaluation import python_evaluation as tool
from wire import tell, worlds

USER, ITEM = "userID", "itemID"


def table(pairs):
    """Users and items as it calls them."""
    return pd.DataFrame(
        [(user, item) for user, items in pairs.items() for item in items], columns=[USER, ITEM]
    )


for world in worlds():
    train, shown = table(world["train"]), table(world["lists"])
    wanted = {(user, item) for user, items in world["relevant"].items() for item in items}
    pairs = zip(shown[USER], shown[ITEM], strict=True)
    judged = shown.assign(relevance=[float(pair in wanted) for pair in pairs])
    features = pd.DataFrame(
        {ITEM: [*world["features"]], "features": [np.array(f) for f in world["features"].values()]}
    )
    by = {"item_feature_df": features, "item_sim_measure": "item_feature_vector"}
    names = {
        "catalog_coverage": lambda t=train, s=shown: tool.catalog_coverage(t, s),
        "distributional_coverage": lambda t=train, s=shown: tool.distributional_coverage(t, s),
        "novelty": lambda t=train, s=shown: tool.novelty(t, s),
        "diversity": lambda t=train, s=shown, by=by: tool.diversity(t, s, **by),
        "serendipity": lambda t=train, s=judged, by=by: tool.serendipity(
            t, s, **by, col_relevance="relevance"
        ),
    }
    for name, call in names.items():
        tell(world["id"], name, call)
