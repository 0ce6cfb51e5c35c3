"""Bad input gives the right number, or an error with its file and, if possible, the line."""

from __future__ import annotations

import gzip
import json
import zlib

import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import DuplicateError, InputError, RankgateError
from rankgate.data import read_qrels, read_run
from rankgate.data.formats.registry import FORMATS, find_format
from rankgate.data.read import contents_of
from rankgate.data.streams.source import InputFile
from support.strategies import fewer_examples
from support.wording import raises

NAMES = [fmt.name for fmt in FORMATS if fmt.suffixes]
QRELS = [("1", "a", 2.0), ("1", "b", 0.0)]


def saved(tmp_path, content, name="x"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def parquet(rows=QRELS):
    import io

    out = io.BytesIO()
    pl.DataFrame(rows, schema=["qid", "doc", "grade"], orient="row").write_parquet(out)
    return out.getvalue()


def test_a_field_longer_than_any_id(tmp_path):
    path = saved(tmp_path, b'qid,doc,grade\n1,"' + b"a" * 140_000 + b'",x\n')
    with pytest.raises(InputError) as error:
        read_qrels(path)
    assert (error.value.code, error.value.source, error.value.line) == ("invalid-syntax", str(path), 2)


def test_a_table_of_many_columns(tmp_path):
    names = ",".join(["qid", *(f"c{i}" for i in range(100_000)), "doc", "grade"])
    row = ",".join(["1", *["0"] * 100_000, "a", "2"])
    path = saved(tmp_path, f"{names}\n{row}\n".encode())
    assert read_qrels(path).table.rows() == [("1", "a", 2.0)]


def test_quoted_fields_over_the_ends_of_pieces(tmp_path, monkeypatch):
    """Pieces end where records end, wherever quotes and newlines are."""
    rows = [(f"q\n{i}", f'd"{i}\n"', float(i % 3)) for i in range(2000)]
    table = pl.DataFrame(rows, schema=["qid", "doc", "grade"], orient="row")
    table.write_csv(tmp_path / "x.csv")
    small = InputFile.chunks

    def chunks(self, size=997):
        return small(self, size)

    monkeypatch.setattr(InputFile, "chunks", chunks)
    assert read_qrels(tmp_path / "x.csv").table.rows() == rows
    table = table.with_columns(score="grade").write_csv(tmp_path / "y.csv")
    assert len(read_run(tmp_path / "y.csv").table) == len(rows)


JUNK = [
    b"",
    b"\x00\x01\x02\x03",
    b"PAR1PAR1",
    b"ARROW1\x00\x00",
    b"\x80\x04\x95 pickle",
    b"{" * 1000,
    b"1 0 a\n",
    b"a,b,c\n1,2,3\n",
    b'{"x": 1}\n',
    b"[[[]]]",
    b"null",
    b'"x"',
    b"\xff\xfe1\x00 \x000\x00",
    "1 0 ä 1\n".encode("latin-1"),
    parquet()[:-20],
    parquet()[20:],
    gzip.compress(b"1 0 a 1\n" * 1000)[:-9],
    zlib.compress(b"1 0 a 1\n"),
    zstandard.compress(b"1 0 a 1\n" * 1000)[:-3],
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x1b[31m 0 a 1\n",
]
LONG = [b'{"a":' * 100_000, b"[" * 1_000_000, b"\n" * 100_000, b"," * 100_000]


def refused(path, name, content):
    path.write_bytes(content)
    with pytest.raises(RankgateError) as error:
        judged(path, name)
    assert "\n" not in str(error.value).strip(), content[:40]


@pytest.mark.parametrize("name", NAMES)
def test_junk_is_an_error_in_every_format(tmp_path, name):
    for content in JUNK:
        refused(tmp_path / "x", name, content)
    refused(tmp_path / "x", name, LONG[NAMES.index(name) % len(LONG)])


@pytest.mark.parametrize("name", NAMES)
@fewer_examples(8)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(name, data):
    read(name, data)


TOKENS = [
    b"query,docid,rating\n",
    b"1,a,2\n",
    b",",
    b"\n",
    b'"',
    b" ",
    b"\t",
    b"q",
    b"-1",
    b"1e400",
    b'{"query_id": "1", "doc_id": "a", "score": 2}\n',
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"null",
    b'"queries"',
    b'"ratings"',
    b'"docs"',
    b'"requests"',
    b'"rating"',
    b'"id"',
    b'"doc_id"',
    b"1 qid:1 1:0.5 # a\n",
    b"1 Q0 a 1 2.5 t\n",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"true",
    b"#",
]


@pytest.mark.parametrize("name", NAMES)
@fewer_examples(8)
@given(parts=st.lists(st.sampled_from(TOKENS), max_size=12))
def test_pieces_of_formats_are_read_or_refused(name, parts):
    read(name, b"".join(parts))


def judged(path, name):
    """The judgments of a file that also has readable runs."""
    contents = contents_of(path, name)
    _ = [run.table for run in contents.runs]
    return contents.judgments(str(path))


def read(name, data):
    """Read all data; only deliberate errors may occur."""
    try:
        contents = find_format(name).read(InputFile(None, data))
        for run in contents.runs:
            _ = run.table
    except RankgateError as error:
        assert str(error)  # noqa: PT017 - the error is one of two good ends


@pytest.mark.slow
def test_a_zip_bomb_ends_within_its_limit(tmp_path):
    """A line of 16 MB, or a JSON value of 256 MB, is too much, however small its file is."""
    bomb = gzip.compress(b"0" * (36 << 20))
    assert len(bomb) < 1 << 17
    with raises("too-large", InputError, line=1):
        read_qrels(saved(tmp_path, bomb))
    bomb = gzip.compress(b"qid,doc,grade\n1,a," + b"0" * (36 << 20))
    with raises("too-large", InputError, line=2):
        read_qrels(saved(tmp_path, bomb))
    bomb = gzip.compress(b'qid,doc,grade\n1,a,"' + b"0\n" * (10 << 20))
    with raises("unclosed-quote", InputError, line=2):
        read_qrels(saved(tmp_path, bomb))


def test_a_packed_table_has_a_limit(tmp_path):
    packed = saved(tmp_path, gzip.compress(parquet() + b"0" * (4 << 20)))
    with raises("too-large", InputError):
        InputFile(packed).everything(1 << 20)


def test_links_that_lead_to_each_other(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with raises("cannot-read", InputError):
        read_qrels(tmp_path / "a")


@pytest.mark.unprivileged
def test_a_file_that_nobody_may_read(tmp_path):
    path = saved(tmp_path, b"1 0 a 1\n")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be opened") as error:
        read_qrels(path)
    assert error.value.code == "cannot-read"


def test_duplicates_in_long_runs_have_their_line(tmp_path):
    lines = [json.dumps({"qid": str(i // 10), "doc": str(i % 10), "score": 1}) for i in range(5000)]
    lines[4321] = lines[4320]
    path = saved(tmp_path, "\n".join(lines).encode())
    with raises("duplicate-document", DuplicateError, line=4322):
        list(read_run(path).batches())


def test_a_table_that_declares_too_many_rows(tmp_path, monkeypatch):
    """A few bytes can declare any number of rows; they are counted before they are read."""
    from rankgate.data.formats.tables import parquet_arrow

    rows = [("1", str(i % 7), 1.0) for i in range(1000)]
    path = saved(tmp_path, parquet(rows))
    monkeypatch.setattr(parquet_arrow, "MAX_VALUES", 2999)
    with raises("too-large", InputError):
        read_qrels(path)
    monkeypatch.setattr(parquet_arrow, "MAX_VALUES", 3000)
    with raises("duplicate-document", DuplicateError):
        read_qrels(path)


def test_a_query_with_too_many_documents(tmp_path, monkeypatch):
    from rankgate.data import run

    lines = b"".join(b"1 Q0 %d 1 1.0 t\n" % i for i in range(1001))
    path = saved(tmp_path, lines)
    monkeypatch.setattr(run, "_MAX_DOCUMENTS", 1000)
    with raises("too-large", InputError):
        list(read_run(path).batches())
