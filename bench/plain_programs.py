"""Plain programs with NumPy and Polars for the work of some verbs, as `bench/growth.py` needs them.

    python bench/plain_programs.py VERB FILE...

Each reads the same files as the verb and computes its main figures, without any checks.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from hashlib import blake2b, sha256
from itertools import combinations

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_QRELS, _RUN = ["query_id", "zero", "doc_id", "grade"], ["query_id", "Q0", "doc_id"]
_RUN += ["rank", "score", "tag"]
_PAIR = ["query_id", "doc_id"]
_CUTOFF, _P, _DRAWS, _RESAMPLES = 10, 0.9, 200, 10_000


def _read(path: str, columns: list[str]) -> pl.DataFrame:
    return pl.read_csv(path, separator=" ", has_header=False, new_columns=columns)


def _ranked(path: str) -> pl.DataFrame:
    run = _read(path, _RUN).select(*_PAIR, "score").sort("query_id", "score", descending=True)
    return run.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))


def _scores(qrels: pl.DataFrame, ranked: pl.DataFrame) -> pl.DataFrame:
    """nDCG@10, AP, RR, R@100 and P@10 of every query."""
    rows = ranked.join(qrels, on=_PAIR, how="left").with_columns(pl.col("grade").fill_null(0))
    discount = 1 / (pl.col("rank") + 1).log(2)
    top = pl.col("rank") <= _CUTOFF
    rows = rows.with_columns(rel=pl.col("grade") > 0)
    rows = rows.with_columns(hits=pl.col("rel").cum_sum().over("query_id"))
    figures = rows.group_by("query_id").agg(
        dcg=(pl.col("grade") * discount).filter(top).sum(),
        ap=(pl.col("hits") / pl.col("rank")).filter("rel").sum(),
        rr=(1 / pl.col("rank")).filter("rel").max().fill_null(0),
        recall=pl.col("rel").filter(pl.col("rank") <= 100).sum(),
        p=pl.col("rel").filter(top).mean(),
    )
    ideal = qrels.sort("query_id", "grade", descending=True)
    ideal = ideal.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    ideal = ideal.group_by("query_id").agg(
        ideal=(pl.col("grade") * discount).filter(top).sum(), count=(pl.col("grade") > 0).sum()
    )
    return figures.join(ideal, on="query_id").select(
        "query_id",
        pl.col("dcg") / pl.col("ideal"),
        pl.col("ap") / pl.col("count"),
        "rr",
        pl.col("recall") / pl.col("count"),
        "p",
    )


def scoring(qrels: str, *runs: str) -> object:
    """Five metrics of each run."""
    judgments = _read(qrels, _QRELS)
    return [_scores(judgments, _ranked(run)).mean().row(0)[1:] for run in runs]


def page(qrels: str, *runs: str) -> object:
    """A page of each run against the first: t-tests of five metrics, and both lists of 20 queries.

    The lists are those of the queries that lost most. It has no tests of all pairs and no charts.
    """
    judgments = _read(qrels, _QRELS)
    values, lists = [], []
    for run in runs:
        ranked = _ranked(run)
        values.append(_scores(judgments, ranked).sort("query_id"))
        lists.append(ranked.filter(pl.col("rank") <= _CUTOFF).join(judgments, _PAIR, how="left"))
    lines = ["<!doctype html><table>"]
    query_ids, baseline = values[0]["query_id"], values[0].drop("query_id").to_numpy()
    for run, table, first_rows in zip(runs[1:], values[1:], lists[1:], strict=True):
        deltas = table.drop("query_id").to_numpy() - baseline
        errors = deltas.std(axis=0, ddof=1) / np.sqrt(len(deltas))
        figures = (baseline.mean(axis=0), deltas.mean(axis=0), errors, deltas.mean(axis=0) / errors)
        cells = ["<td>".join(f"{value:.4f}" for value in figure) for figure in figures]
        lines += [f"<tr><th>{run}<td>{row}" for row in cells]
        worst = query_ids.gather(np.argsort(deltas[:, 0])[:20])
        both = lists[0].join(first_rows, _PAIR, how="full", coalesce=True, suffix="_candidate")
        worst_lists = both.filter(pl.col("query_id").is_in(worst.implode())).sort("query_id", "rank")
        rows = worst_lists.select("query_id", "rank", "rank_candidate", "doc_id", "grade").rows()
        lines += [f"<tr><td>{'<td>'.join(map(str, row))}" for row in rows]
    return len("\n".join(lines))


def gate(qrels: str, *runs: str) -> object:
    """nDCG@10 under drawn grades of unjudged documents."""
    judgments = _read(qrels, _QRELS)
    rng = np.random.default_rng(0)
    ranked = [_ranked(run).filter(pl.col("rank") <= _CUTOFF) for run in runs]
    both = pl.concat(ranked).select(_PAIR).unique().join(judgments, on=_PAIR, how="anti")
    holes = both.sort(_PAIR).with_row_index("hole")
    levels = judgments["grade"].to_numpy()
    grades = rng.choice(levels, (len(holes), _DRAWS))
    query_ids = judgments["query_id"].unique().sort()
    numbers = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    pool = judgments.join(numbers, on="query_id")
    hole_query = holes.join(numbers, on="query_id", maintain_order="left")["query"].to_numpy()
    owner = np.append(pool["query"].to_numpy(), hole_query)
    ideal = np.empty((len(query_ids), _DRAWS))
    order = np.argsort(owner, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(owner, minlength=len(query_ids))))
    rank = np.arange(len(owner)) - np.repeat(starts[:-1], np.diff(starts))
    gain = np.where(rank < _CUTOFF, 1 / np.log2(rank + 2), 0)
    for draw in range(_DRAWS):
        values = np.append(pool["grade"].to_numpy(), grades[:, draw])[order]
        key = np.sort(owner[order] * 1_000 - values)
        ideal[:, draw] = np.add.reduceat((owner[order] * 1_000 - key) * gain, starts[:-1])
    means = []
    for rows in ranked:
        joined = rows.join(judgments, on=_PAIR, how="left").join(holes, on=_PAIR, how="left")
        joined = joined.join(numbers, on="query_id").sort("query", "rank")
        hole = joined["hole"].fill_null(0).cast(pl.Int64).to_numpy()
        listed = np.where(
            joined["hole"].is_null().to_numpy()[:, None],
            joined["grade"].fill_null(0).to_numpy()[:, None],
            grades[hole],
        )
        gains = listed / np.log2(joined["rank"].to_numpy() + 1)[:, None]
        dcg = np.add.reduceat(gains, np.flatnonzero(np.diff(joined["query"], prepend=-1)))
        means.append((dcg / ideal).mean(axis=0))
    return [float(np.mean(means[1] - means[0]))]


def similarity(first: str, second: str) -> object:
    """Rank-biased overlap, tau of common documents and overlap of two runs, by query."""
    rows = _ranked(first).join(_ranked(second), on=_PAIR, how="inner", suffix="_second")
    depth = int(_ranked(first)["rank"].max())  # type: ignore[arg-type]
    weights = (1 - _P) * _P ** np.arange(depth)
    figures = []
    for (_,), table in rows.group_by("query_id"):
        ranks = table["rank"].to_numpy(), table["rank_second"].to_numpy()
        common = np.cumsum(np.bincount(np.maximum(*ranks), minlength=depth + 1)[1:])
        order = ranks[1][np.argsort(ranks[0])]
        figures.append(
            [
                float(weights @ (common / np.arange(1, depth + 1))),
                1 - 4 * _inversions(order) / (len(order) * (len(order) - 1)),
                float(np.corrcoef(*ranks)[0, 1]),
            ]
        )
    return np.mean(figures, axis=0).tolist()


def _inversions(values: NDArray[np.integer]) -> int:
    """The pairs in descending order, by merging sorted halves."""
    if len(values) < 64:
        return int(np.triu(values[:, None] > values[None], 1).sum())
    middle = len(values) // 2
    left, right = values[:middle], values[middle:]
    across = np.searchsorted(np.sort(left), right, "right")
    return _inversions(left) + _inversions(right) + int((middle - across).sum())


def agreement(path: str) -> object:
    """Cohen's kappa of each pair of raters, and Krippendorff's alpha."""
    table = pl.read_csv(path).with_columns(pl.col(*_PAIR, "rater").rank("dense") - 1)
    pairs = table.select(pl.struct(_PAIR).rank("dense") - 1).to_series().to_numpy()
    rater, grade = table["rater"].to_numpy(), table["grade"].to_numpy()
    levels = np.unique(grade)
    one_hot = np.zeros((len(levels), rater.max() + 1, pairs.max() + 1), np.float32)
    one_hot[np.searchsorted(levels, grade), rater, pairs] = 1
    joint = np.stack([[a @ b.T for b in one_hot] for a in one_hot])  # grades x grades x raters²
    total = joint.sum((0, 1))
    observed = joint[np.arange(len(levels)), np.arange(len(levels))].sum(0) / total
    expected = (joint.sum(0) * joint.sum(1)).sum(0) / total**2
    counts = one_hot.sum(1)
    size = counts.sum(0)
    is_used = size > 1
    counts, size = counts[:, is_used], size[is_used]
    within = sum(
        (counts[a] * counts[b] / (size - 1)).sum() * (levels[a] - levels[b]) ** 2
        for a, b in combinations(range(len(levels)), 2)
    )
    margin = counts.sum(1)
    between = sum(
        margin[a] * margin[b] * (levels[a] - levels[b]) ** 2 for a, b in combinations(range(len(levels)), 2)
    )
    kappa = (observed - expected) / (1 - expected)
    alpha = 1 - (size.sum() - 1) * within / between
    return [float(np.nanmean(kappa)), float(alpha)]


def sampling(baseline: str, candidate: str, model: str, output: str) -> object:
    """A random sample of documents by what their grades change in the difference of DCG@10.

    It writes the same sample as the verb. The chances are clipped at 1 and add up to the size of
    the first batch, and a document is drawn by a hash of its ids, because later batches have to
    contain this one. Without these steps the sample would be another one, and of no use later.
    """
    judgments = _read(model, _QRELS)
    discount = pl.when(pl.col("rank") <= _CUTOFF).then(1 / (pl.col("rank") + 1).log(2)).otherwise(0)
    runs = [_ranked(path).select(*_PAIR, discount.alias("discount")) for path in (baseline, candidate)]
    both = runs[0].join(runs[1], on=_PAIR, how="full", coalesce=True).fill_null(0)
    both = both.filter((pl.col("discount") > 0) | (pl.col("discount_right") > 0))
    both = both.join(judgments, on=_PAIR).sort(_PAIR)
    change = pl.col("discount_right") - pl.col("discount")
    low, high = judgments["grade"].min(), judgments["grade"].max()
    other_grade = pl.when(pl.col("grade") - low > high - pl.col("grade")).then(low).otherwise(high)
    gains = both.group_by("query_id").agg((change * pl.col("grade")).sum())["discount_right"]
    size = both.select((change * (other_grade - pl.col("grade"))).abs()).to_series().to_numpy()
    size = np.maximum(size, 0.1 * size.mean())
    batch_size = max(both["query_id"].n_unique(), 0.1 * len(both))
    chance, is_certain = np.zeros(len(both)), np.zeros(len(both), bool)
    while (chance[~is_certain] >= 1).any() or not chance.any():
        is_certain |= chance >= 1
        share = (batch_size - is_certain.sum()) / size[~is_certain].sum()
        chance = np.where(is_certain, 1, share * size)
    texts = (f"0\t{query}\t{document}".encode() for query, document in both.select(_PAIR).rows())
    hashes = [int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for text in texts]
    is_drawn = np.array(hashes) / 2.0**64 < chance
    sample = both.select(*_PAIR, inclusion=pl.Series(chance)).filter(pl.Series(is_drawn))
    rows = runs[0].select("query_id").unique().join(sample, on="query_id", how="left")
    rows.sort(_PAIR).write_csv(output)
    return [len(sample), float(gains.mean()), float(gains.var())]  # type: ignore[arg-type]


def majority(path: str, output: str) -> None:
    """The most frequent grade of each pair, the lower of equally frequent ones."""
    table = pl.read_csv(path).group_by(*_PAIR, "grade").len()
    table = table.sort(*_PAIR, "len", "grade", descending=[False, False, True, False])
    grades = table.group_by(_PAIR, maintain_order=True).agg(pl.col("grade").first())
    grades.select("query_id", pl.lit(0), "doc_id", "grade").write_csv(
        output, separator=" ", include_header=False
    )


def global_split(path: str, folder: str) -> None:
    """Training and test at a moment; items of training are no truth of the test."""
    log = pl.read_csv(path).sort("timestamp")
    cut = log["timestamp"].quantile(0.8)
    training, test = log.filter(pl.col("timestamp") < cut), log.filter(pl.col("timestamp") >= cut)
    key = ["user_id", "item_id"]
    truth = test.join(training, on=key, how="anti").select(key).unique().sort(key)
    truth = truth.join(training.select("user_id").unique(), on="user_id", how="semi")
    for name, table in (("training", training), ("test", test), ("truth", truth)):
        table.write_csv(f"{folder}/{name}.csv")


_TABLES = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN;
CREATE TABLE queries (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE raters (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE ratings (id INTEGER PRIMARY KEY, rating_id TEXT UNIQUE, project INTEGER, task INTEGER,
    query INTEGER, document INTEGER, rater INTEGER, grade REAL, source TEXT, recorded_at TEXT);
CREATE INDEX of_project ON ratings (project, id);
CREATE INDEX of_pair ON ratings (project, query, document, rater, id);
CREATE INDEX of_rater ON ratings (project, rater, id);
CREATE INDEX of_task ON ratings (task);
CREATE INDEX of_query ON ratings (query);
CREATE INDEX of_document ON ratings (document);
"""


