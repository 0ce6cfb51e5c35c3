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
from rankgate.data.streams.source import open_source
from support.wording import raises

PAIRS = pl.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"]})


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


def test_columns_files_are_known_by_their_letters(tmp_path):
    PAIRS.with_columns(grade=pl.lit(1)).write_parquet(tmp_path / "a.txt")
    PAIRS.with_columns(grade=pl.lit(1)).write_ipc(tmp_path / "b.txt")
    assert detect_format(open_source(tmp_path / "a.txt"))[1] == "it begins with PAR1"
    assert detect_format(open_source(tmp_path / "b.txt"))[1] == "it begins with ARROW1"
    packed = tmp_path / "c.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
    assert read_qrels(packed).table.rows() == [("1", "a", 1.0), ("1", "b", 1.0)]


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
