"""Conversions between products and back: kept data, and the report of losses."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rankgate.data import contents_of, read_qrels, read_run
from rankgate.data.files.conversion import convert
from support.wording import raises


@pytest.fixture
def carry(tmp_path):
    """Convert from file to file; return the path of the last file and all losses by kind."""

    def carried(source, *names):
        losses = []
        for count, name in enumerate(names):
            target = tmp_path / f"{count}.{name}"
            conversion = convert(source, target, to=name)
            assert conversion.to_format == name
            losses.append({loss.what: (loss.count, loss.examples) for loss in conversion.losses})
            source = target
        return source, losses

    return carried


@pytest.fixture
def ratings(tmp_path):
    """Quepid's basic ratings, with an unrated document and a query without any."""
    path = tmp_path / "ratings.csv"
    path.write_text("query,docid,rating\nstar wars,11,3\nstar wars,12180,0\nstar wars,9,\nstar trek,,\n")
    return path


def test_quepid_to_rre_and_back(carry, ratings):
    """Array mode is the one that Quepid reads; a document without a rating has no gain there."""
    quepid_path, losses = carry(ratings, "rre-array", "quepid-csv")
    assert losses[0] == {"pairs without a grade": (1, ("star wars 9",))}
    rre_losses = {"fields that only rre uses": (3, ("head", "groups", "shape"))}
    assert losses[1] == rre_losses
    assert quepid_path.read_bytes() == b"query,docid,rating\nstar wars,12180,0\nstar wars,11,3\nstar trek,,"
    gain, _ = carry(ratings, "rre")
    assert json.loads(gain.read_bytes())["queries"][0]["relevant_documents"] == {
        "11": {"gain": 3},
        "12180": {"gain": 0},
    }


def test_elasticsearch_to_opensearch_to_trec(carry, tmp_path):
    """TREC cannot hold texts, templates and blanks in ids, and reports them as lost."""
    path = tmp_path / "request.json"
    rated = [{"_index": "i", "_id": "B07", "rating": 3}]
    request = {"template_id": "t", "params": {"q": "red dress"}, "ratings": rated}
    path.write_text(json.dumps({"requests": [{"id": "r1", **request}], "metric": {"dcg": {}}}))
    end, losses = carry(path, "opensearch-judgments", "trec")
    assert losses[0] == {
        "fields that only rank-eval uses": (3, ("request", "requests", "indices")),
        "ids of queries; their texts are the ids": (1, ("r1",)),
    }
    assert losses[1] == {
        "fields that only opensearch-judgments uses": (1, ("list",)),
        "query ids with blanks or signs that TREC cannot hold, written with _": (1, ("'red dress'",)),
    }
    assert end.read_text() == "red_dress 0 B07 3\n"
    direct, losses = carry(path, "trec")
    assert direct.read_text() == "r1 0 B07 3\n"
    assert losses[0]["queries with their texts"] == (1, ("r1",))


def test_a_book_to_basic_ratings(carry, tmp_path):
    """People and their reasons stay behind; two grades of one pair must be resolved first."""

    def pair(doc, *judgements):
        fields = {"title": f"document {doc}"}
        return {"query_text": "laptop", "doc_id": doc, "document_fields": fields, "judgements": [*judgements]}

    ann = {"rating": 3.0, "user_email": "ann@example.org", "explanation": "fits"}
    bob = {"rating": None, "unrateable": True, "user_email": "bob@example.org"}
    book = {"scale": [0, 3], "query_doc_pairs": [pair("1", ann, bob), pair("2", bob), pair("3")]}
    path = tmp_path / "book.json"
    path.write_text(json.dumps(book))
    end, losses = carry(path, "quepid-csv")
    assert end.read_bytes() == b"query,docid,rating\nlaptop,1,3"
    assert losses[0] == {
        "ratings": (3, ("laptop 1", "laptop 1", "laptop 2")),
        "documents with their fields": (3, ("1", "2", "3")),
        "scale of the grades": (1, ("0 to 3",)),
        "fields that only quepid-book uses": (3, ("book", "pairs", "explained")),
    }
    columns, losses = carry(path, "quepid-book-csv")
    assert "columns of ratings" in losses[0]
    assert columns.read_text().splitlines()[:2] == [
        "query,docid,ann@example.org,bob@example.org",
        "laptop,1,3,",
    ]
    book["query_doc_pairs"][0]["judgements"][1] = {"rating": 1.0, "user_email": "bob@example.org"}
    path.write_text(json.dumps(book))
    with raises("format-cannot-hold"):
        carry(path, "quepid-csv")


def test_searchtweaks_fractions_and_elasticsearch(carry, tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(json.dumps([{"grade": 2.67, "keyword": "a", "position": 1, "doc": "x"}]))
    with raises("grade-outside-scale"):
        carry(path, "rank-eval")
    end, _ = carry(path, "opensearch-judgments", "rankquest", "govuk", "searchtweak")
    assert json.loads(end.read_bytes()) == [{"grade": 2.67, "keyword": "a", "doc": "x"}]


def test_the_scale_of_esci_survives_texts_and_numbers(carry, shared):
    """0, 1, 10 and 100, written as strings with three decimals."""
    path = shared / "products" / "opensearch-srw" / "esci_us_judgments.json"
    end, _ = carry(path, "quaerite", "rre-array", "opensearch-judgments")
    assert read_qrels(end).sha256 == read_qrels(path).sha256
    assert {*read_qrels(end).table["grade"]} == {0, 1, 10, 100}


def test_a_case_and_its_snapshot_through_everything(carry, shared):
    """The case's ratings in any format match the snapshot's run in any format."""
    folder = shared / "products" / "quepid"
    case = folder / "haystack_rating_party_case.json"
    snapshot = folder / "haystack_rating_party_snapshot_no-vector.json"
    digest = read_qrels(case).sha256
    names = ("quepid-csv", "rre", "rank-eval", "opensearch-judgments", "govuk", "quepid-ratings")
    end, _ = carry(case, *names)
    assert read_qrels(end).sha256 == digest
    run, losses = carry(snapshot, "quepid-detail", "quepid-snapshot", "quepid-snapshot-csv")
    assert read_run(run).sha256 == read_run(snapshot).sha256
    assert "judgments" not in losses[0]
    assert losses[2]["judgments"][0] == len(contents_of(snapshot).qrels.table)


@pytest.mark.parametrize(
    "name", ["quepid-csv", "rre", "rre-array", "rank-eval", "quepid-case", "govuk", "rankquest"]
)
def test_a_product_of_a_run_and_judgments_of_trec(carry, tmp_path, name):
    """Data that were never in a product get the required fields there, and can be read back."""
    path = tmp_path / "qrels.txt"
    path.write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n")
    end, losses = carry(path, name, "trec")
    assert losses[0] == {}
    assert sorted(end.read_text().splitlines()) == sorted(path.read_text().splitlines())


def test_grades_stay_what_they_are(carry, tmp_path):
    """Negative, fractional and huge grades, if the format takes any number."""
    table = pl.DataFrame({"query_id": ["1"] * 4, "doc_id": [*"abcd"], "grade": [-2.0, 0.1, 1e300, 2.0**60]})
    path = tmp_path / "q.csv"
    table.write_csv(path)
    for name in ("quepid-csv", "rre", "rre-array", "opensearch-judgments", "quepid-case", "govuk"):
        end, _ = carry(path, name)
        assert read_qrels(end).sha256 == read_qrels(path).sha256, name
