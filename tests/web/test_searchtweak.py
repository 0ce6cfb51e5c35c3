"""SearchTweak's golden cases, from single ratings that people enter through the REST API."""

from __future__ import annotations

import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.data.qrels import SCALES
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from support.serving import Visitor

PEOPLE = ("rater", "manager", "admin")
CASES = [
    # tests/Unit/Services/Scorers of SearchTweak: for each place of the list the raters' grades
    ("AP@5", "binary", [[1], [0], [1], [0], [1]], (1 + 2 / 3 + 3 / 5) / 3),
    ("P@3", "binary", [[1, 1, 0], [0, 0, 1], [1, 0, None]], 0.5),
    ("AP@3", "binary", [[1, 0, None], [1, 1, 0], [0, 0, 1]], 0.5),
    ("RR@3", "binary", [[1, 0], [0, 0], [1, 1]], 1 / 3),
    ("CG@3", "graded", [[3, 2, 1], [1, 1, 1], [0, 0, 0]], 3),
    ("ERR@10", "graded", [[3]], 7 / 8),
    ("ERR@10", "graded", [[0], [3]], 7 / 16),
    ("ERR@10", "graded", [[3], [2], [1], [0]], 0.9016927083333334),
    ("ERR-0.18@10", "graded", [[0], [3]], 0.772365121754323),
    # the rows of the whole table of conventions that have several raters, or another scale
    ("nDCG@3", "graded", [[1], [1], [1]], 1),
    ("P@1", "graded", [[1, 1, 0]], 1),
    ("CG@1", "detail", [[8, 4, 1]], 4 / 3),
    ("CG(d)@1", "detail", [[8, 4, 1]], 13 / 3),
    ("CG(d)@1", "binary", [[1, 1, 0]], 7),
    ("DCG@3", "graded", [[3], [2], [1]], 3 + 1.2618595071429148 + 0.5),
    ("nDCG@2", "graded", [[0], [0]], 0),
]


@pytest.mark.parametrize(("metric", "scale", "slots", "expected"), CASES)
def test_a_golden_case(team, signed_in, metric, scale, slots, expected):
    name = f"tweak-{CASES.index((metric, scale, slots, expected))}"
    documents = [f"d{i}" for i in range(len(slots))]
    with team.store.write() as connection:
        project = projects.add(connection, name, scale=SCALES[scale])
        batch = batches.add_batch(connection, project.id, "all", strategy="3")
        pairs = pl.DataFrame({"query_id": ["shoes"] * len(slots), "doc_id": documents})
        batches.add_pairs(connection, batch, pairs)
        scores = [float(len(slots) - i) for i in range(len(slots))]
        run = read_run(pairs.with_columns(score=pl.Series(scores)), "list")
        stored_runs.add_run(connection, team.store.blobs, project.id, run)
        for person in PEOPLE:
            users.grant(connection, project.id, users.get_by_name(connection, person).id, person)
    for index, person in enumerate(PEOPLE[: max(map(len, slots))]):
        task = signed_in[person].get(f"/projects/{name}/rate.json").json()["task"]
        while task:
            grades = slots[documents.index(task["sides"][0]["doc_id"])]
            grade = grades[index] if index < len(grades) else None
            fields = {"reason": "no knowledge"} if grade is None else {"grade": grade}
            answer = signed_in[person].post(f"/projects/{name}/ratings", task=task["id"], **fields)
            task = answer.json()["task"]
    query = f"convention=searchtweak&scale={scale}&metrics={metric}"
    evaluation = signed_in["manager"].get(f"/projects/{name}/ratings/evaluation.json?{query}").json()
    (section,) = evaluation["evaluation"]["parts"]
    assert section["runs"][0]["mean"][metric] == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def signed_in(team):
    """Raters with tokens of the REST API."""
    visitors = {}
    with team.store.write() as connection:
        for name in PEOPLE:
            user = users.get_by_name(connection, name).id
            secret = sign_in.issue_token(connection, user, "tests", ["admin"])[1]
            visitors[name] = Visitor(team.address, secret)
    return visitors
