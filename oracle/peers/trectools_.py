"""trectools: all queries of all collections in one table, the values of each query."""

import pandas as pd
from trectools import TrecEval, TrecQrel, TrecRun
from wire import read, tell


def tables():
    """Judgments and rows by falling score, equal scores by rising id, as the tool's reader has."""
    judged, rows, keys = [], [], []
    for collection in read("shared"):
        for query, ranking in collection["run"].items():
            key = f"{collection['id']}-{query}"
            judged += [(key, 0, name, g) for name, g in collection["qrels"][query].items()]
            names = sorted(ranking, key=lambda name, r=ranking: (-r[name], name))
            # RBP takes equal scores on both sides of the border of two queries for a tie: every
            # second query is scaled, by a power of two, which moves neither order nor ties
            scale = 2.0**40 if len(keys) % 2 else 1.0
            keys.append(key)
            rows += [(key, "Q0", n, i, scale * ranking[n], "x") for i, n in enumerate(names, 1)]
    qrels, run = TrecQrel(), TrecRun()
    qrels.qrels_data = pd.DataFrame(judged, columns=["query", "q0", "docid", "rel"])
    run.run_data = pd.DataFrame(rows, columns=["query", "q0", "docid", "rank", "score", "system"])
    return run, qrels


TOLD = TrecEval(*tables())
CALLS = {
    "get_map()": lambda: TOLD.get_map(per_query=True),
    "get_reciprocal_rank()": lambda: TOLD.get_reciprocal_rank(per_query=True),
    "get_rprec()": lambda: TOLD.get_rprec(per_query=True),
    "get_bpref()": lambda: TOLD.get_bpref(per_query=True),
    "get_rbp(p=0.8)": lambda: TOLD.get_rbp(p=0.8, per_query=True),
    "get_rbp(p=0.5)": lambda: TOLD.get_rbp(p=0.5, per_query=True),
}
for k in (1, 3, 10):
    CALLS |= {
        f"get_map(depth={k})": lambda k=k: TOLD.get_map(depth=k, per_query=True),
        f"get_precision(depth={k})": lambda k=k: TOLD.get_precision(depth=k, per_query=True),
        f"get_recall(depth={k})": lambda k=k: TOLD.get_recall(depth=k, per_query=True),
        f"get_ndcg(depth={k})": lambda k=k: TOLD.get_ndcg(depth=k, per_query=True),
        f"get_ndcg(depth={k}, trec_eval=False)": lambda k=k: TOLD.get_ndcg(
            depth=k, trec_eval=False, per_query=True
        ),
    }

KEYS = sorted(set(TOLD.run.run_data["query"]))
for name, call in CALLS.items():
    found = call()
    found = found[0] if isinstance(found, tuple) else found
    # queries that find nothing are left out of the table, or are NaN in it; the tool's own
    # mean adds the rest and divides by all, which makes them 0
    values = found.iloc[:, 0].reindex(KEYS).fillna(0)
    for key, value in values.items():
        number, _, query = key.partition("-")
        tell(int(number), name, lambda v=value: v, query)
