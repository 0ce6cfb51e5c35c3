"""Results of a small collection, one for each picture that is drawn of them."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from rankgate.decisions.unjudged.calibration import calibration
from rankgate.workspace.reports.chart_results import ChartRequest, compute_result

QUERIES = [f"q{i}" for i in range(12)]
QRELS = {q: {"a": 3, "b": 1, "c": 0, "d": 2} for q in QUERIES}
OLD = {q: {"x": 5 + i / 9, "b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0} for i, q in enumerate(QUERIES)}
NEW = {q: {"a": 5.0 - i % 3, "b": 4.5, "y": 3.5, "d": 1.0 + i % 4} for i, q in enumerate(QUERIES)}
RATINGS = "query_id,doc_id,rater,grade\n" + "".join(
    f"q{i},d{j},{rater},{(i + j + (rater == 'bob' and i == 3)) % 4}\n"
    for i in range(6)
    for j in range(3)
    for rater in ("ann", "bob", "cy")
)
RUNS = {
    "comparison": 2,
    "comparisons": 2,
    "evaluation": 2,
    "cutoffs": 2,
    "recall": 2,
    "reconciliation": 1,
    "blindness": 1,
    "explanation": 1,
    "ranks": 2,
    "agreed": 0,
    "pipeline": 2,
    "tradeoff": 2,
    "calibration": 2,
    "hidden": 2,
    "thresholds": 1,
    "admitted": 1,
}


@pytest.fixture(scope="session")
def collection():
    """The collection, and how many runs each result takes."""
    return SimpleNamespace(qrels=QRELS, runs=(OLD, NEW), takes=RUNS)


@pytest.fixture(scope="session", autouse=True)
def short_calibration():
    """Charts of calibration need no more than some experiments."""
    with pytest.MonkeyPatch.context() as patch:
        fast_calibration = partial(calibration, experiments=12)
        patch.setattr("rankgate.workspace.reports.chart_results.calibration", fast_calibration)
        yield


class Results(dict):
    """Inputs by the name that kinds declare; each is computed at first use."""

    def __init__(self, ratings):
        super().__init__()
        self.ratings = ratings

    def __missing__(self, need):
        qrels = self.ratings if need == "agreed" else QRELS
        request = ChartRequest(qrels, (OLD, NEW)[: RUNS[need]], query="q1")
        return self.setdefault(need, compute_result(need, request))


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The result that each chart is drawn of."""
    ratings = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    ratings.write_text(RATINGS)
    return Results(str(ratings))
