"""Tables with lists, in files and in memory: the rows that they hold, and what is wrong with them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data.read import contents_of, read_qrels, read_run

RUN = [("15", "9", 0.0), ("15", "7", -1.0), ("18", "5", 0.0)]
GOLD = [("15", "7", 1.0), ("15", "3", 1.0), ("18", "5", 1.0)]

# columns, the kind that they are read as, and the rows; each is read as a frame and as files
TABLES = {
    "blanks": ({"user_id": ["15", "18"], "prediction": ["9 7", "5"]}, "run", RUN),
    "bars": ({"user_id": ["15", "18"], "items": ["9|7", "5"]}, "run", RUN),
    "commas": ({"user_id": ["15", "18"], "item_ids": ["9, 7", "5"]}, "run", RUN),
    "JSON": ({"user_id": ["15", "18"], "items": ["[9, 7]", '["5"]']}, "run", RUN),
    "Python": ({"user_id": ["15", "18"], "items": ["['9', '7']", "['5']"]}, "run", RUN),
    "NumPy": ({"user_id": ["15", "18"], "items": ["[9 7]", "[5]"]}, "run", RUN),
    "a column a rank": ({"query": ["15", "18"], "rank1": ["9", "5"], "rank2": ["7", None]}, "run", RUN),
    "ranks in another order": (
        {"query": ["15", "18"], "top_2": ["7", None], "top_1": ["9", "5"]},
        "run",
        RUN,
    ),
    "golden set": (
        {"id": ["15", "18"], "query": ["x y", "z"], "expected": ["['7', '3']", "['5']"]},
        "qrels",
        GOLD,
    ),
    "ids before texts": (
        {
            "query": ["15", "18"],
            "reference_texts": ["['a', 'b']", "['c']"],
            "reference_ids": ["['7', '3']", "['5']"],
        },
        "qrels",
        GOLD,
    ),
    "pairs": ({"user_id": ["15", "15", "18"], "item_id": ["7", "3", "5"]}, "qrels", GOLD),
    "grades beside": (
        {"query": ["15", "18"], "expected": ["['7', '3']", "['5']"], "grade": ["[2, 0]", "[1]"]},
        "qrels",
        [("15", "7", 2.0), ("15", "3", 0.0), ("18", "5", 1.0)],
    ),
    "scores beside": (
        {"query": ["15", "18"], "retrieved": ["['9', '7']", "['5']"], "score": ["[0.9, 0.5]", "[0.25]"]},
        "run",
        [("15", "9", 0.9), ("15", "7", 0.5), ("18", "5", 0.25)],
    ),
}


def _rows(table):
    """The rows of judgments or of a run, with scores from ranks counted from 0."""
    frame = table.table
    number = frame.columns[-1] if "grade" in frame.columns else "score"
    shift = 1.0 if number == "score" and (frame[number] < 0).all() else 0.0
    return frame.select("query_id", "doc_id", pl.col(number) + shift).rows()


def _written(tmp_path, columns, form):
    frame, path = pl.DataFrame(columns), tmp_path / f"table.{form}"
    if form == "csv":
        frame.write_csv(path)
    elif form == "tsv":
        frame.write_csv(path, separator="\t")
    elif form == "parquet":
        frame.write_parquet(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    elif form == "json":
        path.write_text(json.dumps(frame.to_dicts(), indent=1))
    return path if form != "frame" else frame


@pytest.mark.parametrize("form", ["frame", "csv", "tsv", "parquet", "jsonl", "json"])
@pytest.mark.parametrize("name", TABLES)
def test_lists_are_rows_in_files_and_frames(tmp_path, name, form):
    columns, kind, rows = TABLES[name]
    table = _written(tmp_path, columns, form)
    read = read_qrels(table) if kind == "qrels" else read_run(table)
    assert _rows(read) == rows


NESTED = {
    "lists": ({"query": ["15", "18"], "docs": [["9", "7"], ["5"]]}, RUN),
    "numbers": ({"query": [15, 18], "docs": [[9, 7], [5]]}, RUN),
    "objects": (
        {
            "query": ["15", "18"],
            "hits": [[{"id": "9", "score": 0.9}, {"id": "7", "score": 0.5}], [{"id": "5", "score": 0.25}]],
        },
        [("15", "9", 0.9), ("15", "7", 0.5), ("18", "5", 0.25)],
    ),
    "objects in objects": (
        {
            "id": ["x", "y"],
            "inputs": [{"query": "15"}, {"query": "18"}],
            "outputs": [
                {"documents": [{"metadata": {"doc_id": "9"}}, {"metadata": {"doc_id": "7"}}]},
                {"documents": [{"metadata": {"doc_id": "5"}}]},
            ],
        },
        RUN,
    ),
}


@pytest.mark.parametrize("form", ["frame", "parquet", "jsonl", "json"])
@pytest.mark.parametrize("name", NESTED)
def test_lists_of_lists_and_objects(tmp_path, name, form):
    columns, rows = NESTED[name]
    assert _rows(read_run(_written(tmp_path, columns, form))) == rows


@pytest.mark.parametrize("form", ["frame", "parquet", "jsonl", "json"])
def test_an_empty_list_is_a_ranking_and_null_is_none(tmp_path, form):
    columns = {"query": ["a", "b", "c"], "docs": [["x"], [], None]}
    run = read_run(_written(tmp_path, columns, form))
    assert run.queries.select("query_id", "state").rows() == [("b", "zero")]
    assert run.table["query_id"].to_list() == ["a"]
    qrels = read_qrels(_written(tmp_path, columns, form))
    assert (qrels.table["query_id"].to_list(), qrels.unjudged) == (["a"], ("b",))


JSON_VALUES = {
    "lists by query": ({"15": ["9", "7"], "18": ["5"]}, RUN),
    "pairs by query": (
        {"15": [["9", 0.9], ["7", 0.5]], "18": [["5", 0.25]]},
        [("15", "9", 0.9), ("15", "7", 0.5), ("18", "5", 0.25)],
    ),
    "objects by query": (
        {"15": [{"id": "9", "score": 0.9}, {"id": "7", "score": 0.5}], "18": [{"id": "5", "score": 0.25}]},
        [("15", "9", 0.9), ("15", "7", 0.5), ("18", "5", 0.25)],
    ),
    "inside other objects": (
        {"model": {"name": "m"}, "default": {"test": {"15": {"9": 0.9, "7": 0.5}, "18": {"5": 0.25}}}},
        [("15", "9", 0.9), ("15", "7", 0.5), ("18", "5", 0.25)],
    ),
    "a list for each column": (
        {"question": ["15", "18"], "contexts": [["9", "7"], ["5"]], "mrr": [1.0, 0.5]},
        RUN,
    ),
}


@pytest.mark.parametrize("name", JSON_VALUES)
def test_json_documents_are_read_as_in_python(tmp_path, name):
    value, rows = JSON_VALUES[name]
    path = tmp_path / "found.json"
    path.write_text(json.dumps(value))
    assert _rows(read_run(path)) == rows


def test_a_document_with_relevant_documents(tmp_path):
    path = tmp_path / "qa.json"
    path.write_text(
        json.dumps(
            {
                "queries": {"15": "t", "18": "u"},
                "corpus": {"7": "x"},
                "relevant_docs": {"15": ["7", "3"], "18": ["5"]},
                "mode": "text",
            }
        )
    )
    assert _rows(read_qrels(path)) == GOLD
    assert contents_of(path).runs == ()
    with pytest.raises(InputError, match="no part of it could be rankings") as error:
        read_run(path)
    assert error.value.code == "no-rankings"


def test_both_lists_of_a_file_are_read_with_a_note(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("query,expected_ids,retrieved_ids,hit_rate\nreset,['k7'],\"['k9', 'k7']\",1.0\n")
    contents = contents_of(path)
    assert _rows(contents.qrels) == [("reset", "k7", 1.0)]
    assert _rows(contents.runs[0]) == [("reset", "k9", 0.0), ("reset", "k7", -1.0)]
    assert ["expected_ids" in note.what for note in contents.notes] == [True, False]
    result = rankgate.evaluate(path, path, ["RR"])
    assert result.means["RR"][0] == 0.5
    assert {"judgments-unfolded", "run-unfolded"} <= {notice.code for notice in result.notices}


PATHS = (
    "query=inputs.query|inputs.question,relevant=outputs.gold,docs=outputs.documents,"
    "doc=metadata.key,score=similarity"
)


def test_lists_are_named_by_their_paths(tmp_path):
    gold, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    gold.write_text(
        '{"inputs": {"question": "q"}, "outputs": {"gold": [{"metadata": {"key": "a"}}]}}\n' * 1
        + '{"inputs": {"question": "r"}, "outputs": {"gold": []}}\n'
    )
    lines = [
        {
            "inputs": {"query": "q"},
            "outputs": {
                "documents": [
                    {"metadata": {"key": "b"}, "similarity": 0.1},
                    {"metadata": {"key": "a"}, "similarity": 0.7},
                ]
            },
        },
        {"inputs": {"query": "r"}, "outputs": {"documents": []}},
    ]
    found.write_text("".join(json.dumps(line) + "\n" for line in lines))
    collection = rankgate.Collection(gold, columns=PATHS)
    assert collection.qrels().table.rows() == [("q", "a", 1.0)]
    assert collection.run(found).table.rows() == [("q", "b", 0.1), ("q", "a", 0.7)]
    assert collection.run(pl.DataFrame(lines)).table.rows() == [("q", "b", 0.1), ("q", "a", 0.7)]
    trec = tmp_path / "qrels.txt"
    trec.write_text("q 0 a 1\n")
    assert rankgate.Collection(trec, columns=PATHS).qrels().table.rows() == [("q", "a", 1.0)]
    with pytest.raises(InputError, match=r"no outputs\.docs among inputs\.query \(q, r\)") as error:
        rankgate.Collection(gold, columns="query=inputs.query,docs=outputs.docs").run(found)
    assert error.value.code == "missing-column"


# columns, kind, code and words of the error
FAULTS = {
    "two lists": (
        {"query": ["a"], "docs_a": [["x"]], "docs_b": [["y"]]},
        "run",
        "ambiguous-column",
        "docs_a and docs_b could each be",
    ),
    "two rankings": (
        {"query": ["a", "a"], "docs": [["x"], ["y"]]},
        "run",
        "duplicate-query",
        "query 'a' has 2 rankings, (in rows|on lines) 1 and 2",
    ),
    "other lengths": (
        {"query": ["a"], "docs": [["x", "y"]], "score": [[1.0]]},
        "run",
        "wrong-shape",
        "2 documents in docs and 1 number",
    ),
    "twice in a list": (
        {"query": ["a"], "docs": [["x", "x"]]},
        "run",
        "duplicate-document",
        "'x' is ranked twice for query 'a'",
    ),
    "relevant ones as a run": ({"query": ["a"], "expected": [["x"]]}, "run", "missing-column", None),
}


@pytest.mark.parametrize("form", ["frame", "parquet", "jsonl"])
@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_lists(tmp_path, name, form):
    columns, kind, code, words = FAULTS[name]
    table = _written(tmp_path, columns, form)
    with pytest.raises(InputError, match=words) as error:
        _ = (read_qrels(table) if kind == "qrels" else read_run(table)).table
    assert error.value.code == code


@pytest.mark.parametrize("texts", [["Rome is old", "Rivers flow"], ["a, b c", "d"], ["x|y", ""]])
def test_texts_that_are_no_lists_stay(tmp_path, texts):
    """Words with blanks are texts, and ids of a query's second row are ids, whatever signs they have."""
    path = tmp_path / "table.csv"
    pl.DataFrame({"query": ["a", "a"], "doc": texts}).write_csv(path)
    if "" in texts:
        with pytest.raises(InputError):
            read_qrels(path)
    else:
        assert read_qrels(path).table["doc_id"].to_list() == texts


