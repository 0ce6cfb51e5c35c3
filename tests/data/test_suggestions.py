"""Completions, corrections and facets: the metrics over their tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile

TYPED = """target,prefix,suggestion,rank
cats,c,cars,1
cats,c,cats,2
cats,ca,cats,1
dogs,d,,
dogs,dog,"dogs, big",1
dogs,dog,dogs,2
bird,b,,
"""
SPELLED = """query\tcorrection\texpected
recieve\treceive\treceive
recieve\trelieve\treceive
acommodate\tacommodate\taccommodate
definately\tdefiantly\tdefinitely
colour\tcolor\tcolour|color
their\tthere\ttheir
house\t\thouse
"""
FACETS = "query,facet,documents\nboots,brand,b1|b2|b3\nboots,red,b3|b4\nboots,size,b5\n"


def values(tmp_path, text, metrics, qrels=None):
    table_path = tmp_path / "table.csv"
    table_path.write_text(text)
    result = rankgate.evaluate(qrels or table_path, table_path, metrics).runs[0]
    return {metric: result.per_query(metric) for metric in metrics}


def test_completions_by_hand(tmp_path):
    metrics = [
        "PrefixRR@1",
        "PrefixRR@2",
        "PrefixRR@3",
        "KeystrokesSaved",
        "KeystrokesSaved@1",
        "MinKeystrokes",
        "RR",
    ]
    assert values(tmp_path, TYPED, metrics) == {
        "PrefixRR@1": {"bird": 0, "cats": 1 / 2, "dogs": 0},
        "PrefixRR@2": {"bird": None, "cats": 1, "dogs": None},
        "PrefixRR@3": {"bird": None, "cats": None, "dogs": 1 / 2},
        "KeystrokesSaved": {"bird": 0, "cats": 1 - 1 / 4, "dogs": 1 - 3 / 4},
        "KeystrokesSaved@1": {"bird": 0, "cats": 1 - 2 / 4, "dogs": 0},
        "MinKeystrokes": {"bird": 4, "cats": 3, "dogs": 4},  # 1 + 2 or 2 + 1; typed whole
        "RR": {"bird": 0, "cats": 3 / 4, "dogs": 1 / 4},
    }


def test_corrections_by_hand(tmp_path):
    metrics = ["CorrectionAccuracy", "CorrectionP", "CorrectionR", "FalseAlarm", "Success@2"]
    empty_values = dict.fromkeys(["recieve", "acommodate", "definately", "colour", "their", "house"], None)
    assert values(tmp_path, SPELLED, metrics) == {
        "CorrectionAccuracy": {
            "recieve": 1,
            "acommodate": 0,
            "definately": 0,
            "colour": 1,
            "their": 0,
            "house": 1,
        },
        "CorrectionP": empty_values | {"recieve": 1, "definately": 0, "colour": 1, "their": 0},
        "CorrectionR": empty_values | {"recieve": 1, "acommodate": 0, "definately": 0},
        "FalseAlarm": empty_values | {"colour": 1, "their": 1, "house": 0},
        "Success@2": {"recieve": 1, "acommodate": 0, "definately": 0, "colour": 1, "their": 0, "house": 0},
    }


def test_facets_by_hand(tmp_path):
    metrics = ["EvidenceR@1", "EvidenceR@2", "EvidenceR", "FirstUseful", "Redundancy"]
    metric_values = values(tmp_path, FACETS, metrics, {"boots": {"b4": 1, "b5": 1}})
    assert {name: per_query["boots"] for name, per_query in metric_values.items()} == {
        "EvidenceR@1": 0,
        "EvidenceR@2": 1 / 2,
        "EvidenceR": 1,
        "FirstUseful": 2,
        "Redundancy": 1 - 5 / 6,
    }


@pytest.mark.parametrize(
    ("text", "name"), [(TYPED, "completions"), (SPELLED, "corrections"), (FACETS.replace(",", ";"), "facets")]
)
def test_tables_are_known_by_their_columns(text, name):
    assert detect_format(InputFile(None, text.encode()))[0].name == name
    assert contents_of(InputFile(None, text.encode())).runs


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
