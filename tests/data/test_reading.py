"""Every way to write the same judgments and rankings reads as the same table."""

from __future__ import annotations

import gzip
import io
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import read_qrels, read_run
from rankgate.data.streams.source import InputFile
from rankgate.data.text import field_lines
from support.wording import raises

RUN = [("1", "007", 2.5), ("1", "b#", 1.0), ("2", "ä", -3.0)]
QRELS = [("1", "007", 3.0), ("1", "x", 0.0), ("2", "ä", -1.0)]

RUN_TEXT = b"1 Q0 007 1 2.5 tag\n1 Q0 b# 2 1.0 tag\n2 Q0 \xc3\xa4 1 -3 tag\n"
RUNS = {
    "six fields": RUN_TEXT,
    "tabs": RUN_TEXT.replace(b" ", b"\t"),
    "runs of blanks": RUN_TEXT.replace(b" ", b"  \t"),
    "blanks at both ends": RUN_TEXT.replace(b"\n", b" \n "),
    "windows lines": RUN_TEXT.replace(b"\n", b"\r\n"),
    "no final newline": RUN_TEXT.rstrip(),
    "blank lines": b"\n\n" + RUN_TEXT.replace(b"\n", b"\n\n"),
    "byte order mark": b"\xef\xbb\xbf" + RUN_TEXT,
    "comments": b"# made on Monday\n" + RUN_TEXT + b"#1 Q0 c 1 2 tag\n",
    "comment that looks like a line": b"#1 Q0 c 1 2.0 tag\n" + RUN_TEXT,
    "gzip": gzip.compress(RUN_TEXT),
    "gzip in two parts": gzip.compress(RUN_TEXT[:20]) + gzip.compress(RUN_TEXT[20:]),
    "zstd": zstandard.compress(RUN_TEXT),
    "three fields": b"1 007 2.5\n1 b# 1.0\n2 \xc3\xa4 -3\n",
    "csv": "query_id,doc_id,score\n1,007,2.5\n1,b#,1.0\n2,ä,-3\n".encode(),
    "csv with other names": 'docno,"topic",sim\n007,1,2.5\nb#,1,1\n"ä",2,-3\n'.encode(),
    "tsv": "qid\tdocid\tscore\textra\n1\t007\t2.5\t\n1\tb#\t1\t\n2\tä\t-3\tz\n".encode(),
    "windows csv": "\ufeffQID;DocID;Score\r\n1;007;2.5\r\n1;b#;1\r\n2;ä;-3\r\n".encode(),
}


def saved(tmp_path, content, name="a.run"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_in_any_form(tmp_path, kind):
    assert read_run(saved(tmp_path, RUNS[kind])).table.rows() == RUN


def test_two_fields_are_best_first(tmp_path):
    table = read_run(saved(tmp_path, b"1 a\n1 b\n2 c\n")).table
    assert table["score"].is_sorted(descending=True)
    assert table["doc_id"].to_list() == ["a", "b", "c"]


def test_a_rank_column_counts_downwards(tmp_path):
    table = read_run(saved(tmp_path, b"query,doc,rank\n1,a,1\n1,b,2\n")).table
    assert table["score"].to_list() == [-1.0, -2.0]


@pytest.mark.parametrize(
    "content",
    [
        b"1 0 007 3\n1 0 x 0\n2 0 \xc3\xa4 -1\n",
        b"1 007 3\n1 x 0\n2 \xc3\xa4 -1\n",
        "query-id\tcorpus-id\tscore\n1\t007\t3\n1\tx\t0\n2\tä\t-1\n".encode(),
        "query,docid,rating\n1,007,3\n1,x,0\n2,ä,-1\n".encode(),
    ],
)
def test_qrels_in_any_form(tmp_path, content):
    assert read_qrels(saved(tmp_path, content)).table.rows() == QRELS


def test_frames_and_dicts():
    table = pl.DataFrame(RUN, schema=["qid", "docno", "score"], orient="row")
    nested = {"1": {"007": 2.5, "b#": 1}, "2": {"ä": -3}}
    for source in (table, table.lazy(), table.to_pandas(), table.to_arrow(), nested):
        assert read_run(source).table.rows() == RUN
    judged = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "relevance": [2]})
    assert read_qrels(judged).table.rows() == [("1", "a", 2.0)]


