"""A small shop: its documents in SQLite's full-text search, and queries that people ask."""

from __future__ import annotations

import sqlite3
from contextlib import closing

PRODUCTS = {
    "p1": "red running shoes",
    "p2": "blue running shoes",
    "p3": "red rain coat",
    "p4": "rain boots",
    "p5": "leather hiking boots",
    "p6": "wool hat",
    "p7": "red wool scarf",
    "p8": "running hat",
}
QUERIES = ("red shoes", "rain", "boots", "wool hat", "running")


def make_shop(path, *, title_weight=1.0):
    """Write the documents as a table of FTS5; a title may be repeated, which changes scores."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "DROP TABLE IF EXISTS products;"
            "CREATE VIRTUAL TABLE products USING fts5(id, title, extra);"
        )
        for doc_id, title in PRODUCTS.items():
            extra = " ".join(reversed(title.split())) if title_weight > 1 else ""
            database.execute("INSERT INTO products VALUES (?, ?, ?)", (doc_id, title, extra))
        database.commit()


def grade_of(query, title):
    """What a careful rater says: two if every word is there, one for some, zero for none."""
    words = set(query.split())
    share = len(words & set(title.split())) / len(words)
    return 2 if share == 1 else 1 if share else 0
