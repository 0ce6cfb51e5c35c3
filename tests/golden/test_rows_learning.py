"""What scikit-learn, torchmetrics, rax, allRank and LensKit compute for small inputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rankgate.measurement.scoring import CONVENTIONS
from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

COUNTS = {"lenskit": 447, "torchmetrics": 417, "rax": 278, "sklearn": 230, "allrank": 7}
ELSEWHERE = (
    "2.10-0008",  # entropy of what was recommended, in nats: no judgments
    "2.10-0009",  # the same in bits
)


ALL = rows_of({*COUNTS, "xgboost", "formula"})
ROWS = [row for row in ALL if row["id"] not in ELSEWHERE]


def numbers(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": {"a": 3.0, "b": 2.0}, "2": {}}``."""
    # rax takes a score of minus infinity as not retrieved; a run says so by leaving it out
    return {
        query: {name: float(value) for name, value in pairs if value != "-inf"}
        for query, pairs in parsed(text, sign).items()
    }


FILLED = {"neg": {"without_relevant": 0.0}, "pos": {"without_relevant": 1.0}}
FILLED |= {"skip": {"without_relevant": None}, "error": {"no_relevant": "error"}}


def result(row):
    """The metric of a row, and its convention with the options that the row calls it by."""
    name, _, option = row["metric"].removesuffix("]").partition(" [")
    if row["convention"] == "formula":
        return "F(beta=2)@3", CONVENTIONS["trec"], ""
    convention = CONVENTIONS[row["convention"]]
    if name.startswith("RetrievalMAP("):
        convention = replace(convention, **FILLED[name.split("'")[1]])
        name = "RetrievalMAP"
    if name == "ndcg(filler_value=0.0)":
        name, convention = "ndcg()", replace(convention, special={})
    if row["note"] == "no-relevant query alone":  # of a whole batch, RR is 0 and not 1
        convention = replace(convention, special={})
    if option == "gains 2^g-1":
        convention = replace(
            convention, parameters={"nDCG": {**convention.parameters["nDCG"], "gain": "exp"}}
        )
    return name, convention, option.removeprefix("query ") if option.startswith("query") else ""


def call(row):
    metric, convention, query = result(row)
    tables = numbers(row["qrels"], "="), numbers(row["run"], "@")
    if query:
        return Call(*tables, metric, convention, lambda scores, name: scores.per_query(name)[query])
    return Call(*tables, metric, convention)


def has_value(row):
    """False for rows of LensKit's ``measure_list`` without a value: its own means count them as 0."""
    return row["convention"] != "lenskit" or row["value"] != "nan"


@pytest.mark.parametrize("batch", batches([row for row in ROWS if has_value(row)]))
def test_the_convention_gives_what_the_tool_gives(batch):
    assert_rows(batch, evaluated({row["id"]: call(row) for row in batch}))


def test_no_row_is_missing():
    row_counts = Counter(row["convention"] for row in ALL)
    assert row_counts == {**COUNTS, "formula": 3}  # the one row of xgboost was read, not run
    assert len(ROWS) == sum(row_counts.values()) - len(ELSEWHERE)
    assert sum(row["value"].startswith("error") for row in ROWS) == 7
    assert sum(not has_value(row) for row in ROWS) == 58


def test_lenskit_counts_lists_without_a_value_as_0():
    """As ``test_printed_summaries`` has it from the library itself."""
    rows = [row for row in ROWS if not has_value(row) and ";" not in row["qrels"]]
    values = evaluated({row["id"]: call(row) for row in rows})
    assert len(rows) > 20
    assert set(values.values()) == {0.0}