def test_parquet_and_arrow_files(tmp_path):
    table = pl.DataFrame(RUN, schema=["query_id", "doc_id", "score"], orient="row")
    table.write_parquet(tmp_path / "a.parquet")
    table.write_ipc(tmp_path / "a.arrow")
    assert read_run(tmp_path / "a.parquet").table.rows() == RUN
    assert read_run(tmp_path / "a.arrow").table.rows() == RUN


def test_whole_numbers_are_ids_in_frames():
    table = pa.table({"query_id": [1], "doc_id": [7], "score": [0.5]})
    assert read_run(table).table.rows() == [("1", "7", 0.5)]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(RUN_TEXT))))
    run = read_run("-")
    assert (run.name, run.table.rows()) == ("-", RUN)


@pytest.mark.parametrize(
    ("file", "name"), [("a.run.gz", "a"), ("bm25.v2.txt", "bm25.v2"), ("plain", "plain"), ("b.run", "b")]
)
def test_names_come_from_files(tmp_path, file, name):
    assert read_run(saved(tmp_path, RUN_TEXT, file)).name == name


def test_the_tag_is_kept(tmp_path):
    assert read_run(saved(tmp_path, RUN_TEXT)).tag == "tag"


@pytest.mark.parametrize(
    ("content", "line", "code"),
    [
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0\n", 2, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t\n\n1 Q0 b 2 1.0 t u\n", 3, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t\n1  Q0 b 2 1.0\n1 Q0 c 3 0.5 t x\n", 2, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 \n1 Q0 c 3 0.5 t\n", 2, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0\n1 Q0 c 3 0.5 t x\n", 2, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t x\n1 Q0 b 2 1.0\n", 1, "wrong-field-count"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 ten t\n", 2, "not-a-number"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 nan t\n", 2, "not-a-number"),
        (b"1 Q0 a 1 -inf t\n", 1, "not-a-number"),
        (b"1 Q0 a 1 1e999 t\n", 1, "not-a-number"),
        (b"1 Q0 a 1 0x10 t\n", 1, "not-a-number"),
        (b"# c\n1 Q0 a 1 2.0 t\n1 Q0 b 2 \xff t\n", 3, "not-utf8"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 \x01 2 1.0 t\n", 2, "binary-file"),
        (b"query,doc,score\n1,a,1\n1,b,x\n", 3, "not-a-number"),
        (b'query,doc,score\n1,"a\nb",1\n1,b,\n', 4, "not-a-number"),
        (b"1 Q0 a 1 2.0 t\n2 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n", 3, "duplicate-document"),
        (b"1 Q0 a 1 2.0 t\n#\n1 Q0 b 1 2.0 t\n\n1 Q0 a 2 1.0 t\n", 5, "duplicate-document"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n1\tQ0\tb\t3\t0.5\tt", 3, "duplicate-document"),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\t1 Q0 c 3 0.5 t\n", 2, "wrong-field-count"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, content, line, code):
    path = saved(tmp_path, content)
    with raises(code, InputError) as error:
        _ = read_run(path).table
    assert error.value.line == line
    assert str(error.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("last", ["", "2 Q0 c 3 0.5 t\n"])
def test_a_document_twice_is_found_in_lists_of_any_length(tmp_path, last):
    text = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 a 2 1.0 t\n" + last
    path = saved(tmp_path, text.encode())
    with raises("duplicate-document", DuplicateError, line=4):
        list(read_run(path).batches())


def test_wrong_lines_far_into_a_file(tmp_path, monkeypatch):
    good_lines = "".join(f"{i // 100} Q0 d{i} 1 {-i} t\n" for i in range(20_000))
    monkeypatch.setattr("rankgate.data.streams.source.InputFile.chunks.__defaults__", (1 << 12,))
    path = saved(tmp_path, (good_lines + "199 Q0 d19950 9 0.5 t\n").encode())
    with raises("duplicate-document", DuplicateError, line=20001) as error:
        list(read_run(path).batches())
    assert error.value.line == 20_001
    path = saved(tmp_path, (good_lines + "7 Q0 x 9 0.5\n").encode())
    with raises("wrong-field-count", InputError, line=20001) as error:
        list(read_run(path).batches())
    assert error.value.line == 20_001


@pytest.mark.parametrize("extra", ["u", "true", "1"])
@pytest.mark.parametrize("beyond", [True, False], ids=["polars with missing_columns", "without"])
def test_a_field_too_few_and_one_too_many(tmp_path, monkeypatch, beyond, extra):
    inserts_fields = field_lines._inserts_fields() and beyond
    monkeypatch.setattr(field_lines, "_inserts_fields", lambda: inserts_fields)
    good_lines = "".join(f"1 Q0 d{i} 1 {-i} t\n" for i in range(5000))
    for first, second in (
        (f"1 Q0 x 1 2 t {extra}\n", "1 Q0 y 1 2\n"),
        ("1 Q0 y 1 2\n", f"1 Q0 x 1 2 t {extra}\n"),
    ):
        path = saved(tmp_path, (good_lines + first + good_lines.replace("d", "e") + second).encode())
        with raises("wrong-field-count", InputError, line=5001):
            _ = read_run(path).table


@pytest.mark.parametrize(
    ("content", "line", "code"),
    [
        (b"1 0 a 1\n1 0 b\n", 2, "wrong-field-count"),
        (b"1 0 a 1\n1 0 a 0\n", 2, "duplicate-document"),
        (b"1 0 a good\n", 1, "not-a-number"),
        (b"1 0\n", 1, "wrong-field-count"),
        (b"", None, "empty-file"),
        (b"\x00\x01\x02", None, "binary-file"),
        (b"query,doc,rating\n1,a,x\n", 2, "not-a-number"),
        (b"query,doc,rating\n1,,2\n", 2, "empty-value"),
        (b"query,doc,rating\n1,a,2\n1,b\n", 3, "wrong-field-count"),
    ],
)
def test_wrong_judgments_are_named(tmp_path, content, line, code):
    with raises(code, InputError) as error:
        read_qrels(saved(tmp_path, content))
    assert error.value.line == line


def test_damaged_compression_and_folders(tmp_path):
    compressed = gzip.compress(RUN_TEXT * 1000)
    for name, content in {
        "a.gz": compressed[: len(compressed) // 2],
        "b.gz": compressed[:10] + b"\xff" * 50 + compressed[60:],
        "c.zst": zstandard.compress(RUN_TEXT * 1000)[:40],
    }.items():
        with raises("damaged-file", InputError):
            _ = read_run(saved(tmp_path, content, name)).table
    (tmp_path / "folder").mkdir()
    with raises("is-a-folder", InputError):
        read_run(tmp_path / "folder")
    with raises("no-such-file", InputError):
        read_run(tmp_path / "none.run")


@pytest.mark.parametrize(
    "table", [{"1": {7.5: 1.0}}, {1.5: {"a": 1.0}}, {"1": {"a": "x"}}, {"1": [("a", "x")]}, 17, None]
)
def test_tables_that_are_none(table):
    with pytest.raises(InputError):
        read_run(table)


def test_the_hash_is_of_the_table_and_not_of_the_file(tmp_path):
    first = read_run(saved(tmp_path, RUNS["six fields"]))
    second = read_run(saved(tmp_path, RUNS["csv with other names"], "b.csv"))
    changed_run = read_run(saved(tmp_path, RUN_TEXT.replace(b"2.5", b"2.6"), "c.run"))
    assert first.sha256 == second.sha256 != changed_run.sha256


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("change", [lambda out: out.truncate(500), lambda out: out.seek(0, 2)])
def test_a_file_that_changes_while_it_is_read_is_reported(tmp_path, packed, change):
    """Its new end would be taken for the end of the run."""
    path = tmp_path / "a.run"
    rows = b"".join(b"q%d Q0 d 1 1 t\n" % row for row in range(100, 200))
    path.write_bytes(gzip.compress(rows) if packed else rows)
    pieces = InputFile(path).chunks(100)
    next(pieces)
    with path.open("r+b") as changed:
        change(changed)
        changed.write(b"q7 Q0 d 1 1 t\n")
    with pytest.raises(InputError) as error:
        list(pieces)
    assert error.value.source == str(path)
    assert error.value.code in {"file-changed", "damaged-file"}