def database(path: str) -> None:
    """Ratings as rows of SQLite, with the indexes of the store, and a hash as the id of each row.

    Most of the time of such a program is spent on the indexes, so that it must have all of them.
    The hash of a row is what makes a second import of the same file add nothing.
    """
    table = pl.read_csv(path)
    content = table.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()
    ids = [f"import-{sha256(text.encode()).hexdigest()}" for text in content]
    numbers = []
    with tempfile.TemporaryDirectory() as folder, sqlite3.connect(f"{folder}/plain.db") as connection:
        connection.executescript(_TABLES)
        for column, name in zip((*_PAIR, "rater"), ("queries", "documents", "raters"), strict=True):
            names = table[column].unique().sort()
            statement = f"INSERT INTO {name} VALUES (?, ?)"  # noqa: S608 - names of our tables
            connection.executemany(statement, enumerate(names))
            numbers.append((table[column].rank("dense") - 1).to_list())
        connection.executemany(
            "INSERT OR IGNORE INTO ratings VALUES (NULL, ?, 1, NULL, ?, ?, ?, ?, 'ratings.csv',"
            " '2026-01-01 00:00:00')",
            zip(ids, *numbers, table["grade"], strict=True),
        )


_LOG_SEARCHES = """
    CREATE TEMP TABLE searches AS SELECT query_event_id, min(t) FILTER (WHERE kind = 'search') AS t,
        any_value("user") AS "user", any_value(variant) AS variant,
        count(*) FILTER (WHERE kind = 'click') AS clicks, min(rank) FILTER (WHERE kind = 'click') AS top,
        arg_min(rank, t) FILTER (WHERE kind = 'click') AS first_rank,
        min(t) FILTER (WHERE kind = 'click') AS clicked, count(*) FILTER (WHERE kind = 'purchase') AS sales,
        coalesce(sum(value) FILTER (WHERE kind = 'purchase'), 0) AS revenue, max(latency_ms) AS latency,
        bool_or(cache_hit) AS hit
    FROM events GROUP BY 1
"""
_LOG_KPIS = """
    CREATE TEMP TABLE kpis AS SELECT CAST(t AS DATE) AS day, avg(CAST(clicks > 0 AS INT)),
        avg(CAST(coalesce(top = 1, false) AS INT)), avg(CAST(clicks = 0 AS INT)),
        avg(coalesce(1 / first_rank, 0)), avg(CAST(sales > 0 AS INT)), avg(revenue),
        quantile_cont(epoch(clicked) - epoch(t), 0.5), quantile_cont(latency, 0.95), avg(CAST(hit AS INT))
    FROM searches GROUP BY GROUPING SETS ((), (1));
    CREATE TEMP TABLE shown AS SELECT CAST(t AS DATE) AS day, count(*) FILTER (WHERE kind = 'click') /
        count(*) FILTER (WHERE kind = 'impression')
    FROM events GROUP BY GROUPING SETS ((), (1))
"""
_LOG_CHECKS = """
    CREATE TEMP TABLE found AS
        SELECT query_event_id, min(t) AS t FROM events WHERE kind = 'search' GROUP BY 1;
    SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM events
        GROUP BY kind, t, query_event_id, session, "user", doc_id, rank, value HAVING n > 1);
    SELECT count(*) FROM events ANTI JOIN found USING (query_event_id) WHERE kind = 'click';
    SELECT count(*) FROM events c JOIN found s USING (query_event_id) WHERE kind = 'click' AND c.t < s.t;
    SELECT count(*) FROM events ANTI JOIN found USING (query_event_id) WHERE kind = 'purchase';
    SELECT count(*) FROM (SELECT session FROM events GROUP BY 1
        HAVING count(*) >= 1000 OR count(DISTINCT query_event_id) > 50)
"""
_LOG_ARMS = """
    WITH users AS (SELECT variant, count(*) AS n, sum(CAST(clicks > 0 AS INT)) AS x, sum(revenue) AS y
        FROM searches GROUP BY variant, "user"),
    rates AS (SELECT *, sum(x) OVER w / sum(n) OVER w AS rx, sum(y) OVER w / sum(n) OVER w AS ry FROM users
        WINDOW w AS (PARTITION BY variant))
    SELECT variant, any_value(rx), var_samp(x - rx * n) * count(*) / sum(n) ** 2, any_value(ry),
        var_samp(y - ry * n) * count(*) / sum(n) ** 2
    FROM rates GROUP BY 1
"""


