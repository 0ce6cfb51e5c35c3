"""Metrics on lists in the numbers that the libraries themselves gave for small random worlds.

The worlds and the values are made by ``oracle/lists.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rankgate.services.scorecard import Beside, scorecard

STORED = json.loads((Path(__file__).parent / "lists.json").read_text())
WORLDS = {world["id"]: world for world in STORED["worlds"]}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("convention", STORED["values"])
def test_the_numbers_of_a_library(convention, world):
    told = [line for line in STORED["values"][convention] if line["world"] == world]
    if not told:
        assert (convention, WORLDS[world]["kind"]) == ("recbole", "short lists")
        return
    ours = of(WORLDS[world], [line["metric"] for line in told], convention)
    for line in told:
        assert ours[line["metric"]] == pytest.approx(line["value"], abs=line["tolerance"], rel=1e-9)


def of(world, names, convention):
    """The figures of the scorecard, by the names that the library has for them."""
    run = [(user, item, -float(rank)) for user, items in world["lists"].items()
           for rank, item in enumerate(items)]  # fmt: skip
    pairs = [(user, item) for user, items in world["train"].items() for item in items]
    items = [(item, *numbers, _words(numbers)) for item, numbers in world["features"].items()]
    beside = Beside(
        train=pl.DataFrame(pairs, schema=["user", "item"], orient="row"),
        items=pl.DataFrame(items, schema=["item_id", "x", "y", "z", "kind"], orient="row"),
        features=("x", "y", "z"),
        category="kind",
    )
    frame = pl.DataFrame(run, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = {user: dict.fromkeys(items, 1) for user, items in world["relevant"].items()}
    told = scorecard(qrels, frame, names, convention, beside, resamples=1).figures
    return dict(zip(told["metric"], told["value"], strict=True))


def _words(numbers):
    """An item's categories: the numbers of it that are above 0."""
    return "|".join(name for name, number in zip("xyz", numbers, strict=True) if number > 0)


def test_every_library_says_enough():
    counts = {name: len(lines) for name, lines in STORED["values"].items()}
    assert counts.keys() == {
        *("recommenders", "lenskit", "evidently", "recbole", "rexmex", "recmetrics"),
    }
    assert min(counts.values()) > 10
