"""Reading of judgments and rankings that samples of files (tests/door) do not show."""

from __future__ import annotations

import gzip
import io
import sys

import polars as pl
import pytest
import zstandard

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import read_run
from rankgate.data.streams.source import InputFile
from rankgate.data.text import field_lines
from support.table_sources import WRITERS
from support.wording import raises

RUN = [("1", "007", 2.5), ("1", "b#", 1.0), ("2", "ä", -3.0)]

RUN_TEXT = b"1 Q0 007 1 2.5 tag\n1 Q0 b# 2 1.0 tag\n2 Q0 \xc3\xa4 1 -3 tag\n"
OTHER_NAMES = 'docno,"topic",sim\n007,1,2.5\nb#,1,1\n"ä",2,-3\n'.encode()


def saved(tmp_path, content, name="a.run"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


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
    with raises("duplicate-document", DuplicateError, line=20001):
        list(read_run(path).batches())
    path = saved(tmp_path, (good_lines + "7 Q0 x 9 0.5\n").encode())
    with raises("wrong-field-count", InputError, line=20001):
        list(read_run(path).batches())


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
    first = read_run(saved(tmp_path, RUN_TEXT))
    second = read_run(saved(tmp_path, OTHER_NAMES, "b.csv"))
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


@pytest.mark.parametrize("name", ["commas.csv", "tabs.csv", "table.parquet", "table.arrow", "table.jsonl"])
def test_a_file_of_latencies_beside_a_run_goes_before_its_column(tmp_path, name):
    columns = {
        "query_id": ["q1", "q2"],
        "doc_id": ["a", "b"],
        "score": [2.0, 1.0],
        "latency_ms": [12.5, None],
    }
    WRITERS[name](pl.DataFrame(columns), tmp_path / name)
    (tmp_path / f"{name}.meta.jsonl").write_text('{"query_id":"q1","latency_ms":1}')
    assert read_run(tmp_path / name).queries["latency_ms"].to_list() == [1.0]
