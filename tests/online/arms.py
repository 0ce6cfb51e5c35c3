"""Logs of an experiment with two arms, small enough to be made for a test."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import polars as pl

START = datetime(2026, 3, 1, tzinfo=UTC)


@cache
def log(users=600, days=8, effect=0.0, *, seed=0, share=0.5, before=0, slower=1.0):
    """Searches, impressions and clicks of users; each comes on a day and may come again.

    Args:
        users: the number of users.
        days: the length in days.
        effect: by how much the arm ``new`` changes the chance of a click.
        seed: of all draws.
        share: of the arm ``new``.
        before: days before the experiment, without arms.
        slower: what latencies of the arm ``new`` are multiplied by.
    """
    random = np.random.default_rng(seed)
    arm = random.random(users) < share
    chance = random.beta(4, 6, users)
    first = random.integers(0, days, users)
    rows = []
    for day in range(-before, days):
        visits = (day < 0) | ((first <= day) & ((first == day) | (random.random(users) < 0.4)))
        for user in np.flatnonzero(visits & ((day >= 0) | (random.random(users) < 0.4))):
            timestamp = START + timedelta(days=day, seconds=int(random.integers(0, 80_000)))
            new = bool(arm[user]) and day >= 0
            name = "new" if arm[user] else "old"
            search = {
                "query_event_id": f"s{user}.{day}",
                "user": f"u{user}",
                "session": f"v{user}.{day}",
                "query": "shoe",
                "variant": None if day < 0 else name,
                "kind": "search",
                "at": timestamp,
                "state": "ok",
                "latency_ms": float(random.gamma(4, 25)) * (slower if new else 1.0),
            }
            impression = {**search, "kind": "impression", "doc_id": "d", "rank": 1, "latency_ms": None}
            rows += [search, impression]
            if random.random() < chance[user] + (effect if new else 0):
                rows.append({**impression, "kind": "click", "at": timestamp + timedelta(seconds=5)})
    return pl.DataFrame(
        [
            {**row, "event_id": f"e{n}", "action": row["kind"], "source_file": "log", "source_line": n}
            for n, row in enumerate(rows)
        ],
        infer_schema_length=None,
    )
