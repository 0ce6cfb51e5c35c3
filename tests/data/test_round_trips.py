"""What is written is read back as it was, except for the reported losses."""

from __future__ import annotations

import io
import math

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.formats.registry import FORMATS, find_format
from rankgate.data.qrels import QRELS_SCHEMA, Qrels, Ratings, Scale
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile

ids = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
ids = ids.filter(str.strip)  # an id of blanks is an error
plain = st.text("abcXYZ019_.:/-é漢", min_size=1, max_size=8)
grades = st.one_of(st.integers(-2, 4).map(float), st.floats(-10, 10))
scores = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-2, 4).map(float)

TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
SPECIAL = ("quepid-snapshot", "ragas", "nuggets", "trec-rag")
"""One needs a run, the others have few grades: tests of their own."""
WRITERS = [fmt.name for fmt in FORMATS if fmt.write and "qrels" in fmt.holds and fmt.name not in SPECIAL]
NEIGHBOURS = [
    (first, WRITERS[(index + step) % len(WRITERS)]) for index, first in enumerate(WRITERS) for step in (1, 7)
]
"""Each format after two others: a ring, as every format has a test of its own."""


def pairs(names, numbers):
    return st.dictionaries(st.tuples(names, names), numbers, min_size=1, max_size=12)


def qrels_of(found):
    rows = [(query, document, grade) for (query, document), grade in found.items()]
    return Qrels(pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row"))


def run_of(found, tag=None):
    """A run with consecutive rows of each query."""
    rows = sorted((query, document, score) for (query, document), score in found.items())
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    return Run("run", lambda: iter([table]), tag=tag)


def written(contents, name):
    out = io.BytesIO()
    losses = find_format(name).write(contents, out)
    return out.getvalue(), losses


def again(contents, name, part=None):
    data, losses = written(contents, name)
    return contents_of(InputFile(None, data), name, part), losses


def rows(table):
    """Rows in their own order; zero has no sign."""
    return sorted(tuple(x + 0 if isinstance(x, float) else x for x in row) for row in table.rows())


@pytest.mark.parametrize("name", TABLES)
@given(found=pairs(ids, grades))
@example(found={("a\rb", ' "c",\n'): 1.0, ("é", "#"): 0.1, ("[", "{"): -0.0})
def test_judgments_in_tables(name, found):
    qrels = qrels_of(found)
    reread, losses = again(FileContents(qrels=qrels), name)
    assert reread.qrels.table.equals(qrels.table.with_columns(pl.col("grade") + 0.0))
    assert losses == ()


@pytest.mark.parametrize("name", TABLES)
@given(found=pairs(ids, scores))
def test_runs_in_tables(name, found):
    run = run_of(found)
    reread, losses = again(FileContents(runs=(run,)), name)
    assert reread.runs[0].table.equals(run.table)
    assert losses == ()


@given(found=pairs(plain, grades), ranked=pairs(plain, scores))
def test_trec(found, ranked):
    qrels, run = qrels_of(found), run_of(ranked, tag="mine")
    reread, losses = again(FileContents(qrels=qrels), "trec")
    assert (reread.qrels.table.equals(qrels.table), losses) == (True, ())
    reread, losses = again(FileContents(runs=(run,)), "trec")
    assert (reread.runs[0].table.equals(run.table), losses) == (True, ())
    assert reread.runs[0].tag == "mine"


@given(found=pairs(ids, WHOLE))
def test_trec_with_ids_that_it_cannot_hold(found):
    """Either the ids are equal except for reported characters, or two ids would merge."""
    qrels = qrels_of(found)
    unheld = r"^[#\x{FEFF}]|[\x00-\x20\x7F]"
    fitted = qrels.table.with_columns(pl.col("query_id", "doc_id").str.replace_all(unheld, "_"))
    queries = qrels.table["query_id"].n_unique()
    merged = (
        fitted["query_id"].n_unique() < queries or fitted.select("query_id", "doc_id").is_duplicated().any()
    )
    if merged:
        with pytest.raises(InputError) as refused:
            written(FileContents(qrels=qrels), "trec")
        assert refused.value.code == "invalid-id"
        return
    reread, losses = again(FileContents(qrels=qrels), "trec", "qrels")
    assert reread.qrels.table.equals(fitted)
    changed = (fitted["query_id"] != qrels.table["query_id"]).sum()
    changed_documents = (fitted["doc_id"] != qrels.table["doc_id"]).sum()
    assert bool(losses) == bool(changed or changed_documents)
    counts = {loss.what.split()[0]: loss.count for loss in losses}
    assert counts.get("rows", 0) == changed_documents


@pytest.mark.parametrize("name", TABLES)
def test_ratings_queries_documents_and_values(name):
    rated = Ratings(
        pl.DataFrame(
            {
                "query_id": ["1", "1", "2"],
                "doc_id": ["a", "a", "b"],
                "rater": ["ann", "bob", "ann"],
                "grade": [2.0, None, 0.5],
                "reason": [None, "unreadable", None],
            }
        )
    )
    reread, losses = again(FileContents(ratings=rated), name)
    assert reread.ratings.table.equals(rated.table)
    queries = pl.DataFrame({"query_id": ["1", "2"], "text": ["red, shoes", None], "tag": ["x", ""]})
    reread, losses = again(FileContents(queries=queries), name)
    assert reread.queries.fill_null("").rows() == queries.fill_null("").rows()
    documents = pl.DataFrame({"doc_id": ["a", "b"], "title": ["t", "u"], "score": ["1", "x"]})
    reread, losses = again(FileContents(documents=documents), name)
    assert reread.documents.equals(documents)
    values = pl.DataFrame({"run": ["r"], "query_id": ["1"], "metric": ["AP"], "value": [1 / 3]})
    reread, losses = again(FileContents(values=values), name)
    assert reread.values.select(values.columns).equals(values)
    assert losses == ()


@pytest.mark.parametrize("name", [*TABLES, "trec"])
def test_all_that_a_table_cannot_hold_is_reported(name):
    qrels = Qrels(qrels_of({("1", "a"): 1.0}).table, scale=Scale(0, 4), unjudged=("7", "8"), name="q")
    run = run_of({("1", "a"): 1.0}, tag="bm25")
    queries = pl.DataFrame({"query_id": ["1"], "text": ["red shoes"]})
    contents = FileContents(qrels=qrels, runs=(run,), queries=queries, extra={"rre": {"index": "i"}})
    _, losses = written(contents, name)
    result = {loss.what: (loss.count, loss.examples) for loss in losses}
    assert result == {
        "runs": (1, ("run",)),
        "queries with their texts": (1, ("1",)),
        "fields that only rre uses": (1, ("index",)),
        "scale of grades": (1, ("0 to 4",)),
        "queries without judgments": (2, ("7", "8")),
    }
    _, losses = written(FileContents(runs=(run, run)), name)
    tag = {"tag of a run": 1} if name != "trec" else {}
    assert {loss.what: loss.count for loss in losses} == {"runs": 1, **tag}


def sample(holds):
    """Contents that every format of judgments should carry, in the parts that it holds."""
    table = pl.DataFrame(
        {
            "query_id": ["star wars", "star wars", "star trek"],
            "doc_id": ["11", "12180", "154"],
            "grade": [3.0, 0.0, 2.0],
        }
    )
    run = run_of({("star wars", "11"): 2.0, ("star wars", "9"): 1.0, ("star trek", "154"): 1.5})
    queries = pl.DataFrame({"query_id": ["star wars", "star trek"], "text": ["star wars", "star trek"]})
    contents = FileContents(qrels=Qrels(table), runs=(run,), queries=queries)
    return contents.only(*holds)


def grades_of(contents, losses, *before):
    """The grades by query text, with its blanks, independent of the ids of a format."""
    names = {}
    for read_contents in (contents, *before):
        if read_contents.queries is not None:
            names |= dict(read_contents.queries.select("query_id", "text").rows())
    blanks = any("blanks" in loss.what for loss in losses)
    grades_by_text = {
        (names.get(q, q), d): g for q, d, g in contents.qrels.table.select(*QRELS_SCHEMA).rows()
    }
    return {(q.replace("_", " ") if blanks else q, d): g for (q, d), g in grades_by_text.items()}


@pytest.mark.parametrize("name", [*WRITERS, "quepid-snapshot"])
def test_every_format_that_writes_judgments_reads_them_back(name):
    """A format without judgments is tested where it is read."""
    contents = sample(find_format(name).holds)
    data, losses = written(contents, name)
    reread = contents_of(InputFile(None, data), name)
    expected = {(q, d): g for q, d, g in contents.qrels.table.rows()}
    assert grades_of(reread, losses) == expected, losses
    assert written(contents, name)[0] == data, "the same contents are the same bytes"


@pytest.mark.parametrize(("first", "second"), NEIGHBOURS)
def test_judgments_survive_two_formats(first, second):
    contents = sample(("qrels",))
    data, losses = written(contents, first)
    middle = contents_of(InputFile(None, data), first)
    data, later_losses = written(middle, second)
    reread = contents_of(InputFile(None, data), second)
    final_grades = grades_of(reread, (*losses, *later_losses), middle)
    assert final_grades == {(q, d): g for q, d, g in contents.qrels.table.rows()}


def test_scores_keep_every_digit():
    score = math.nextafter(0.1, 1)
    for name in (*TABLES, "trec"):
        reread, _ = again(FileContents(runs=(run_of({("1", "a"): score}),)), name)
        assert reread.runs[0].table["score"].item() == score


@pytest.mark.parametrize("name", ["quepid-csv", "quepid-detail", "rre"])
def test_queries_keep_the_order_of_the_file(name):
    order = ["zebra", "ape", "moth"]
    table = pl.DataFrame(
        [(query, f"d{i}", 1.0) for i in range(2) for query in order],
        schema=["query_id", "doc_id", "grade"],
        orient="row",
    )
    run = run_of({(query, f"d{i}"): float(3 - i) for i in range(2) for query in order})
    fmt = find_format(name)
    contents = FileContents(qrels=Qrels(table), runs=(run,)).only(*fmt.holds)
    data, _ = written(contents, name)
    reread = contents_of(InputFile(None, data), name)
    query_order = reread.qrels.table["query_id"].unique(maintain_order=True).to_list()
    expected = order if name in {"quepid-csv", "rre"} else sorted(order)  # run_of sorts
    assert query_order == expected
