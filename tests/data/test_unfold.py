"""Tables with lists and flat arrays; samples of their files and frames are in tests/door."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data import unfold
from rankgate.data.read import contents_of, read_qrels, read_run


def test_both_lists_of_a_file_are_read_with_a_note(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("query,expected_ids,retrieved_ids,hit_rate\nreset,['k7'],\"['k9', 'k7']\",1.0\n")
    contents = contents_of(path)
    assert contents.qrels.table.rows() == [("reset", "k7", 1.0)]
    assert contents.runs[0].table.rows() == [("reset", "k9", -1.0), ("reset", "k7", -2.0)]
    assert ["expected_ids" in note.what for note in contents.notes] == [True, False]
    result = rankgate.evaluate(path, path, ["RR"])
    assert result.means["RR"][0] == 0.5
    assert {"judgments-unfolded", "run-unfolded"} <= {notice.code for notice in result.notices}


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


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_lists_in_pieces_are_the_lists_of_the_table(tmp_path, monkeypatch, size):
    monkeypatch.setattr(unfold, "_MAX_PIECE", size)
    lists = [["a", "b"], [], None, ["c", "d", "e", "f"], ["g"], [], ["h", ""]]
    path = tmp_path / "run.parquet"
    table = pl.DataFrame({"query": [f"q{n}" for n in range(7)], "docs": lists})
    table.head(6).write_parquet(path)
    run = read_run(path)
    assert run.table.rows() == [
        (f"q{n}", doc_id, -float(rank))
        for n, doc_ids in enumerate(lists[:6])
        for rank, doc_id in enumerate(doc_ids or [], 1)
    ]
    assert run.queries["query_id"].to_list() == ["q1", "q5"]
    assert sum(len(batch.frame) for batch in run.batches()) == len(run.table)
    table.write_parquet(path)
    for source in (path, table):
        with pytest.raises(InputError, match="doc_id is empty in row 7"):
            _ = read_run(source).table


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_a_damaged_list_is_a_damaged_file(tmp_path, read):
    path = tmp_path / "run.parquet"
    pl.DataFrame(
        {"query": [f"q{n}" for n in range(300)], "docs": [["a", f"b{n}"] for n in range(300)]}
    ).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[60:120] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        _ = read(path).table
    assert (error.value.code, error.value.source) == ("damaged-file", str(path))
