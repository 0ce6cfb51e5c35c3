"""What scikit-learn, torchmetrics, rax, allRank and LensKit compute for small inputs.

The table is not part of the repository: it is sought beside it, and the tests are skipped
where it is missing.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankgate.errors import RankgateError
from rankgate.evaluation.evaluate import evaluate
from rankgate.scoring import CONVENTIONS

TABLE = Path(__file__).resolve().parents[3] / "shared" / "golden" / "conventions.csv"
COUNTS = {"lenskit": 447, "torchmetrics": 417, "rax": 278, "sklearn": 230, "allrank": 7}
ELSEWHERE = (
    "2.10-0008",  # entropy of what was recommended, in nats: no judgments
    "2.10-0009",  # the same in bits
)

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason="the table is not beside us")


def table():
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["reproducible"] == "yes"]
    return [row for row in rows if row["convention"] in {*COUNTS, "xgboost", "formula"}]


ALL = table()
ROWS = [row for row in ALL if row["id"] not in ELSEWHERE]


def numbers(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": {"a": 3.0, "b": 2.0}, "2": {}}``."""
    read = {}
    for ranking in text.split(";") if text else []:
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        # rax takes a score of minus infinity as not retrieved; a run says so by leaving it out
        read[query] = {name: float(value) for name, _, value in pairs if value != "-inf"}
    return read


FILLED = {"neg": {"without_relevant": 0.0}, "pos": {"without_relevant": 1.0}}
FILLED |= {"skip": {"without_relevant": None}, "error": {"no_relevant": "error"}}


def told(row):
    """The metric of a row, and its convention with the options that the row calls it by."""
    name, _, option = row["metric"].removesuffix("]").partition(" [")
    if row["convention"] == "formula":
        return "F(beta=2)@3", CONVENTIONS["trec"], ""
    how = CONVENTIONS[row["convention"]]
    if name.startswith("RetrievalMAP("):
        how = replace(how, **FILLED[name.split("'")[1]])
        name = "RetrievalMAP"
    if name == "ndcg(filler_value=0.0)":
        name, how = "ndcg()", replace(how, special={})
    if row["note"] == "no-relevant query alone":  # of a whole batch, RR is 0 and not 1
        how = replace(how, special={})
    if option == "gains 2^g-1":
        how = replace(how, parameters={"nDCG": {**how.parameters["nDCG"], "gain": "exp"}})
    return name, how, option.removeprefix("query ") if option.startswith("query") else ""


def value(row):
    """The mean over all queries, as whoever calls a function query by query forms it."""
    metric, how, query = told(row)
    scores = evaluate(numbers(row["qrels"], "="), numbers(row["run"], "@"), metric, how).runs[0]
    values = scores.per_query(metric)
    if query:
        return values[query]
    if how.name == "lenskit":  # a list without a value leaves the mean of the lists without one
        return float(np.mean([np.nan if each is None else each for each in values.values()]))
    return scores.means[metric]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_has_the_value_of_the_tool(row):
    if row["value"].startswith("error"):
        with pytest.raises(RankgateError):
            value(row)
    else:
        want = float(row["value"])
        tolerance = float(row["tolerance"])
        assert value(row) == pytest.approx(want, rel=0, abs=tolerance, nan_ok=True)


def test_no_row_is_missing():
    found = Counter(row["convention"] for row in ALL)
    assert found == {**COUNTS, "formula": 3}  # the one row of xgboost was read, not run
    assert len(ROWS) == sum(found.values()) - len(ELSEWHERE)
    assert sum(row["value"].startswith("error") for row in ROWS) == 7