def _log_program(path: str, *statements: str) -> list[tuple[object, ...]]:
    """The rows of the last of some statements on a table of events."""
    connection = duckdb.connect()
    connection.read_parquet(path).project('*, "at" AS t').create_view("events")
    for statement in statements:
        connection.execute(statement)
    return connection.fetchall()


def log_kpis(path: str) -> object:
    """The KPIs of `bench/logs.py` in total and by day, without any check."""
    return len(_log_program(path, _LOG_SEARCHES, _LOG_KPIS))


def log_checks(path: str) -> object:
    """Five faults of a log: repeated events, clicks and orders without their search or before it, bots."""
    return len(_log_program(path, *_LOG_CHECKS.split(";")))


def log_arms(path: str) -> object:
    """The click-through rate and revenue of two arms, with variances by the delta method."""
    return len(_log_program(path, _LOG_SEARCHES, _LOG_ARMS))


PROGRAMS: dict[str, Callable[..., object]] = {
    "scoring": scoring,
    "page": page,
    "gate": gate,
    "similarity": similarity,
    "agreement": agreement,
    "sampling": sampling,
    "majority": majority,
    "global_split": global_split,
    "database": database,
    "log_kpis": log_kpis,
    "log_checks": log_checks,
    "log_arms": log_arms,
}

if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](*sys.argv[2:])))
