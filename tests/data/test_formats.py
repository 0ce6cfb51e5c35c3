"""The table of formats, and how a file's format is found."""

from __future__ import annotations

import gzip
import subprocess
import sys

import polars as pl
import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data import contents_of, read_qrels, read_run
from rankgate.data.formats.registry import FORMATS, TABLE, detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source
from support.wording import raises

PAIRS = pl.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"]})


def found(data):
    fmt, reason = detect_format(InputFile(None, data))
    return fmt.name, reason


def test_the_table_and_the_formats_agree():
    table_names = [name for name, _, _ in TABLE]  # a format of one file works without a line there
    assert [fmt.name for fmt in FORMATS][: len(table_names)] == table_names
    assert len({fmt.name for fmt in FORMATS}) == len(FORMATS)
    for fmt in FORMATS:
        assert fmt.title, fmt.name
        assert fmt.suffixes or fmt.name == "ir_datasets", fmt.name
        assert all(suffix.startswith(".") for suffix in fmt.suffixes), fmt.name
        assert fmt.detail, fmt.name
        assert fmt.holds, fmt.name
        assert (fmt.sniff.__doc__ or "").strip(), fmt.name


@pytest.mark.parametrize("name", [fmt.name for fmt in FORMATS])
def test_no_format_claims_nothing(name):
    for first_bytes in (b"", b"\n", b"\xef\xbb\xbf", b"\x00\x01\x02", b"{}", b"[]", b"[1]", b"null", b"\xff"):
        assert find_format(name).sniff(first_bytes, "") is None, first_bytes


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"1 0 a 2\n", "trec", "the first line has 4 fields between blanks, as judgments have"),
        (b"# x\n\n1 Q0 a 1 2.5 t\n", "trec", "the first line has 6 fields between blanks"),
        (b"1\tQ0\ta\t1\t2.5\tt\n", "trec", "the first line has 6 fields between blanks"),
        (b"[1] 0 a 2\n", "trec", "the first line has 4 fields"),
        (b"qid,doc,score\n", "csv", "the first line names columns between commas"),
        (b"score;doc;topic\n", "csv", "between semicolons"),
        (b"\xef\xbb\xbfqid\tdoc\tscore\r\n", "tsv", "between tabs"),
        (b'{"qid": 1, "doc": "a", "score": 2}', "jsonl", "an object with 'qid', 'doc', 'score'"),
        (gzip.compress(b"1 0 a 2\n", mtime=0), "trec", "4 fields"),
        (b"\x00\x01", "trec", "nothing else fits"),
    ],
)
def test_files_are_known_by_what_they_hold(data, name, reason):
    result = found(data)
    assert result[0] == name
    assert reason in result[1]


def test_columns_files_are_known_by_their_letters(tmp_path):
    PAIRS.with_columns(grade=pl.lit(1)).write_parquet(tmp_path / "a.txt")
    PAIRS.with_columns(grade=pl.lit(1)).write_ipc(tmp_path / "b.txt")
    assert detect_format(open_source(tmp_path / "a.txt"))[1] == "it begins with PAR1"
    assert detect_format(open_source(tmp_path / "b.txt"))[1] == "it begins with ARROW1"
    packed = tmp_path / "c.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
    assert read_qrels(packed).table.rows() == [("1", "a", 1.0), ("1", "b", 1.0)]


def test_unknown_json_is_reported():
    for text in ("{}", '{"a": [1.5]}', '[\n{"x": 1}\n]'):
        with raises("unknown-format", InputError):
            detect_format(InputFile(None, text.encode()))


def test_a_format_can_be_named(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text('{"qid": "1", "doc": "a", "score": 2}\n')
    assert read_run(f"jsonl:{path}").table.rows() == [("1", "a", 2.0)]
    assert read_qrels(path, from_="JSONL").table.rows() == [("1", "a", 2.0)]
    with raises("wrong-field-count", InputError, line=1):
        read_qrels(f"trec:{path}")
    with raises("unknown-format", UsageError):
        read_qrels(path, from_="jsnl")
    odd = tmp_path / "csv:x"
    odd.write_text("1 0 a 2\n")
    assert len(read_qrels(odd).table) == 1


def test_an_empty_grade_is_unrated_and_reported(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("query,docid,rating\nq1,a,3\nq1,b,\nq2,c,\nq3,,\n")
    contents = contents_of(path)
    assert contents.qrels.table.rows() == [("q1", "a", 3.0)]
    assert contents.qrels.unjudged == ("q2", "q3")
    result = {note.what: (note.count, note.examples) for note in contents.notes}
    assert result["pairs without a grade, which are unrated"] == (2, ("q1 b", "q2 c"))
    assert result["queries without judgments"] == (2, ("q2", "q3"))


def test_a_part_that_is_not_there_is_reported(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("qid,doc,rating,judge\n1,a,2,x\n")
    contents = contents_of(path)
    with raises("no-judgments", InputError):
        contents.judgments("x.csv")
    with raises("no-rankings", InputError):
        contents.ranking("x.csv")


def test_eval_loads_no_more_than_it_needs():
    """TREC files are read without a reader or writer of any other format."""
    code = (
        "import io, sys\n"
        "from rankgate.data import read_qrels\n"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(b'1 0 a 2\\n'))\n"
        "assert len(read_qrels('-').table) == 1\n"
        "other = ('formats.tables', 'formats.quepid', 'text.json_text')\n"
        "other = tuple('rankgate.data.' + part for part in other)\n"
        "print([name for name in sys.modules if name.startswith(other)])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
