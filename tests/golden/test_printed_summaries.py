"""The means that libraries for recommenders print, where some users have no list or no test item.

``oracle/summaries.py`` has the worlds and asks the libraries; ``summaries.json`` has what they printed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankgate
from support.programs import tool

STORED = json.loads((Path(__file__).parent / "summaries.json").read_text())
ORACLE = tool("oracle/summaries.py")
SHORT_LISTS = {"MAPKMetric(k=3)", "MARKMetric(k=3)"}
"""Evidently counts the last item of a short list again, as its convention says under defects."""


def world_of(library, name):
    """Lists and test items; RecBole has users with test items and full lists only."""
    world = ORACLE.WORLDS[name]
    if library != "recbole":
        return world
    users = [u for u, items in world["test"].items() if items and len(world["lists"][u]) >= ORACLE.K]
    return {part: {user: world[part][user] for user in users} for part in world}


@pytest.mark.parametrize("world", ORACLE.WORLDS)
@pytest.mark.parametrize("library", STORED)
def test_the_mean_is_the_one_that_the_library_prints(library, world):
    printed = STORED[library]["printed"][world]
    rows = world_of(library, world)
    test = {user: set(items) for user, items in rows["test"].items()}
    means = rankgate.evaluate(test, rows["lists"], [*printed], library).means
    tolerance = 5.1e-5 if library == "recbole" else 1e-9  # it prints four decimals
    for metric, value in printed.items():
        if isinstance(value, str):
            assert (library, metric) == ("lenskit", f"AveragePrecision({ORACLE.K})")
        elif metric not in SHORT_LISTS or world == "gaps":
            assert means[metric].item() == pytest.approx(value, abs=tolerance), metric


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ORACLE.LIBRARIES]
)
def test_an_installed_library_prints_what_is_stored(library):
    for world, printed in ORACLE.summary(library).items():
        expected = STORED[library]["printed"][world]
        assert printed == {
            name: value if isinstance(value, str) else pytest.approx(value, abs=1e-9)
            for name, value in expected.items()
        }


def test_every_library_is_stored_with_its_version():
    assert STORED.keys() == ORACLE.LIBRARIES.keys()
    assert all(part["version"] and part["printed"].keys() == ORACLE.WORLDS.keys() for part in STORED.values())
