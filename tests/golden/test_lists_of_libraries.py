"""Metrics on lists in the numbers that the libraries themselves gave for small random worlds.

The worlds and the values are made by ``oracle/lists.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.programs import tool

HERE = Path(__file__).parent
STORED = json.loads((HERE / "lists.json").read_text())
WORLDS = {world["id"]: world for world in STORED["worlds"]}
CARDED = tool("oracle/carded.py")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("convention", STORED["values"])
def test_the_numbers_of_a_library(convention, world):
    result = [line for line in STORED["values"][convention] if line["world"] == world]
    if not result:
        assert (convention, WORLDS[world]["kind"]) == ("recbole", "short lists")
        return
    rankgate_values = CARDED.carded(WORLDS[world], [line["metric"] for line in result], convention)
    for line in result:
        assert rankgate_values[line["metric"]] == pytest.approx(
            line["value"], abs=line["tolerance"], rel=1e-9
        )


def test_every_library_says_enough():
    counts = {name: len(lines) for name, lines in STORED["values"].items()}
    assert counts.keys() == {*("recommenders", "lenskit", "evidently", "recbole", "rexmex", "recmetrics")}
    assert min(counts.values()) > 10
