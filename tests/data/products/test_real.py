"""Real files of products are known, with the counts that the index of the data states."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import contents_of, read_qrels, read_run
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source
from support.wording import raises

QUEPID = "products/quepid/haystack_rating_party_"
KNOWN = {
    "chorus-electronics/Broad_Query_Set_rated.csv": "quepid-csv",
    "chorus-electronics/Chorus_Electronics_basic.csv": "quepid-csv",
    "esci-us/art_judgments.llm.json.gz": "opensearch-judgments",
    "esci-us/esci_us_judgments.json.gz": "opensearch-judgments",
    "esci-us/esci_us_queryset.json": "opensearch-query-set",
    "products/chorus/Broad_Query_Set_rated.csv": "quepid-csv",
    "products/chorus/Broad_Query_Set_unrated.csv": "quepid-csv",
    "products/chorus/chorus_demo_rre.json": "rre-array",
    "products/dashboards-srw/judgments_example.csv": "quepid-csv",
    "products/dashboards-srw/query_set_example.ndjson": "opensearch-query-set",
    "products/dashboards-srw/query_set_example_with_references.ndjson": "opensearch-query-set",
    "products/opensearch-srw/CreateExperimentPointwiseEvaluation.json": "opensearch-experiment",
    "products/opensearch-srw/CreateQuerySet.json": "opensearch-query-set",
    "products/opensearch-srw/ImportJudgments.json": "opensearch-judgments",
    "products/opensearch-srw/esci_us_judgments.json": "opensearch-judgments",
    "products/opensearch-srw/esci_us_queryset.json": "opensearch-query-set",
    "products/osqe/srw_metrics_sample_data.ndjson": "opensearch-metrics",
    "products/quaerite/movie_judgments_train.csv": "quaerite",
    f"{QUEPID}book.json": "quepid-book",
    f"{QUEPID}case.json": "quepid-case",
    f"{QUEPID}snapshot_no-vector.json": "quepid-snapshot",
    "products/rankquest/movie-quotes-test-cases.json": "rankquest",
    "products/rre/ratings_example_es.json": "rre",
    "products/rre/ratings_example_solr.json": "rre",
    "products/ubi/sample_search_quality_evaluation_data.ndjson": "opensearch-metrics",
    "tmdb-title-judgments/title_judgments.txt": "quepid-ltr",
}


@pytest.mark.parametrize("file", KNOWN)
def test_real_files_are_known(shared, file):
    detected_format, reason = detect_format(open_source(shared / file))
    assert detected_format.name == KNOWN[file]
    assert reason


@pytest.mark.parametrize("file", KNOWN)
def test_real_files_come_back_as_they_were(shared, file):
    """Data that the format can hold are not reported as lost."""
    contents = contents_of(shared / file)
    out = io.BytesIO()
    assert find_format(KNOWN[file]).write(contents, out) == ()
    restored_contents = contents_of(InputFile(shared / file, out.getvalue()), KNOWN[file])
    for name in ("queries", "documents", "values"):
        original_table, restored_table = getattr(contents, name), getattr(restored_contents, name)
        assert (original_table is None) == (restored_table is None)
        assert original_table is None or original_table.equals(restored_table)
    assert (contents.qrels is None) == (restored_contents.qrels is None)
    if contents.qrels:
        assert restored_contents.qrels.sha256 == contents.qrels.sha256
        assert sorted(restored_contents.qrels.unjudged) == sorted(contents.qrels.unjudged)
    if contents.ratings:
        assert restored_contents.ratings.table.equals(contents.ratings.table)
    assert [run.sha256 for run in restored_contents.runs] == [run.sha256 for run in contents.runs]


def test_scores_of_a_language_model(shared):
    table = read_qrels(shared / "esci-us" / "art_judgments.llm.json.gz").table
    assert (table["query_id"].n_unique(), len(table)) == (27, 1080)
    assert {*table["grade"]} <= {0, 1, 2, 3}


def test_quepids_book(shared):
    """2,420 pairs, 137 queries, 1,942 judgements by 13 judges; 562 pairs with two equal grades."""
    file = shared / f"{QUEPID}book.json"
    book = contents_of(file)
    raw = json.loads(file.read_bytes())["query_doc_pairs"]
    assert len(raw) == 2420
    table = book.ratings.table
    assert (len(table), table["rater"].n_unique()) == (1942, 13)
    assert len(book.queries) == 137
    unrated = sum(not pair["judgements"] for pair in raw)
    assert Counter({note.what: note.count for note in book.notes}) == {
        "pairs without a judgement": unrated,
        "judgements that are unrateable": table["grade"].null_count(),
    }
    graded = table.filter(pl.col("grade").is_not_null()).group_by("query_id", "doc_id")
    repeated_pairs = graded.agg(pl.len().alias("n"), pl.col("grade").n_unique()).filter(pl.col("n") > 1)
    assert (len(repeated_pairs), repeated_pairs["grade"].max()) == (562, 1)
    assert book.qrels is None
    with raises("no-judgments", InputError):
        read_qrels(file)


def test_quepids_case_and_snapshot(shared):
    """The snapshot's run matches the ratings of the case, because both use query texts as ids."""
    case = read_qrels(shared / f"{QUEPID}case.json")
    raw = json.loads((shared / f"{QUEPID}case.json").read_bytes())["queries"]
    assert case.table["query_id"].n_unique() == len(raw) == 137
    assert len(case.table) == sum(len(query["ratings"]) for query in raw)
    file = shared / f"{QUEPID}snapshot_no-vector.json"
    docs = json.loads(file.read_bytes())["docs"]
    retrieved = [doc for query_docs in docs.values() for doc in query_docs if not doc["rated_only"]]
    run = read_run(file)
    assert len(run.table) == len(retrieved)
    assert {*run.table["query_id"]} <= {*case.table["query_id"]}


