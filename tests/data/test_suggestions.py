"""Completions, corrections and facets: the metrics over their tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.data.formats.registry import find_format
from rankgate.data.streams.source import InputFile

FACETS = "query,facet,documents\nboots,brand,b1|b2|b3\nboots,red,b3|b4\nboots,size,b5\n"


def test_facets_by_hand(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(FACETS)
    expected = {
        "EvidenceR@1": 0,
        "EvidenceR@2": 1 / 2,
        "EvidenceR": 1,
        "FirstUseful": 2,
        "Redundancy": 1 - 5 / 6,
    }
    result = rankgate.evaluate({"boots": {"b4": 1, "b5": 1}}, path, [*expected]).runs[0]
    assert {metric: result.per_query(metric)["boots"] for metric in expected} == expected


@given(st.text("abc", min_size=1, max_size=6), st.lists(st.integers(0, 4), max_size=6))
def test_laws_of_completions(target, ranks):
    """Shown at rank r after i letters (0 is not at all): the naive way."""
    rows = ["target,prefix,suggestion,rank"]
    for i, rank in enumerate(ranks[: len(target)], 1):
        prefix = target[:i]
        rows.append(f"{target},{prefix},{target if rank else ''},{rank or ''}")
    if len(rows) == 1:
        return
    input_file = InputFile(None, "\n".join(rows).encode())
    contents = find_format("completions").read(input_file)
    metrics = ["MinKeystrokes", "KeystrokesSaved"]
    means = rankgate.evaluate(contents.qrels, contents.runs[0], metrics).runs[0].means
    shown_lengths = [i for i, rank in enumerate(ranks[: len(target)], 1) if rank]
    assert means["KeystrokesSaved"] == pytest.approx(
        1 - min(shown_lengths, default=len(target)) / len(target)
    )
    # the one suggestion of a list is at its top, whatever the table calls its rank
    assert means["MinKeystrokes"] == min([len(target), *(i + 1 for i in shown_lengths)])
