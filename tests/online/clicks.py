"""Searches that are simulated with known parameters."""

import numpy as np
import polars as pl

from rankgate.online.clicks.packed_searches import PackedSearches

SEARCHES, RANKS, QUERIES, DOCUMENTS = 20_000, 6, 4, 8


class World:
    """Lists in changing orders, with attractive and satisfying documents."""

    def __init__(self, seed=1):
        self.random = np.random.default_rng(seed)
        query = self.random.integers(QUERIES, size=SEARCHES)
        noise = self.random.random((SEARCHES, DOCUMENTS))
        order = np.argsort(noise + 0.06 * np.arange(DOCUMENTS), axis=1)[:, :RANKS]
        self.query, self.pair = query, query[:, None] * DOCUMENTS + order
        self.attractive = self.random.beta(2, 4, QUERIES * DOCUMENTS)
        self.satisfying = self.random.beta(4, 3, QUERIES * DOCUMENTS)
        self.a, self.s = self.attractive[self.pair], self.satisfying[self.pair]

    def chain(self, onward, after):
        clicks, looks = np.zeros(self.pair.shape, bool), np.ones(SEARCHES, bool)
        for rank in range(RANKS):
            clicks[:, rank] = looks & (self.random.random(SEARCHES) < self.a[:, rank])
            continue_chance = np.where(clicks[:, rank], after[:, rank], onward)
            looks &= self.random.random(SEARCHES) < continue_chance
        return clicks

    def examined(self, curve):
        return self.random.random(self.pair.shape) < self.a * curve

    def browsed(self, grid):
        clicks, last = np.zeros(self.pair.shape, bool), np.zeros(SEARCHES, int)
        for rank in range(RANKS):
            chance = self.a[:, rank] * grid[rank, last]
            clicks[:, rank] = self.random.random(SEARCHES) < chance
            last = np.where(clicks[:, rank], rank + 1, last)
        return clicks

    def packed(self, clicks):
        rows = pl.DataFrame(
            {
                "search": np.repeat(np.arange(SEARCHES), RANKS),
                "query_id": np.char.add("q", np.repeat(self.query, RANKS).astype(str)),
                "doc_id": np.char.zfill(self.pair.ravel().astype(str), 3),
                "rank": np.tile(np.arange(1, RANKS + 1), SEARCHES),
                "clicked": clicks.ravel(),
            }
        )
        return PackedSearches.pack(rows)
