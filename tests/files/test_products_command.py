"""Products' files on the command line, as judgments and as runs, without converting them."""

from __future__ import annotations

import json

import pytest

from support.command import assert_refused

RUN = "notebook Q0 1 1 3.0 x\nnotebook Q0 3 2 2.0 x\nnotebook Q0 2 3 1.0 x\n"

JUDGMENTS = {
    "quepid.csv": "query,docid,rating\nnotebook,1,3\nnotebook,2,1\nnotebook,3,0\n",
    "rre.json": json.dumps(
        {
            "queries": [
                {
                    "placeholders": {"$query": "notebook"},
                    "relevant_documents": {"1": {"gain": 3}, "2": {"gain": 1}, "3": {"gain": 0}},
                }
            ]
        }
    ),
    "es.json": json.dumps(
        {
            "requests": [
                {
                    "id": "notebook",
                    "request": {"query": {"match_all": {}}},
                    "ratings": [
                        {"_index": "i", "_id": doc, "rating": grade}
                        for doc, grade in (("1", 3), ("2", 1), ("3", 0))
                    ],
                }
            ],
            "metric": {"dcg": {}},
        }
    ),
    "opensearch.json": json.dumps(
        {
            "judgmentRatings": [
                {
                    "query": "notebook",
                    "ratings": [
                        {"docId": doc, "rating": grade}
                        for doc, grade in (("1", "3.000"), ("2", "1.000"), ("3", "0.000"))
                    ],
                }
            ]
        }
    ),
}

SNAPSHOT = {
    "name": "x",
    "time": "2024-04-23T10:00:00Z",
    "docs": {"7": [{"id": doc, "rated_only": doc == "9"} for doc in ("9", "1", "3", "2")]},
    "queries": [{"query_id": 7, "query_text": "notebook", "ratings": {"1": 3}}],
    "scores": [],
}


@pytest.mark.parametrize("name", JUDGMENTS)
@pytest.mark.parametrize("snapshot", [False, True])
def test_all_are_judgments_and_runs(run, tmp_path, name, snapshot):
    """Average precision of documents 1 and 2 at ranks 1 and 3; others have no rank."""
    (tmp_path / name).write_text(JUDGMENTS[name])
    ranked = tmp_path / "ranked"
    ranked.write_text(json.dumps(SNAPSHOT) if snapshot else RUN)
    result = run("eval", tmp_path / name, ranked, "-m", "AP", "-m", "RR", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["runs"][0]["mean"] == {"AP": pytest.approx((1 + 2 / 3) / 2), "RR": 1}


def test_the_report_of_a_conversion_names_what_was_seen_and_lost(run, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("rating,docid,query\n3,1,red shoes\n4,1,red shoes\n,2,red shoes\n")
    conversion = run("convert", path, tmp_path / "out.qrels")
    assert conversion.code == 0
    result = " ".join(conversion.err.split())
    assert "as quaerite: the first line is rating,docid,query" in result
    assert "1 judgments that a later line corrects, passed over: red shoes 1 (line 2)" in result
    assert "1 query ids with blanks or signs that TREC cannot hold" in result
    assert (tmp_path / "out.qrels").read_text() == "red_shoes 0 1 4\n"


def test_damage_is_one_line_and_2(run, tmp_path):
    path = tmp_path / "in.json"
    path.write_text(JUDGMENTS["rre.json"][:-20])
    for arguments in (("convert", path, tmp_path / "out.csv"), ("eval", path, path)):
        assert_refused(run(*arguments), "invalid-json", path, 1)


def test_quepids_party(run, shared):
    """Judgments of the case and the run of the snapshot, straight from Quepid."""
    folder = shared / "products" / "quepid"
    case = folder / "haystack_rating_party_case.json"
    snapshot = folder / "haystack_rating_party_snapshot_no-vector.json"
    result = run("eval", case, snapshot, "-m", "nDCG@10", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["runs"][0]["counts"]["queries"] == 137


def test_a_suffix_of_many_is_that_of_the_plain_table(run, tmp_path):
    """A product's format is written if it is named; the suffix .json alone does not select it."""
    path = tmp_path / "in.csv"
    path.write_text(JUDGMENTS["quepid.csv"])
    for name, result in (("a.ndjson", "as jsonl"), ("a.csv", "as csv"), ("a.txt", "as trec")):
        assert result in " ".join(run("convert", path, tmp_path / name).err.split())
    conversion = run("convert", path, tmp_path / "a.json")
    assert_refused(conversion, "ambiguous-input")
