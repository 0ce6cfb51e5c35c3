"""Results of many verbs on tables of some thousand rows, for two processes that must agree.

``python equal_calls.py FOLDER THREADS SEED`` writes a file of JSON for each verb. With a seed
Polars gives rows in a random order wherever it promises none.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars as pl

import rankgate
from rankgate import online
from rankgate.core.present.codec import encode
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.saved.saved_baselines import save
from rankgate.judging.agreement.rater_resampling import resample_raters

QUERIES, DEPTH, SEARCHES = 1200, 4, 800
METRICS = ["nDCG@3", "RR@4", "P@2"]
POLICY = """
[[rules]]
kind = "judged"
k = 4
at_least = 0.5
[[rules]]
kind = "noninferiority"
metric = "nDCG@3"
margin = 0.05
"""


def _collection_tables():
    rng = np.random.default_rng(1)
    query_ids = np.repeat(np.arange(QUERIES), DEPTH)
    documents = np.tile(np.arange(DEPTH), QUERIES)
    names = {
        "query_id": [f"q{number}" for number in query_ids],
        "doc_id": [f"d{query % 40}-{doc}" for query, doc in zip(query_ids, documents, strict=True)],
    }
    rows = len(query_ids)
    qrels = pl.DataFrame({**names, "grade": rng.integers(0, 4, rows)})
    runs = {
        name: pl.DataFrame({**names, "score": rng.random(rows)}).filter(pl.Series(rng.random(rows) < 0.9))
        for name in ("old", "new", "third")
    }
    tags = pl.DataFrame(
        {
            "query_id": [f"q{number}" for number in range(QUERIES)],
            "device": [("phone", "desk")[number % 2] for number in range(QUERIES)],
        }
    )
    weights = tags.select("query_id", weight=pl.Series(rng.random(QUERIES) * 7 + 0.1))
    ratings = pl.concat(
        [
            qrels.select(
                "query_id", "doc_id", rater=pl.lit(rater), grade=pl.Series(rng.integers(0, 4, rows) * 0.7)
            ).filter(pl.Series(rng.random(rows) < 0.5))
            for rater in ("ann", "bob", "eve")
        ]
    )
    return qrels, runs, tags, weights, ratings


def _interactions():
    rng = np.random.default_rng(2)
    rows = 6000
    return pl.DataFrame(
        {
            "user": [f"u{user}" for user in rng.integers(0, 300, rows)],
            "item": [f"i{item}" for item in (rng.pareto(1, rows) * 5).astype(int) % 200],
            "timestamp": np.arange(rows) + 1_700_000_000,
            "rating": rng.random(rows) * 5,
        }
    )


def _write_log(path):
    rng = np.random.default_rng(3)
    users = rng.integers(0, SEARCHES // 5, SEARCHES)
    days = rng.integers(0, 28, SEARCHES)
    searches = pl.DataFrame(
        {
            "query_event_id": [f"s{number}" for number in range(SEARCHES)],
            "user": [f"u{user}" for user in users],
            "session": [f"u{user}-{day}" for user, day in zip(users, days, strict=True)],
            "query": [f"q{number}" for number in (rng.pareto(1.2, SEARCHES) * 3).astype(int) % 40],
            "variant": [("old", "new")[user % 2] for user in users],
            "latency_ms": rng.gamma(2, 40, SEARCHES),
        }
    ).with_columns(
        at=pl.lit(datetime(2026, 3, 2)).dt.replace_time_zone("UTC")  # noqa: DTZ001
        + pl.duration(days=pl.Series(days), seconds=pl.Series(rng.integers(0, 80000, SEARCHES)))
    )
    ranks = pl.DataFrame({"rank": np.arange(1, 6, dtype=np.int32)})
    shown = searches.drop("latency_ms").join(ranks, how="cross", maintain_order="left_right")
    document = pl.col("rank") + pl.Series(rng.integers(0, 3, len(shown)))
    shown = shown.with_columns(doc_id=pl.format("d{}-{}", pl.col("query"), document % 7))
    shown = shown.unique(["query_event_id", "doc_id"], keep="first", maintain_order=True)
    clicks = shown.filter(pl.Series(rng.random(len(shown)) < 0.4 / shown["rank"].to_numpy()))
    pause = pl.duration(milliseconds=pl.Series(rng.integers(2000, 60000, len(clicks))))
    clicks = clicks.with_columns(at=pl.col("at") + pause)
    paid = pl.Series(rng.gamma(2, 20, len(clicks)))
    tables = {
        "search": searches.with_columns(state=pl.lit("ok")),
        "impression": shown,
        "click": clicks,
        "dwell": clicks.with_columns(value=paid),
        "purchase": clicks.with_columns(value=paid.reverse()),
    }
    events = pl.concat(
        [table.with_columns(kind=pl.lit(kind)) for kind, table in tables.items()], how="diagonal"
    )
    events.sort("at", "query_event_id", "kind", "rank").write_parquet(path, row_group_size=500)
    return shown.select(query_id="query", doc_id="doc_id").unique(maintain_order=True)


def verbs(folder):
    """The calls by name; each call returns the values to compare."""
    qrels, runs, tags, weights, ratings = _collection_tables()
    old, new, third = (rankgate.read_run(table) for table in runs.values())
    named = {"old": old, "new": new, "third": third}
    policy = parse_policy(POLICY, "policy")
    sampled = rankgate.Collection(qrels, tags=tags, sample=weights)
    tagged = rankgate.Collection(qrels, tags=tags)
    log = _interactions()
    shown = _write_log(folder / "log.parquet")
    grades = shown.with_columns(grade=pl.int_range(pl.len()) * 7 % 4)
    grades.write_csv(folder / "qrels.csv")
    runs["old"].write_csv(folder / "old.csv")

    def events():
        return online.Events(folder / "log.parquet", despite=True)

    def saved_means():
        saved = save("main", tagged, str(folder / "old.csv"), METRICS, folder=folder, force=True)
        return dict(saved.summary.means)

    return {
        "evaluate": lambda: rankgate.evaluate(tagged, named, METRICS),
        "evaluate a sample": lambda: rankgate.evaluate(sampled, named, METRICS),
        "compare": lambda: rankgate.compare(tagged, old, new, METRICS[:1]),
        "bootstrap": lambda: rankgate.compare(
            qrels, old, new, METRICS[:1], test=rankgate.Test("bootstrap", resamples=50)
        ),
        "gate": lambda: rankgate.gate(tagged, old, new, policy, log=False),
        "advise": lambda: rankgate.advise(qrels, named),
        "describe": lambda: rankgate.describe(qrels, as_="qrels"),
        "agree": lambda: rankgate.agree(ratings),
        "resolve": lambda: rankgate.resolve(ratings, "mean"),
        "raters": lambda: resample_raters(ratings, old, new, METRICS, draws=2),
        "check_gold": lambda: rankgate.check_gold(qrels, ratings),
        "pool": lambda: rankgate.pool([old, new], rankgate.PoolDesign(depth=3), blind=True),
        "reusability": lambda: rankgate.reusability(qrels, named, METRICS, depth=3),
        "cutoff": lambda: rankgate.cutoff(qrels, named),
        "holes": lambda: rankgate.holes(qrels, old, new, METRICS[:1]),
        "split": lambda: rankgate.split(log, rankgate.SplitPlan("global"), negatives=5),
        "scorecard": lambda: rankgate.scorecard(qrels, named, resamples=50),
        "rank_similarity": lambda: rankgate.rank_similarity(old, new),
        "migrate": lambda: rankgate.migrate(old, new),
        "stages": lambda: rankgate.stages(qrels, named, METRICS),
        "baseline": saved_means,
        "kpi": lambda: online.kpi(events(), by=("variant",)),
        "ab": lambda: online.ab(
            events(),
            ["mrr_first_click", "revenue_per_session", "search_ctr"],
            design=online.Design(control="old"),
        ),
        "weeks": lambda: online.weeks(events(), qrels=str(folder / "qrels.csv")),
        "intents": lambda: online.intents(events()),
        "personalization": lambda: online.personalization(events(), "old"),
        "lists": lambda: online.lists(events(), choose="average").run.table,
    }


def main(folder, threads, seed):
    """Write the result of every verb to a file with its name."""
    import duckdb

    from support.shuffled_polars import shuffle_unordered

    connect = duckdb.connect
    duckdb.connect = lambda config: connect(config={**config, "threads": threads})
    if seed:
        shuffle_unordered(seed)
    for name, call in verbs(folder).items():
        result = call()
        content = result.rows() if isinstance(result, pl.DataFrame) else encode(result)
        text = json.dumps(content, sort_keys=True, default=str)
        (folder / f"{name}.result").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
