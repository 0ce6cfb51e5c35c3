"""Small random collections from a seed: the same ones for every tool, and for ever."""

from __future__ import annotations

import random
from typing import Any

SEED = 20250917
COUNT = 2000
DOCUMENTS = [*(f"d{i:02}" for i in range(70)), *"aBbCz", "10", "9", "é", "doc-1", "doc_1"]

KINDS = (
    "binary",
    "graded",
    "holes",
    "ties",
    "graded ties",
    "near scores",
    "short lists",
    "nothing relevant",
    "negative grades",
    "long lists",
    "three queries",
    "query missing",
    "query unknown",
    "list empty",
)
"""The kinds of collection, by turns; each differs from the plainest in one thing or two."""

Collection = dict[str, Any]


def collections(count: int = COUNT, seed: int = SEED) -> list[Collection]:
    """``id``, ``kind``, ``qrels`` and ``run`` of each, as plain dictionaries.

    A collection depends on the seed and its place alone, so that a smaller count is a beginning
    of a greater one.
    """
    return [_collection(i, random.Random(f"{seed}-{i}")) for i in range(count)]  # noqa: S311 - no secrets


def _collection(place: int, rng: random.Random) -> Collection:
    kind = KINDS[place % len(KINDS)]
    query_counts = {"three queries": 3, "query missing": 2, "query unknown": 2, "list empty": 2}
    qrels, run = {}, {}
    for number in range(1, query_counts.get(kind, 1) + 1):
        query = str(number)
        qrels[query], run[query] = _query(kind, rng)
    if kind == "query missing":
        del run["2"]
    if kind == "query unknown":
        del qrels["2"]
    if kind == "list empty":
        run["2"] = {}
    return {"id": place, "kind": kind, "qrels": qrels, "run": run}


def _query(kind: str, rng: random.Random) -> tuple[dict[str, int], dict[str, float]]:
    """The judgments of one query and a ranking for it, in an order that says nothing."""
    length = {"short lists": (1, 3), "long lists": (30, 60)}.get(kind, (2, 14))
    ranked = rng.sample(DOCUMENTS, rng.randint(*length))
    judged_share = 0.4 if kind in ("holes", "long lists") else 0.85
    judged = [document for document in ranked if rng.random() < judged_share]
    unranked = sorted(set(DOCUMENTS) - set(ranked))
    judged += rng.sample(unranked, rng.randint(0, 4))
    judged = judged or [ranked[0]]
    grades = {document: _grade(kind, rng) for document in judged}
    if kind != "nothing relevant" and max(grades.values()) <= 0:
        grades[rng.choice(judged)] = 1
    names = list(grades)
    rng.shuffle(names)
    return {name: grades[name] for name in names}, {name: _score(kind, rng) for name in ranked}


def _grade(kind: str, rng: random.Random) -> int:
    if kind == "nothing relevant":
        return 0
    if kind in ("binary", "ties"):
        return rng.choice((0, 0, 1))
    if kind == "negative grades":
        return rng.choice((-2, -1, 0, 1, 2))
    return rng.choice((0, 0, 1, 2, 3))


def _score(kind: str, rng: random.Random) -> float:
    if kind in ("ties", "graded ties"):
        return float(rng.randint(1, 4))
    if kind == "near scores":  # equal as 32-bit floats, distinct as doubles
        return 1 + rng.randint(1, 3) / 8 + rng.randint(0, 1000) * 1e-12
    return rng.randint(1, 1 << 20) / 1024
