"""The page on recommenders names what there is."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from rankgate.data.logs.splits import SPLIT_METHODS
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.list_names import parse_list
from rankgate.measurement.metrics.lists import LIST_METRICS

PAGE = Path(__file__).parents[2] / "docs" / "recommenders.md"
TEXT = PAGE.read_text()


def test_its_python_runs():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_every_metric_and_every_split_is_on_it():
    for metric in (*LIST_METRICS, *FACET_METRICS):
        assert re.search(rf"\b{metric.name}\b", TEXT), metric.name
    for method in SPLIT_METHODS:
        assert f"`{method}`" in TEXT, method


def test_the_variants_of_libraries_are_metrics():
    _, _, table = TEXT.partition("| library | name here |")
    table, _, _ = table.partition("\n\n")
    variants = re.findall(r"^\| .*\| `([^`]+)` \|$", table, re.MULTILINE)
    assert len(variants) == 24
    assert all(parse_list(name) for name in variants)
