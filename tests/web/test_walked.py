"""Pages on a store that nights filled: evaluations, comparisons and verdicts of runs with dated names."""

import pytest

import rankgate
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import users

QUERIES = [f"q{n:02}" for n in range(30)]
QRELS = {query: {"a": 2, "b": 1, "c": 0} for query in QUERIES}
GOOD = {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in QUERIES}
BAD = GOOD | {query: {"c": 3.0, "b": 2.0, "a": 1.0} for query in QUERIES[:20]}
WALKED = "/projects/walked"


@pytest.fixture(scope="module")
def nights(team):
    """The records of two nights of the system docs: by kind, first the good night, then the bad one."""
    with team.store.write() as connection:
        project = projects.add(connection, "walked").id
        users.grant(connection, project, users.get_by_name(connection, "viewer").id, "viewer")
    records = {}
    for day, run in ((28, GOOD), (29, BAD)):
        name = f"docs-202611{day}"
        base = {"docs-20261128": GOOD}
        results = {"evaluation": rankgate.evaluate(QRELS, {name: run}, ["nDCG@10"])}
        if run is BAD:
            results["comparison"] = rankgate.compare(QRELS, base, {name: run}, ["nDCG@10"])
            results["verdict"] = rankgate.gate(QRELS, base, {name: run}, ["nDCG@10"])
        for hour, (kind, result) in enumerate(results.items()):
            recorded = rankgate.record(
                result,
                store=team.store.name,
                project="walked",
                system="docs",
                at=f"2026-11-{day}T0{hour}:00",
                qrels=QRELS,
                runs={**base, name: run},
                provenance=rankgate.Provenance(f"r{day}", "main"),
            )
            records[day, kind] = recorded.records["record"][0]
    return records


@pytest.mark.parametrize("kind", ["evaluation", "comparison", "verdict"])
def test_both_lists_are_shown_whatever_the_later_record_is(team, nights, kind):
    visitor = team.visitor("viewer")
    pair = f"before={nights[28, 'evaluation']}&after={nights[29, kind]}"
    page = visitor.get(f"{WALKED}/changes/query.json?query=q03&{pair}&metric=nDCG@10").json()
    before, after = page["lists"]["before"], page["lists"]["after"]
    assert [row["doc_id"] for row in before] == ["a", "b", "c"]
    assert [row["doc_id"] for row in after] == ["c", "b", "a"]
    html = visitor.get(f"{WALKED}/changes/query?query=q03&{pair}&metric=nDCG@10").data.decode()
    assert "No documents" not in html
    explained = visitor.get(
        f"{WALKED}/explain.json?query=q03&metric=nDCG@10&record={nights[29, kind]}&system=docs"
    )
    assert explained.status == 200, explained.data
    assert explained.json()["explanation"]["value"] < 1


def test_a_corpus_without_labels_is_not_called_the_same(team, nights):
    visitor = team.visitor("viewer")
    pair = f"before={nights[28, 'evaluation']}&after={nights[29, 'evaluation']}"
    html = visitor.get(f"{WALKED}/changes?{pair}").data.decode()
    assert "Whether the corpus changed is not known" in html
    assert "The corpus is the same" not in html
    assert "The judge is the same" in html  # the judgments are


def test_a_night_is_one_evaluation(team, nights):  # noqa: ARG001 - after them
    data = team.visitor("viewer").get(f"{WALKED}/trends.json?metric=nDCG@10&system=docs").json()
    with team.store.read() as connection:
        assert len(stored_runs.list_runs(connection, projects.get_by_name(connection, "walked").id)) == 2
    assert data["systems"] == ["docs"]
    assert [point["value"] < 1 for point in data["history"]["series"]] == [False, True]
