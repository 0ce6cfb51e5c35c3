"""What formats write, beyond what samples of files show (`written` and `losses` in tests/door)."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data import FileContents, contents_of, read_qrels
from rankgate.data.files.conversion import convert
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.streams.source import InputFile
from support.wording import raises

RATERS = Path(__file__).parents[1] / "door" / "raters"
LETTERS = b"0001\tC\tgakkai-0000010176\t0\n0001\tA\tgakkai-0000010187\t1\n0002\tB\tgakkai-1\t0\n"
PRELS = b"1 GX000-00 1 2 0.25\n1 GX000-01 0 0 0\n2 GX000-00 -1 1 1.0\n"
SUBTOPICS = b"51 2 d1 1\n51 3 d1 2\n51 0 d2 0\n"
REQUEST = {
    "query": {"text": "fleas", "qid": "1037798"},
    "candidates": [
        {"doc": {"segment": "A flea lives 20 days.", "url": "x"}, "docid": "7065735"},
        {"doc": {"segment": "b"}, "docid": 2},
    ],
}
OTHER_REQUESTS = [
    {"query": "fleas", "candidates": ["one text", "another"]},
    {"query": {"text": "none", "qid": 3}, "candidates": []},
]
RAGAS = {
    "user_input": "where?",
    "retrieved_contexts": ["Paris.", "Rome."],
    "reference_contexts": ["Paris.", "France."],
    "response": "Paris",
}
WITH_IDS = {
    "query_id": 7,
    "user_input": "where?",
    "retrieved_context_ids": ["b", "a"],
    "retrieved_contexts": ["Rome.", "Paris."],
    "reference_context_ids": ["a"],
    "reference_contexts": ["Paris."],
}


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read(data, name=None):
    return contents_of(InputFile(None, data), name)


def written(contents, name):
    """The bytes of contents in a format, and the losses."""
    out = io.BytesIO()
    losses = find_format(name).write(contents, out)
    return out.getvalue(), losses


def judged(grade):
    return FileContents(
        qrels=Qrels(pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "grade": [float(grade)]}))
    )


@pytest.mark.parametrize(("name", "grade"), [("ntcir", 0.5), ("umbrela", 4)])
def test_grades_of_another_scale_are_refused(name, grade):
    with raises("grade-outside-scale", InputError):
        written(judged(grade), name)


def test_letters_have_a_scale():
    scale = Scale(0.0, 3.0, ((3.0, "S"), (2.0, "A"), (1.0, "B"), (0.0, "C")))
    assert read(LETTERS).qrels.scale == scale


def test_probabilities_are_kept_and_unknown_ones_are_reported():
    table = read(PRELS).qrels.table
    assert table.columns == ["query_id", "doc_id", "grade", "inclusion", "stratum"]
    data, lost = written(read(PRELS, "prels"), "prels")
    assert (read(data, "prels").qrels.table.rows(), lost) == (table.rows(), ())
    data, (loss,) = written(judged(2), "prels")
    assert data == b"1 a 2 0 1.0\n"
    assert (loss.what, loss.count) == ("probabilities that are not known, written as 1", 1)


def test_subtopics_are_converted_and_metrics_want_one_grade_a_document(tmp_path):
    qrels = read(SUBTOPICS).qrels
    highest = [("51", "d1", 2.0), ("51", "d2", 0.0)]
    assert qrels.by_document().table.rows() == highest
    path = tmp_path / "x.qrels"
    path.write_bytes(SUBTOPICS)
    (loss,) = convert(path, tmp_path / "y.txt", to="trec").losses
    assert read_qrels(tmp_path / "y.txt").table.rows() == highest
    highest_grades = "judgments by subtopic; each document is written with its highest grade"
    assert (loss.what, loss.count) == (highest_grades, 3)
    assert convert(path, tmp_path / "z.txt", to="trec-subtopics").losses == ()
    assert (tmp_path / "z.txt").read_bytes() == SUBTOPICS
    for judgments in (path, qrels):
        with raises("wrong-type", InputError):
            rankgate.evaluate(judgments, {"51": {"d1": 1.0}})


def test_the_same_judgments_have_the_same_hash():
    plain = read(b"1 0 a 1\n1 0 b 0\n").qrels
    assert plain.sha256 == read(b"1 0 b 0\n1 0 a 1\n").qrels.sha256
    other_qrels = read(SUBTOPICS.replace(b"51 3", b"51 4"), "trec-subtopics").qrels
    reversed_lines = b"".join(reversed(SUBTOPICS.splitlines(keepends=True)))
    assert read(reversed_lines).qrels.sha256 == read(SUBTOPICS).qrels.sha256 != other_qrels.sha256


@pytest.mark.parametrize("queries", ["1 1 1 2 2 3", "1 2 1 2 3 3", "1 2 3 4 5 6", "a.b a.b b b b b"])
def test_pieces_of_judgments_are_the_whole(monkeypatch, queries):
    """Whatever a piece is: whole queries, or everything where a query comes back."""
    ids = [query.replace(".", " ") for query in queries.split()]
    table = pl.DataFrame({"query_id": ids, "doc_id": list("abcdef"), "grade": [1.0, 0, 2, 0, 1, 3]})
    results = set()
    for piece in (1, 2, 3, 100):
        monkeypatch.setattr("rankgate.data.formats.trec.trec_writer._ROWS_PER_WRITE", piece)
        results.add(written(FileContents(qrels=Qrels(table)), "trec"))
    grades = (1, 0, 2, 0, 1, 3)
    lines = zip(queries.replace(".", "_").split(), "abcdef", grades, strict=True)
    ((data, losses),) = results
    assert data.decode() == "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in lines)
    assert len(losses) == ("." in queries)


def test_features_are_a_loss_elsewhere(tmp_path):
    (tmp_path / "x").write_text("3 qid:1 1:0.5 2:12.0 # 1370 star trek\n")
    lost = convert(tmp_path / "x", tmp_path / "y.csv").losses
    assert ("fields that only svmlight uses", ("features",)) in [(loss.what, loss.examples) for loss in lost]


def test_other_folders_than_those_of_beir_are_refused(tmp_path):
    with raises("is-a-folder", InputError):
        contents_of(tmp_path)
    with raises("missing-file", InputError):
        contents_of(tmp_path, "beir")
    with raises("missing-file", InputError):
        read_qrels(tmp_path, from_="beir")


def test_documents_of_queries_lose_these_in_beir():
    documents = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "text": ["t"]})
    _, (loss,) = written(FileContents(documents=documents), "beir")
    assert (loss.what, loss.examples) == ("fields of documents", ("query_id",))


def test_requests_of_umbrela_come_back():
    first = read(json_lines(REQUEST, *OTHER_REQUESTS))
    data, (loss,) = written(first, "umbrela-requests")
    assert loss.what == "states of queries"
    assert read(data).runs[0].table.rows() == first.runs[0].table.rows()
    assert json.loads(data.splitlines()[0])["candidates"][0] == {**REQUEST["candidates"][0], "score": -1}


@pytest.mark.parametrize("rows", [[RAGAS], [WITH_IDS]], ids=["texts", "ids"])
def test_samples_of_ragas_come_back(rows):
    contents = read(json_lines(*rows))
    restored = read(written(contents, "ragas")[0])
    assert restored.runs[0].table.equals(contents.runs[0].table)
    for judgments in (contents, restored):
        assert sorted(judgments.qrels.table.rows()) == sorted(contents.qrels.table.rows())
    with raises("unsupported-format", UsageError):
        written(contents, "trec-rag")  # answers are not made of runs


def test_contexts_without_ids_match_by_normalized_text_where_asked_for():
    texts = ['the "office" cooperates', "The \u201cof\ufb01ce\u201d  co\u00adoperates"]
    spelled = {
        "user_input": "Q",
        "retrieved_contexts": ["Other.", texts[1]],
        "reference_contexts": [texts[0]],
    }
    values = {}
    for name in (None, "ragas-normalized"):
        contents = read(json_lines(spelled), name)
        values[name] = rankgate.evaluate(contents.qrels, contents.runs, ["RR"]).means["RR"][0]
    assert values == {None: 0.0, "ragas-normalized": 0.5}
    assert [*contents.documents.rows()[1][-2:]] == texts
    with_ids = read(json_lines(WITH_IDS | {"retrieved_context_ids": ["B", "A"]}), "ragas-normalized")
    assert with_ids.runs[0].table["doc_id"].to_list() == ["B", "A"]


@pytest.mark.parametrize("name", ["argilla", "label-studio"])
def test_annotations_are_read_again(name, tmp_path):
    contents = contents_of(RATERS / f"{name.replace('-', '_')}.json")
    data, losses = written(contents, name)
    assert losses == ()
    (tmp_path / "again.json").write_bytes(data)
    restored = contents_of(tmp_path / "again.json")
    assert restored.ratings.table.equals(contents.ratings.table)
    assert restored.documents.equals(contents.documents)
    assert restored.queries.equals(contents.queries)
    first, *others = json.loads(data)
    if name == "argilla":
        relevance = [{"value": 3, "user_id": "u1"}, {"value": 1, "user_id": "u2"}]
        assert first["responses"]["relevance"] == relevance
        assert first["suggestions"]["relevance"]["agent"] == "m1"
    else:
        control = {"from_name": "grade", "to_name": "doc", "type": "rating"}
        assert first["annotations"][0]["result"][0] == {**control, "value": {"rating": 3}}
        assert len(first["annotations"]) == 2
        (prediction,) = first["predictions"]
        assert (prediction["model_version"], prediction["result"][0]["value"]) == ("m1", {"rating": 1})
        assert not any("predictions" in other for other in others)


def test_ratings_of_other_tools_become_tasks_of_label_studio():
    contents = read(b"query_id,doc_id,rater,grade,guideline\nq,a,ann,2.5,v1\nq,a,bob,,\n")
    data, (loss,) = written(contents, "label-studio")
    assert (loss.what, loss.examples) == ("guidelines of ratings", ("v1",))
    (task,) = json.loads(data)
    assert task["data"] == {"query_id": "q", "doc_id": "a"}
    assert task["annotations"][0]["result"][0]["value"] == {"number": 2.5}
    unrated = {"completed_by": {"email": "bob"}, "result": [], "was_cancelled": True}
    assert task["annotations"][1] == unrated
