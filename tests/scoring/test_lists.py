"""The first items of each list, as a convention puts them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from rankgate.data import read_run
from rankgate.measurement.metrics.lists import NONE
from rankgate.measurement.metrics.lists.coverage_evenness import coverage
from rankgate.measurement.metrics.lists.novelty_surprise import Novelty
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.first_items import code_lists

RUN = {"1": {"a": 1.0, "b": 1.0, "c": 0.5}, "2": {"a": 2.0}}


def test_lists_stand_as_the_convention_has_them():
    result = code_lists(read_run(RUN), CONVENTIONS["trec"], 2, catalogue=["a", "b", "c", "d"])
    assert result.items.tolist() == [[1, 0], [0, NONE]]
    convention = replace(CONVENTIONS["trec"], ties="doc_id_asc")
    assert code_lists(read_run(RUN), convention, 2, catalogue=4).items.tolist() == [
        [0, 1],
        [0, NONE],
    ]
    assert coverage(result.sums()) == 2 / 4


def test_items_of_before_are_part_of_the_catalogue():
    result = code_lists(read_run(RUN), CONVENTIONS["trec"], 3, seen={"z": 1, "a": 2}, people=2)
    assert result.catalogue == 4
    assert Novelty.value(result) == 0
    assert code_lists(read_run(RUN), CONVENTIONS["trec"], 3).catalogue == 3


def test_a_query_that_returned_nothing_is_an_empty_list():
    states = pl.DataFrame({"query_id": ["3"], "state": ["zero"]})
    run = replace(read_run(RUN), queries=states)
    result = code_lists(run, CONVENTIONS["trec"], 1)
    assert np.array_equal(result.items[2], [NONE])