def test_lists_without_queries_are_parallel():
    assert (
        rankgate.evaluate([["k12", "k7"], ["k3"]], [["k7", "k9", "k12"], ["k1", "k3"]], ["RR"]).means["RR"][0]
        == 0.75
    )
    with pytest.raises(InputError, match="1 row, where qrels has 2"):
        rankgate.evaluate([["k12", "k7"], ["k3"]], [["k7", "k9", "k12"]], ["RR"])
    ragged = rankgate.Lists([[727, 3], [2639]]), rankgate.Lists([[1944, 727, 514], [3580, 2639]])
    assert rankgate.evaluate(*ragged, ["RR"]).means["RR"][0] == 0.5
    scored = rankgate.Lists([[1, 2, 3], [4]], values=[[0.1, 0.3, 0.2], [1.0]])
    assert read_run(scored).table["doc_id"].to_list() == ["1", "2", "3", "4"]


LABELS, SCORES = np.array([0, 0, 1, 0, 1, 0, 1]), np.array([0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2])


def _ndcg(labels, scores):
    """2^rel - 1 over log2(rank + 1), over the same of the ideal order; there are no ties."""
    discounts = 1 / np.log2(np.arange(2, len(labels) + 2))
    return (labels[np.argsort(-scores)] @ discounts) / (np.sort(labels)[::-1] @ discounts)