def test_unrated_documents_come_back_without_a_grade(shared):
    """The 3,182 unrated pairs of Chorus's file do not become grade 0."""
    file = shared / "products" / "chorus" / "Broad_Query_Set_unrated.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [tuple(row) for row in csv.reader(lines) if row]
    contents = contents_of(file)
    out = io.BytesIO()
    assert find_format("quepid-csv").write(contents, out) == ()
    restored_rows = [tuple(row) for row in csv.reader(io.StringIO(out.getvalue().decode()))]
    assert restored_rows[0] == rows[0]
    assert {*restored_rows} == {*rows}
    assert sum(not grade for *_, grade in restored_rows) == 3182
    assert not out.getvalue().endswith(b"\n")


def test_quaerites_judgments(shared):
    """48 queries behind a byte order mark; four judgments appear twice and one was corrected."""
    file = shared / "products" / "quaerite" / "movie_judgments_train.csv"
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    last = {(row["query"], row["docid"]): float(row["rating"]) for row in rows}
    contents = contents_of(file)
    assert {(q, d): g for q, d, g in contents.qrels.table.rows()} == last
    assert contents.qrels.table["query_id"].n_unique() == 48
    result = {note.what: note for note in contents.notes}
    assert result["judgments that appear twice with one grade, read once"].count == 4
    (corrected,) = result["judgments that a later line corrects, passed over"].examples
    assert corrected.startswith("reindeer movie 33719 (line ")
    assert last["reindeer movie", "33719"] == 4


def test_rres_ratings(shared):
    """Gains of a group hold for each of its queries; array mode has gains for keys."""
    file = shared / "products" / "rre" / "ratings_example_es.json"
    topics = json.loads(file.read_bytes())["topics"]
    groups = [group for topic in topics for group in topic["query_groups"]]
    pairs = {
        (query["placeholders"]["$query"], doc): rating["gain"]
        for group in groups
        for query in group["queries"]
        for doc, rating in group["relevant_documents"].items()
    }
    assert {(q, d): g for q, d, g in read_qrels(file).table.rows()} == pairs
    file = shared / "products" / "chorus" / "chorus_demo_rre.json"
    queries = json.loads(file.read_bytes())["queries"]
    pairs = {
        (query["placeholders"]["$query"], doc): float(gain)
        for query in queries
        for gain, docs in query["relevant_documents"].items()
        for doc in docs
    }
    assert {(q, d): g for q, d, g in read_qrels(file).table.rows()} == pairs


def test_rankquests_cases(shared):
    contents = contents_of(shared / "products" / "rankquest" / "movie-quotes-test-cases.json")
    assert contents.qrels.table["query_id"].n_unique() == len(contents.queries) == 9
    assert contents.queries["text"][0] == "precious"


def test_the_metric_store_of_two_generations(shared):
    """7 days, 4 configurations, 20 queries, 3 metrics."""
    for file in ("osqe/srw_metrics_sample_data.ndjson", "ubi/sample_search_quality_evaluation_data.ndjson"):
        values = contents_of(shared / "products" / file).values
        assert len(values) == 7 * 4 * 20 * 3
        counts = [values[name].n_unique() for name in ("at", "run", "query_id", "metric")]
        assert counts == [7, 4, 20, 3]


def test_entries_of_one_query_are_merged(shared):
    contents = contents_of(shared / "products" / "opensearch-srw" / "ImportJudgments.json")
    assert contents.qrels.table["query_id"].n_unique() == 4
    assert "entries of a query that has one before, merged" in {n.what for n in contents.notes}
