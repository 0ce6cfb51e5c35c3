"""RAGAS, nuggets and answers with citations: reading and round trips."""

from __future__ import annotations

import io
import json

import pytest

import rankgate
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile
from support.wording import raises

RAGAS = [
    {
        "user_input": "where?",
        "retrieved_contexts": ["Paris.", "Rome."],
        "reference_contexts": ["Paris.", "France."],
        "response": "Paris",
    },
    {"user_input": "who?", "retrieved_contexts": [], "reference_contexts": ["x"]},
]
WITH_IDS = {
    "query_id": 7,
    "user_input": "where?",
    "retrieved_context_ids": ["b", "a"],
    "retrieved_contexts": ["Rome.", "Paris."],
    "reference_context_ids": ["a"],
    "reference_contexts": ["Paris."],
}
NUGGETS = [
    {
        "query": "one",
        "qid": "1",
        "nuggets": [
            {"text": "a", "importance": "vital", "assignment": "support"},
            {"text": "b", "importance": "vital", "assignment": "partial_support"},
            {"text": "c", "importance": "vital", "assignment": "not_support"},
            {"text": "d", "importance": "okay", "assignment": "support"},
        ],
    },
    {
        "query": "two",
        "qid": "2",
        "nuggets": [{"text": "a", "importance": "okay", "assignment": "partial_support"}],
    },
]
ANSWERS = [
    {
        "run_id": "r",
        "topic_id": "t1",
        "references": ["d1", "d2"],
        "answer": [
            {"text": "One.", "citations": [0], "support": [2]},
            {"text": "Two.", "citations": [1, 0], "support": ["PS", "No support"]},
            {"text": "Three.", "citations": []},
        ],
    },
    {"metadata": {"narrative_id": 9}, "references": ["d"], "responses": [{"citations": ["d"]}]},
]


