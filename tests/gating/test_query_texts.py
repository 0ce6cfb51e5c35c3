"""The texts of queries beside the losses of a verdict."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rankgate

TEXTS = {f"q{i}": f"words of {i}" for i in range(20)}
QRELS = {query: {"good": 1} for query in TEXTS}
OLD = {query: {"good": 2.0, "bad": 1.0} for query in TEXTS}
NEW = {query: {"good": 1.0, "bad": 2.0} for query in TEXTS}

FILES = {
    "queries.tsv": "".join(f"{query}\t{text}\n" for query, text in TEXTS.items()),
    "queries.csv": "query_id,text\n" + "".join(f"{query},{text}\n" for query, text in TEXTS.items()),
    "queries.jsonl": "".join(
        json.dumps({"_id": query, "text": text}) + "\n" for query, text in TEXTS.items()
    ),
}


def write_qrels(folder):
    path = folder / "qrels.txt"
    path.write_text("".join(f"{query} 0 good 1\n" for query in QRELS))
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_file_beside_the_judgments(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    verdict = rankgate.gate(str(write_qrels(tmp_path)), OLD, NEW)
    assert {row["query_id"]: row["text"] for row in verdict.queries} == TEXTS
    assert "words of 0" in str(verdict)
    again = type(verdict).from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert again.queries == verdict.queries


def test_a_tag_is_before_a_file(tmp_path):
    (tmp_path / "queries.tsv").write_text(FILES["queries.tsv"])
    tags = pl.DataFrame({"query_id": list(TEXTS), "text": [text.upper() for text in TEXTS.values()]})
    collection = rankgate.Collection(str(write_qrels(tmp_path)), tags=tags)
    assert rankgate.gate(collection, OLD, NEW).queries[0]["text"] == "WORDS OF 0"


def test_without_texts_there_is_no_column(tmp_path):
    verdict = rankgate.gate(str(write_qrels(tmp_path)), OLD, NEW)
    assert {row["text"] for row in verdict.queries} == {None}
    (heading,) = (line for line in str(verdict).splitlines() if line.startswith("query"))
    assert heading.split() == ["query", "baseline", "candidate", "delta"]


def test_a_file_that_cannot_be_read_is_a_note(tmp_path):
    (tmp_path / "queries.csv").write_text("a,b\n1,2\n")
    verdict = rankgate.gate(str(write_qrels(tmp_path)), OLD, NEW)
    assert any("queries.csv" in note for note in verdict.notes)