@pytest.mark.parametrize(
    "options",
    [
        {"query_ids": ["a"] * 3 + ["b"] * 4},
        {"query_ids": np.repeat([0, 1], [3, 4])},
        {"groups": [3, 4]},
        {"groups": [3, 4], "query_ids": ["a", "b"]},
    ],
)
def test_flat_arrays_have_a_query_for_each_row_or_group(options):
    qrels, run = rankgate.from_arrays(LABELS, SCORES, **options)
    expected = (_ndcg(LABELS[:3], SCORES[:3]) + _ndcg(LABELS[3:], SCORES[3:])) / 2
    assert rankgate.evaluate(qrels, run, ["nDCG"]).means["nDCG"][0] == pytest.approx(expected, abs=1e-12)


def test_rows_of_a_query_may_be_anywhere_and_have_documents():
    order = np.random.default_rng(0).permutation(7)
    ids, docs = np.repeat(["a", "b"], [3, 4])[order], np.array(list("uvwxyzt"))[order]
    qrels, run = rankgate.from_arrays(
        LABELS[order], SCORES[order], query_ids=ids.tolist(), doc_ids=docs.tolist()
    )
    expected = (_ndcg(LABELS[:3], SCORES[:3]) + _ndcg(LABELS[3:], SCORES[3:])) / 2
    assert rankgate.evaluate(qrels, run, ["nDCG"]).means["nDCG"][0] == pytest.approx(expected, abs=1e-12)
    assert set(qrels.table.rows()) == {
        (q, d, float(g)) for q, d, g in zip("aaabbbb", "uvwxyzt", LABELS, strict=True)
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": [3, 3]}, "groups add up to 6, where flat arrays have 7"),
        ({"groups": [3, 4], "query_ids": ["a"]}, "1 id for 2"),
        ({"query_ids": ["a", "b"]}, "2 ids for 1"),
        ({"groups": [3, 4], "doc_ids": ["a"]}, "1 id for 7 candidates"),
    ],
)
def test_wrong_numbers_of_ids_of_flat_arrays(options, words):
    with pytest.raises(InputError, match=words) as error:
        rankgate.from_arrays(LABELS, SCORES, **options)
    assert error.value.code == "wrong-shape"


