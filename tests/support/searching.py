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


def make_shop(path, words=PRODUCTS):
    """Write the products as a table of FTS5, each with the words by which it is found."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "DROP TABLE IF EXISTS products;"
            "CREATE VIRTUAL TABLE products USING fts5(id, title UNINDEXED, words);"
        )
        rows = [(doc_id, title, words[doc_id]) for doc_id, title in PRODUCTS.items()]
        database.executemany("INSERT INTO products VALUES (?, ?, ?)", rows)
        database.commit()


def shifted_words():
    """The words of a faulty import: those of the next product, so that every query falls."""
    titles = list(PRODUCTS.values())
    return dict(zip(PRODUCTS, [*titles[1:], titles[0]], strict=True))


def grade_of(query, title):
    """The grade of a careful rater: two if all words occur, one for some, zero for none."""
    words = set(query.split())
    share = len(words & set(title.split())) / len(words)
    return 2 if share == 1 else 1 if share else 0
