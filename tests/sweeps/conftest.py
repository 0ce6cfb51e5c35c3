"""A small index of SQLite, its engine, queries and judgments, and a sweep over them."""

import random
import sqlite3
from contextlib import closing
from itertools import combinations

import pytest

WORDS = ("red", "blue", "green", "shoe", "hat", "coat", "wool", "silk")


def texts(seed, count, length):
    """Texts of a few words, some more frequent than others."""
    chance = random.Random(seed)
    weights = range(1, len(WORDS) + 1)
    return [" ".join(chance.choices(WORDS, weights, k=length)) for _ in range(count)]


@pytest.fixture
def shop(tmp_path):
    """A folder with an index, ``engine.toml``, ``queries.tsv`` and ``qrels.txt``."""
    titles, bodies = texts(1, 80, 2), texts(2, 80, 12)
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop, shop:
        for table, tokenizer in (("plain", "unicode61"), ("stems", "porter unicode61")):
            shop.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5(id UNINDEXED, title, body, tokenize='{tokenizer}')"
            )
            rows = [(f"d{i}", titles[i], bodies[i]) for i in range(80)]
            shop.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
    chance = random.Random(3)
    pairs = chance.sample(list(combinations(WORDS, 2)), 24)  # no copies
    queries = {f"q{i}": " ".join(pair) for i, pair in enumerate(pairs)}
    (tmp_path / "queries.tsv").write_text("".join(f"{q}\t{t}\n" for q, t in queries.items()))
    grades = [
        f"{query} 0 d{i} {sum(word in titles[i].split() for word in text.split())}\n"
        for query, text in queries.items()
        for i in chance.sample(range(80), 40)
    ]
    (tmp_path / "qrels.txt").write_text("".join(grades))
    (tmp_path / "engine.toml").write_text(
        '[engine]\nkind = "sqlite"\ndatabase = "shop.sqlite"\ntable = "plain"\nid = "id"\n'
        'weights = [0, "{{title}}", "{{body}}"]\ndepth = 20\n'
        "[engine.parameters]\ntitle = 1.0\nbody = 1.0\nspare = 1\n"
        '[snapshot]\nbackoff = 0.01\nscores = "rank"\n'
    )
    return tmp_path


HEAD = """[sweep]
engine = "engine.toml"
queries = "queries.tsv"
qrels = "qrels.txt"
metrics = ["nDCG@10", "RR"]
"""
DIALS = """[dials]
title = [0.5, 1, 4]
table = ["plain", "stems"]
"""


@pytest.fixture
def plan(shop):
    """Write ``sweep.toml`` and return it."""

    def written(text=DIALS, head=HEAD):
        file = shop / "sweep.toml"
        file.write_text(head + text)
        return file

    return written


def figures(result):
    """All results of a sweep except times."""
    values = result.to_dict()
    for point in values["points"]:
        point |= {"latency": None, "latency_at_most": None, "latency_low": None, "latency_high": None}
    return values | {"front": None}