@pytest.mark.parametrize(
    ("scores", "values"),
    [
        (["0,91", "0,85", "1,5"], [0.91, 0.85, 1.5]),
        (["3", "0,85", "-1,5e-3"], [3.0, 0.85, -0.0015]),
        (["1.910,5", "2", "3"], None),  # points and commas
        (["1,910", "2,850", "3"], None),  # perhaps thousands
        (["0,91", "0.85", "3"], None),
    ],
)
def test_decimal_commas_need_evidence(tmp_path, scores, values):
    path = tmp_path / "run.csv"
    path.write_text("query;docid;score\n" + "".join(f"q;d{i};{score}\n" for i, score in enumerate(scores)))
    run = read_run(path)
    if values is None:
        with pytest.raises(InputError, match="is not a number") as error:
            _ = run.table
        assert (error.value.code, error.value.line) == ("not-a-number", 2)
    else:
        assert run.table["score"].to_list() == values
        assert "numbers in score have a decimal comma" in run.cautions["decimal-commas"]


@pytest.mark.parametrize("unrated", [None, "unrated"])
def test_a_label_may_mean_unrated(tmp_path, run, unrated):
    path, ranked = tmp_path / "na.csv", tmp_path / "na.run.csv"
    path.write_text("query,docid,rating\nq,a,3\nq,b,N/A\n")
    ranked.write_text("query,docid,score\nq,b,2\nq,a,1\n")
    assert rankgate.Collection(path, grades={"3": 3, "N/A": unrated}).qrels().table.rows() == [
        ("q", "a", 3.0)
    ]
    assert run("eval", path, ranked, "-m", "RR", "--grades", f"3=3,N/A={unrated or 'null'}").code == 0


def test_metrics_answers_and_lists_are_not_guessed(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text("question,notes,hit_rate,mrr,answer\nreset,u v,1.0,0.5,yes\nrefund,w x,0.5,1.0,no\n")
    with pytest.raises(InputError) as error:
        contents_of(path)
    (line, *_) = error.value.suggestions
    assert not any(name in line for name in ("hit_rate", "mrr", "answer"))


def test_paths_keep_the_usual_columns_of_other_tables(tmp_path):
    """A file that has one of two names is read as ever, and nested rows keep their grades."""
    path = tmp_path / "qrels.csv"
    path.write_text("term,sku,grade\nq,a,3\n")
    columns = "query=term|request.text,doc=sku|item.sku"
    assert rankgate.Collection(path, columns=columns).qrels().table.rows() == [("q", "a", 3.0)]
    nested = tmp_path / "qrels.jsonl"
    nested.write_text(
        '{"request": {"text": "q"}, "item": {"sku": "a"}, "grade": 2}\n' * 1
        + '{"request": {"text": "r"}, "item": {"sku": "b"}, "grade": 0}\n'
    )
    judged = rankgate.Collection(nested, columns=columns).qrels().table
    assert judged.rows() == [("q", "a", 2.0), ("r", "b", 0.0)]
