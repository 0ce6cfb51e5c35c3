"""Small random worlds from a seed: training, items with features, and lists for every user."""

from __future__ import annotations

import random
from typing import Any

SEED = 20261121
COUNT = 200

KINDS = ("full lists", "short lists", "items that training has not")
"""The kinds of world, by turns."""

World = dict[str, Any]


def worlds(count: int = COUNT, seed: int = SEED) -> list[World]:
    """``id``, ``kind``, ``k``; by user ``train``, ``lists``, ``relevant``; by item ``features``.

    Nobody is shown what he had in training, as some tools refuse that, and no world is without
    training, relevant items or features for anybody.
    """
    return [_world(i, random.Random(f"{seed}-{i}")) for i in range(count)]  # noqa: S311 - no secrets


def _world(place: int, rng: random.Random) -> World:
    kind = KINDS[place % len(KINDS)]
    items = [f"i{n:02}" for n in range(rng.randint(15, 30))]
    users = [f"u{n}" for n in range(rng.randint(4, 9))]
    k = rng.randint(2, 5)
    known_items = items[: -len(items) // 3] if kind == "items that training has not" else items
    had: dict[str, set[str]] = {user: {rng.choice(known_items)} for user in users}
    for item in known_items:
        for user in rng.sample(users, rng.randint(1, 3)):
            if len(had[user]) < len(items) - k or not any(
                item in user_items for user_items in had.values()
            ):
                had[user].add(item)
    lists = {}
    for user in users:
        free = [item for item in items if item not in had[user]]
        lists[user] = rng.sample(free, rng.randint(1, k) if kind == "short lists" else k)
    relevant = {
        user: sorted({rng.choice(lists[user]), *rng.sample(items, rng.randint(1, 3))})
        for user in users
    }
    features = {item: [round(rng.uniform(-1, 1), 3) for _ in range(3)] for item in items}
    train = {user: sorted(user_items) for user, user_items in had.items()}
    return {
        "id": place,
        "kind": kind,
        "k": k,
        "train": train,
        "lists": lists,
        "relevant": relevant,
        "features": features,
    }
