"""RAGAS, nuggets and answers with citations: scores and round trips; what is read is in tests/door."""

from __future__ import annotations

import io
import json

import pytest

import rankgate
from rankgate.core.errors import UsageError
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
    scores = rankgate.evaluate(path, path, ["P@1"]).runs[0]
    assert [*scores.per_query("P@1").values()] == [1, 0, 0, 0]


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
