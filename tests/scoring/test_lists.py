"""The first items of each list, as a convention puts them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankgate.data import read_run
from rankgate.measurement.metrics.lists import NONE
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.first_items import top_items

RUN = {"1": {"a": 1.0, "b": 1.0, "c": 0.5}, "2": {"a": 2.0}}


def shown(run, convention, depth, query_ids=("1", "2")):
    """The items of each list by name."""
    items, codes, _ = top_items(read_run(run), convention, depth, pl.Series(query_ids))
    return [[None if code == NONE else items[code] for code in row] for row in codes.tolist()]


def test_lists_stand_as_the_convention_has_them():
    assert shown(RUN, CONVENTIONS["trec"], 2) == [["b", "a"], ["a", None]]
    convention = replace(CONVENTIONS["trec"], ties="doc_id_asc")
    assert shown(RUN, convention, 2) == [["a", "b"], ["a", None]]


def test_a_query_that_returned_nothing_is_an_empty_list():
    states = pl.DataFrame({"query_id": ["3"], "state": ["zero"]})
    run = replace(read_run(RUN), queries=states)
    assert shown(run, CONVENTIONS["trec"], 1, ["3", "1"]) == [[None], ["b"]]
    none = pl.Series([], dtype=pl.String)
    *_, other_queries = top_items(run, CONVENTIONS["trec"], 1, none, everyone=True)
    assert other_queries.to_list() == ["1", "2", "3"]
