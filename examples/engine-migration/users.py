"""Simulate a shop whose users meet a new engine in steps; the truth is known.

python users.py            the new engine ranks better
python users.py worse      it ranks worse
python users.py slow       it ranks better, and is slower when many search

Writes judgments, runs of both engines, a log from before the launch, interleaved lists with clicks,
and the log of a ramp into the folder ``world``.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from rankgate.online import interleave

QUERIES, DOCUMENTS, SHOWN = 150, 30, 8
BEFORE, EXPLORED = 8000, 0.3  # searches before the launch; the share with documents in other orders
REQUESTS = 4000
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STEPS = ((0.01, 3), (0.05, 3), (0.25, 4), (0.5, 7))  # share of the new engine, days
USERS = 3000  # that come on a day
NOISE = {"old": 1.1, "new": 0.8}  # of scores; grades are from 0 to 3


def main(truth: str) -> None:
    """Make the world and all that happens in it."""
    random = np.random.default_rng(11)
    place = Path("world")
    place.mkdir(exist_ok=True)
    noise = NOISE | ({"new": 1.6} if truth == "worse" else {})
    grades = random.choice(4, (QUERIES, DOCUMENTS), p=[0.6, 0.2, 0.12, 0.08])
    orders = {
        name: np.argsort(-(grades + random.normal(0, sd, grades.shape)), axis=1)[:, :SHOWN]
        for name, sd in noise.items()
    }
    (place / "qrels.txt").write_text(
        "".join(f"q{q} 0 d{q}-{d} {g}\n" for (q, d), g in np.ndenumerate(grades))
    )
    for name, order in orders.items():
        lines = (
            f"q{q} Q0 d{q}-{d} {rank} {SHOWN - rank} {name}\n"
            for q, docs in enumerate(order)
            for rank, d in enumerate(docs)
        )
        (place / f"{name}.run").write_text("".join(lines))
        took = np.random.default_rng(len(name)).gamma(5, 20, QUERIES)  # nobody else searches
        says = (f'{{"query_id": "q{q}", "latency_ms": {ms:.1f}}}\n' for q, ms in enumerate(took))
        (place / f"{name}.run.meta.jsonl").write_text("".join(says))
    before(grades, orders["old"], np.random.default_rng(12)).write_parquet(place / "before.parquet")
    lists(place / "shown.jsonl", grades, orders, random)
    slower = 1.3 if truth == "slow" else 1.02
    ramp(grades, orders, slower, random).write_parquet(place / "events.parquet")


def clicked(worth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Clicks of users who go down a list and may stop after a click."""
    chance = 0.01 + 0.07 * worth
    click = random.random(worth.shape) < chance
    stops = click & (random.random(worth.shape) < 0.6)
    before = np.cumsum(stops, axis=-1) - stops
    return click & (before == 0)


def before(grades: np.ndarray, old: np.ndarray, random: np.random.Generator) -> pl.DataFrame:
    """The log of a week in which all users had the old engine, and some searches explored.

    These showed documents of the old engine's first ranks and of further ones in random order, so
    that clicks tell what a document is worth wherever it is shown.
    """
    query = random.integers(QUERIES, size=BEFORE)
    shown = old[query]
    explored = np.flatnonzero(random.random(BEFORE) < EXPLORED)
    scores = grades[query[explored]] + random.normal(0, 1.5, (len(explored), DOCUMENTS))
    shown[explored] = np.argsort(-scores, axis=1)[:, :SHOWN]
    clicks = clicked(grades[query[:, None], shown], random)
    second = np.sort(random.integers(0, 7 * 86_400, BEFORE)).tolist()
    searches = pl.DataFrame({
        "query_event_id": [f"b{n}" for n in range(BEFORE)],
        "user": [f"w{n}" for n in random.integers(BEFORE // 2, size=BEFORE)],
        "session": [f"z{n}" for n in range(BEFORE)], "query": [f"q{q}" for q in query],
        "at": [BEGIN + timedelta(days=-7, seconds=s) for s in second], "state": "ok",
    })
    row, slot = np.indices(shown.shape).reshape(2, -1)
    docs = [f"d{query[n]}-{d}" for n, d in zip(row, shown.ravel(), strict=True)]
    seen = searches[row].with_columns(
        kind=pl.lit("impression"), doc_id=pl.Series(docs), rank=pl.Series(slot + 1, dtype=pl.Int32)
    )
    hits = seen.filter(pl.Series(clicks.ravel())).with_columns(
        kind=pl.lit("click"), at=pl.col("at") + timedelta(seconds=9)
    )
    return pl.concat([searches.with_columns(kind=pl.lit("search")), seen, hits], how="diagonal")


def lists(path: Path, grades: np.ndarray, orders: dict, random: np.random.Generator) -> None:
    """Interleaved lists of both engines, with the slots that users click."""
    with path.open("w") as file:
        for number in range(REQUESTS):
            q = int(random.integers(QUERIES))
            ranked = {name: [f"d{q}-{d}" for d in order[q]] for name, order in orders.items()}
            made = interleave(ranked, f"r{number}", length=SHOWN, query=f"q{q}")
            worth = np.array([grades[q, int(doc.split("-")[1])] for doc in made.docs])
            slots = (np.flatnonzero(clicked(worth, random)) + 1).tolist()
            line = {**made.to_dict(), "clicks": slots, "user": f"u{number}"}
            file.write(json.dumps(line) + "\n")


def ramp(
    grades: np.ndarray, orders: dict, slower: float, random: np.random.Generator
) -> pl.DataFrame:
    """Searches and clicks of the users of every step; each comes on one day."""
    parts, day = [], 0
    for share, days in STEPS:
        new = random.random(days * USERS) < share
        searches = random.poisson(0.5, len(new)) + 1
        user = np.repeat(np.arange(len(new)), searches)
        count = len(user)
        query = random.integers(QUERIES, size=count)
        taken = np.where(new[user][:, None], orders["new"][query], orders["old"][query])
        clicks = clicked(grades[query[:, None], taken], random)
        second = random.integers(0, 80_000, len(new))[user] + 120 * (np.arange(count) % 5)
        at = [BEGIN + timedelta(days=day + int(u // USERS), seconds=int(s))
              for u, s in zip(user, second, strict=True)]
        names = [f"s{day}-{n}" for n in range(count)]
        base = pl.DataFrame({
            "query_event_id": names, "user": [f"u{day}-{u}" for u in user],
            "session": [f"v{day}-{u}" for u in user], "query": [f"q{q}" for q in query],
            "variant": np.where(new[user], "new", "old").tolist(), "at": at, "state": "ok",
            "latency_ms": random.gamma(5, 20, count) * np.where(new[user], slower, 1.0),
        })
        row, slot = np.nonzero(clicks)
        hits = base[row].drop("latency_ms", "state").with_columns(
            kind=pl.lit("click"), at=pl.col("at") + timedelta(seconds=9),
            rank=pl.Series(slot + 1, dtype=pl.Int32),
        )
        parts += [base.with_columns(kind=pl.lit("search")), hits]
        day += days
    events = pl.concat(parts, how="diagonal")
    line = pl.int_range(1, pl.len() + 1)
    return events.with_columns(
        action=pl.col("kind"), event_id=pl.format("e{}", line), source_file=pl.lit("world"),
        source_line=line.cast(pl.Int64),
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "better")