def data(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def file(tmp_path, rows, name="x.jsonl"):
    (tmp_path / name).write_bytes(data(rows))
    return str(tmp_path / name)


def read(rows, name):
    source = InputFile(None, data(rows))
    assert detect_format(source)[0].name == name
    return contents_of(source)


def test_contexts_of_ragas_are_a_run_and_judgments(tmp_path):
    path = file(tmp_path, RAGAS)
    scores = rankgate.evaluate(path, path, ["ContextP", "ContextR", "RR"]).runs[0]
    assert scores.per_query("ContextP") == {"where?": 1 / 2, "who?": 0}
    assert scores.per_query("ContextR") == {"where?": 1 / 2, "who?": 0}
    assert scores.counts.zero_result == 1
    older = [{"question": "q", "contexts": ["a"], "ground_truth": "a"}]
    assert read(older, "ragas").runs[0].table.rows() == [("q", "a", -1.0)]
    json_array = InputFile(None, json.dumps(RAGAS).encode())
    assert contents_of(json_array).runs[0].table.equals(read(RAGAS, "ragas").runs[0].table)


def test_ids_go_before_texts():
    contents = read([WITH_IDS], "ragas")
    assert contents.runs[0].table["doc_id"].to_list() == ["b", "a"]
    assert contents.qrels.table.rows() == [("7", "a", 1.0)]
    assert dict(contents.documents.select("doc_id", "text").iter_rows()) == {"a": "Paris.", "b": "Rome."}


@pytest.mark.parametrize(
    ("rows", "name"), [(RAGAS, "ragas"), ([WITH_IDS], "ragas"), (NUGGETS, "nuggets"), (ANSWERS, "trec-rag")]
)
def test_they_come_back(rows, name):
    contents, out = read(rows, name), io.BytesIO()
    find_format(name).write(contents, out)
    restored = contents_of(InputFile(None, out.getvalue()))
    assert restored.runs[0].table.equals(contents.runs[0].table)
    assert restored.qrels.table.sort("query_id", "doc_id").equals(
        contents.qrels.table.sort("query_id", "doc_id")
    )
    if name != "ragas":
        assert [json.loads(line) for line in out.getvalue().splitlines()] == rows


def test_nuggets_have_the_scores_of_the_track(tmp_path):
    """As calculate_metrics of nuggetizer: strict is full support only, partial counts a half."""
    path = file(tmp_path, NUGGETS)
    expected = {
        "NuggetR": {"1": 1.5 / 3, "2": 0},
        "NuggetR(strict=True)": {"1": 1 / 3, "2": 0},
        "NuggetR(okay=1)": {"1": 2.5 / 4, "2": 0.5},
        "NuggetR(okay=1,strict=True)": {"1": 2 / 4, "2": 0},
        "NuggetR(okay=0.5)": {"1": 2 / 3.5, "2": 0.5},
    }
    scores = rankgate.evaluate(path, path, list(expected)).runs[0]
    assert {name: scores.per_query(name) for name in expected} == {
        name: pytest.approx(score) for name, score in expected.items()
    }


def test_support_of_sentences(tmp_path):
    path = file(tmp_path, ANSWERS[:1])
    expected = {
        "SupportP": (1 + 0.5) / 2,  # the first citation of each sentence that has one
        "SupportR": (1 + 0.5 + 0) / 3,
        "SupportP(first=False)": (1 + 0.5 + 0) / 3,
        "SupportP(partial=1)": 1,
    }
    scores = rankgate.evaluate(path, path, list(expected)).runs[0]
    assert {name: scores.per_query(name) for name in expected} == {
        name: {"t1": value} for name, value in expected.items()
    }


def test_a_question_that_is_asked_again_without_ids_is_another_sample(tmp_path):
    again = RAGAS[0] | {"retrieved_contexts": ["Rome."]}
    path = file(tmp_path, [RAGAS[0], again, RAGAS[1], again])
    contents = contents_of(path)
    ids = ["where?", "where? (sample 2)", "who?", "where? (sample 3)"]
    assert contents.queries.select("query_id", "text").rows() == [
        *zip(ids, ["where?", "where?", "who?", "where?"], strict=True)
    ]
    (note,) = contents.notes
    assert (note.count, note.examples) == (2, ("where?",))
    scores = rankgate.evaluate(path, path, ["P@1"]).runs[0]
    assert scores.per_query("P@1") == dict(zip(ids, [1, 0, 0, 0], strict=True))


@pytest.mark.parametrize(
    ("name", "rows", "code", "line"),
    [
        ("ragas", [RAGAS[0] | {"query_id": "q"}] * 2, "duplicate-query", 2),
        ("ragas", [RAGAS[0] | {"retrieved_contexts": "x"}], "wrong-type", 1),
        ("ragas", [WITH_IDS | {"retrieved_contexts": ["x"]}], "wrong-shape", 1),
        ("ragas", [RAGAS[0] | {"user_input": None}], "invalid-id", 1),
        ("nuggets", [NUGGETS[0], NUGGETS[0]], "duplicate-query", 2),
        ("nuggets", [{"qid": 1, "nuggets": [{"text": "a", "importance": "x"}]}], "wrong-type", 1),
        ("nuggets", [{"qid": 1, "nuggets": 3}], "wrong-type", 1),
        ("trec-rag", [ANSWERS[0], ANSWERS[0]], "duplicate-query", 2),
        ("trec-rag", [{"topic_id": 1, "references": [], "answer": [{"citations": [0]}]}], "wrong-shape", 1),
        ("trec-rag", [{"topic_id": 1, "references": [], "answer": "text"}], "wrong-type", 1),
        (
            "trec-rag",
            [{"topic_id": 1, "references": ["a"], "answer": [{"citations": [0], "support": [1, 2]}]}],
            "wrong-shape",
            1,
        ),
        (
            "trec-rag",
            [{"topic_id": 1, "references": ["a"], "answer": [{"citations": [0], "support": ["maybe"]}]}],
            "wrong-type",
            1,
        ),
        ("trec-rag", [{"references": []}], "invalid-id", 1),
        ("ragas", [RAGAS[0], RAGAS[1] | {"reference_contexts": None}], "missing-key", 2),
        ("trec-rag", [{"topic_id": 1, "references": 3, "answer": []}], "wrong-type", 1),
        ("trec-rag", [{"topic_id": 1, "metadata": "x", "answer": []}], "wrong-type", 1),
        ("trec-rag", [{"topic_id": 1, "answer": [{"citations": 3}]}], "wrong-type", 1),
    ],
)
def test_what_is_wrong_is_named(name, rows, code, line):
    with raises(code, InputError) as error:
        find_format(name).read(InputFile(None, data(rows)))
    assert error.value.line == line


def test_samples_without_references_are_a_run_alone():
    bare = [{"user_input": "where?", "retrieved_contexts": ["Paris."]}]
    contents = find_format("ragas").read(InputFile(None, data(bare)))
    assert contents.qrels is None
    assert len(contents.runs[0].table) == 1


def test_a_context_or_nugget_twice():
    rows = [RAGAS[0] | {"retrieved_contexts": ["a", "a"]}]
    (run,) = find_format("ragas").read(InputFile(None, data(rows))).runs
    with raises("duplicate-document", DuplicateError, line=1):
        _ = run.table  # a convention says what such a context is
    nugget = {"text": "a", "importance": "vital"}
    with raises("duplicate-document", DuplicateError):
        find_format("nuggets").read(InputFile(None, data([{"qid": 1, "nuggets": [nugget, nugget]}])))


def test_answers_are_not_made_of_runs():
    with raises("unsupported-format", UsageError):
        find_format("trec-rag").write(read(RAGAS, "ragas"), io.BytesIO())


def test_contexts_without_ids_match_by_normalized_text_where_asked_for():
    spelled = {
        "user_input": "Q",
        "retrieved_contexts": ["Other.", "The \u201cof\ufb01ce\u201d  co\u00adoperates"],
        "reference_contexts": ['the "office" cooperates'],
    }
    source = InputFile(None, data([spelled]))
    values = {}
    for name in ("ragas", "ragas-normalized"):
        contents = find_format(name).read(source)
        values[name] = rankgate.evaluate(contents.qrels, contents.runs, ["RR"]).means["RR"][0]
    assert values == {"ragas": 0.0, "ragas-normalized": 0.5}
    assert contents.documents.rows()[1][-2:] == (
        'the "office" cooperates',
        "The \u201cof\ufb01ce\u201d  co\u00adoperates",
    )
    assert detect_format(source)[0].name == "ragas"
    with_ids = InputFile(None, data([WITH_IDS | {"retrieved_context_ids": ["B", "A"]}]))
    assert find_format("ragas-normalized").read(with_ids).runs[0].table["doc_id"].to_list() == ["B", "A"]
