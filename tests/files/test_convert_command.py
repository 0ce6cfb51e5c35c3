"""``rankgate convert`` and ``rankgate formats``: words in, files and reports out."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

from support.command import assert_refused


def test_a_report_says_what_was_lost(run, small, tmp_path):
    result = run("convert", small[1], tmp_path / "a.csv")
    assert (result.code, result.out) == (0, "")
    assert "as trec: the first line has 6 fields" in " ".join(result.err.split())
    assert "written" in result.err
    assert "8 lines of runs" in result.err
    assert "1 tag of a run: bm25" in result.err
    assert max(map(len, result.err.splitlines())) <= 80


def test_the_report_as_json(run, small, tmp_path):
    outcome = run("convert", small[0], tmp_path / "a.jsonl", "--format", "json")
    result = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert result["rows"] == {"qrels": 7}
    assert result["losses"] == []
    run("convert", small[0], tmp_path / "a.csv", "--format", "json", "-o", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["to_format"] == "csv"


def test_standard_streams(small):
    command = [sys.executable, "-m", "rankgate", "convert", "-", "-", "--to", "csv"]
    packed = gzip.compress(small[0].read_bytes())
    result = subprocess.run(command, input=packed, capture_output=True, check=True)
    assert result.stdout.startswith(b"query_id,doc_id,grade\n1,a,3\n")
    assert b"standard input as trec" in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("x.csv",), "no-such-file"),
        (("IN", "--to", "cvs"), "unknown-format"),
        (("IN", "--from", "jsonl"), "invalid-json"),
        (("IN", "--as", "run"), "wrong-field-count"),
        (("IN", "--as", "queries"), "no-such-content"),
    ],
)
def test_bad_words_and_input_end_with_2(run, small, tmp_path, words, code):
    source, *arguments = (str(small[0]) if word == "IN" else word for word in words)
    assert_refused(run("convert", source, tmp_path / "a.csv", *arguments), code)
    assert not (tmp_path / "a.csv").exists()


def test_a_file_is_not_converted_into_itself(run, small):
    for source in (small[0], f"trec:{small[0]}"):
        assert_refused(run("convert", source, small[0], "--to", "csv"), "output-is-input")
    assert run("convert", small[0], "-", "--to", "csv", "--format", "json").code == 2


def test_all_commands_take_a_named_format(run, small, tmp_path):
    run("convert", small[0], tmp_path / "q.csv")
    result = run("eval", f"csv:{tmp_path / 'q.csv'}", f"trec:{small[1]}", "-m", "AP")
    assert result.code == 0
    assert result.out.replace("judgments q,", "judgments small,") == run("eval", *small, "-m", "AP").out


def test_the_table_of_formats(run):
    result = run("formats")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    _, _, table = result.out.partition("what it is\n")
    names = {line.split()[0] for line in table.splitlines() if not line.startswith(" ")}
    formats = json.loads(run("formats", "--format", "json").out)["formats"]
    assert names == {fmt["name"] for fmt in formats}
    assert {"trec", "csv", "parquet", "jsonl"} <= names
    details = run("formats", "trec")
    assert details.out.startswith("trec\n")
    assert "known by" in details.out
    assert run("formats", "nothing").code == 2
