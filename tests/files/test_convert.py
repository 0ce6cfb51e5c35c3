"""Conversions: kept data, reported losses, and no partial files."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys

import polars as pl
import pytest
import zstandard

import rankgate
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data import Qrels, contents_of, read_qrels, read_run
from rankgate.data.files.conversion import convert
from rankgate.data.formats.tables import parquet_arrow as parquet
from rankgate.data.streams.source import InputFile
from support.waiting import until
from support.wording import raises

RUN = "1 Q0 a 1 9 bm25\n1 Q0 b 2 8 bm25\n2 Q0 a 1 3 bm25\n"
SCATTERED = "1 Q0 a 1 9 bm25\n2 Q0 a 1 3 bm25\n1 Q0 b 2 8 bm25\n"


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "in.run"
    path.write_text(RUN)
    return path


NAMES = ("a.csv", "a.tsv.gz", "a.jsonl.zst", "a.parquet", "a.arrow", "a.txt")


@pytest.mark.parametrize("name", NAMES)
def test_a_run_survives(tmp_path, run, name):
    result = convert(run, tmp_path / name)
    assert result.from_format == "trec"
    assert result.rows == {"runs": 3}
    assert result.notes == ()
    lost = [] if name == "a.txt" else [("tag of a run", 1, ("bm25",))]
    assert [(loss.what, loss.count, loss.examples) for loss in result.losses] == lost
    assert read_run(tmp_path / name).table.equals(read_run(run).table)
    assert result.to_dict()["schema_version"] == 1


def test_queries_that_stand_apart_are_brought_together(tmp_path, run):
    run.write_text(SCATTERED)
    result = convert(run, tmp_path / "a.run")
    assert result.rows == {"runs": 3}
    ids = [line.split()[0:3:2] for line in (tmp_path / "a.run").read_text().splitlines()]
    assert ids == [["1", "a"], ["1", "b"], ["2", "a"]]


def test_duplicates_are_refused_and_leave_the_old_file(tmp_path, run):
    run.write_text(RUN + "2 Q0 a 2 1 bm25\n")
    (tmp_path / "a.csv").write_text("old")
    with raises("duplicate-document", DuplicateError):
        convert(run, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "in.run"]


def test_one_part_may_be_asked_for(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("1 a 2\n1 b 1\n")
    assert convert(path, tmp_path / "a.csv").rows == {"qrels": 2}
    assert convert(path, tmp_path / "a.csv", as_="run").rows == {"runs": 2}
    assert read_run(tmp_path / "a.csv").table["score"].to_list() == [2, 1]
    with raises("no-such-content", InputError):
        convert(path, tmp_path / "b.csv", as_="queries")
    with raises("unknown-choice", UsageError):
        convert(path, tmp_path / "b.csv", as_="x")


def test_blanks_in_ids_are_reported(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("query,docid,grade\nstar wars,11,3\nstar wars,a b,0\n#1,c,1\n")
    result = convert(path, tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text() == "star_wars 0 11 3\nstar_wars 0 a_b 0\n_1 0 c 1\n"
    assert [(loss.count, loss.examples) for loss in result.losses] == [
        (2, ("'star wars'", "'#1'")),
        (1, ("'a b'",)),
    ]
    path.write_text("query,docid,grade\nstar wars,11,3\nstar_wars,11,0\n")
    with raises("invalid-id", InputError):
        convert(path, tmp_path / "a.qrels")


def test_what_is_beside_a_run_goes_with_it(tmp_path, run):
    meta = '{"query_id": "1", "latency_ms": 12}\n{"query_id": "2", "state": "ok", "tag": "x"}\n'
    (tmp_path / "in.run.meta.jsonl").write_text(meta)
    result = convert(run, tmp_path / "a.run.gz")
    assert result.losses == ()
    assert [note.count for note in result.notes] == [2]
    assert "a.run.gz.meta.jsonl" in result.notes[0].what
    assert read_run(tmp_path / "a.run.gz").queries.equals(read_run(run).queries)
    result = convert(run, io.BytesIO(), to="trec")
    assert [(loss.what, loss.count) for loss in result.losses] == [("states of queries", 2)]


def test_what_was_beside_the_target_before_is_reported(tmp_path, run):
    """Otherwise the latencies of one run would be used for another run."""
    (tmp_path / "a.csv.meta.jsonl").write_text('{"query_id": "1", "latency_ms": 12}\n')
    result = convert(run, tmp_path / "a.csv")
    assert [note.examples for note in result.notes] == [("a.csv.meta.jsonl",)]
    assert convert(run, tmp_path / "b.csv").notes == ()
    (tmp_path / "q.csv.meta.jsonl").write_text("of a run\n")
    assert convert(read_qrels({"1": {"a": 2}}), tmp_path / "q.csv").notes == ()


def test_a_run_goes_before_judgments_that_are_none(tmp_path):
    """A snapshot of a case without ratings: its table is the run."""
    docs = {"5": [{"id": "d", "rated_only": False}, {"id": "e", "rated_only": False}]}
    queries = [{"query_id": 5, "query_text": "red shoes", "ratings": {}}]
    snapshot = {"id": 1, "name": "n", "time": "2024-04-23T00:00:00Z", "docs": docs}
    (tmp_path / "a.json").write_text(json.dumps({**snapshot, "queries": queries, "scores": []}))
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        result = convert(tmp_path / "a.json", tmp_path / name)
        assert result.rows == {"runs": 2}
        assert ("queries without judgments", 1) in [(loss.what, loss.count) for loss in result.losses]
        assert read_run(tmp_path / name).table["doc_id"].to_list() == ["d", "e"]


def test_tables_in_memory(tmp_path):
    qrels = read_qrels({"1": {"a": 2}})
    assert isinstance(qrels, Qrels)
    out = io.BytesIO()
    assert convert(qrels, out, to="csv").target == "-"
    assert out.getvalue() == b"query_id,doc_id,grade\n1,a,2\n"
    frame = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "score": [0.5]})
    result = rankgate.convert(frame, tmp_path / "a.jsonl", as_="run")
    assert (tmp_path / "a.jsonl").read_text() == '{"query_id":"1","doc_id":"a","score":0.5}\n'
    assert "<table>" in result._repr_html_()
    assert convert(contents_of(tmp_path / "a.jsonl"), out, to="trec").rows == {"runs": 1}
    with raises("ambiguous-input", UsageError):
        convert(frame, out, to="csv")


def test_compressed_files_are_the_same_bytes(tmp_path, run):
    for name in ("a.csv.gz", "a.csv.zst"):
        convert(run, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        convert(run, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"query_id,")
    packed = zstandard.ZstdDecompressor().stream_reader((tmp_path / "a.csv.zst").read_bytes())
    assert packed.read().startswith(b"query_id,")


def test_targets_that_cannot_be(tmp_path, run):
    with raises("cannot-write", UsageError):
        convert(run, tmp_path, to="csv")
    with raises("cannot-write", UsageError):
        convert(run, tmp_path / "no" / "a.csv")
    with raises("unknown-format", UsageError):
        convert(run, tmp_path / "a")
    with raises("unknown-format", UsageError):
        convert(run, tmp_path / "a.x")
    (tmp_path / "l.csv").symlink_to(tmp_path / "m.csv")
    (tmp_path / "m.csv").symlink_to(tmp_path / "l.csv")
    with raises("cannot-write", UsageError):
        convert(run, tmp_path / "l.csv")


def test_a_link_is_followed_and_rights_are_kept(tmp_path, run):
    real = tmp_path / "real.csv"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(real)
    convert(run, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert real.read_text().startswith("query_id")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    """Input that never ends is converted until the process is killed."""
    target = tmp_path / "a.csv"
    target.write_text("old")
    code = (
        "import sys; from rankgate.data.files.conversion import convert\n"
        "from rankgate.data.run import Run\n"
        "import polars as pl, itertools\n"
        "def pieces():\n"
        "    for i in itertools.count():\n"
        "        q = [str(i)] * 1000\n"
        "        d = [str(j) for j in range(1000)]\n"
        "        yield pl.DataFrame({'query_id': q, 'doc_id': d, 'score': [1.0] * 1000})\n"
        "convert(Run('r', pieces), sys.argv[1])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(target)])
    unfinished = tmp_path / f".a.csv.{process.pid}"
    until(lambda: unfinished.exists() and unfinished.stat().st_size)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert unfinished.stat().st_size > 0
    assert target.read_text() == "old"


@pytest.fixture
def long(tmp_path):
    """A run of 400 times 1,000 lines."""
    path = tmp_path / "long.run"
    ranked = "".join(f"QUERY Q0 doc{i} {i} {1000 - i} t\n" for i in range(1000))
    path.write_text("".join(ranked.replace("QUERY", str(query)) for query in range(400)))
    return path


def lags(source, target, monkeypatch):
    """Convert; how much of the source had been read and of the target written, as shares, at
    each chunk that was read."""
    chunks, progress, read = InputFile.chunks, [], 0

    def counted(self, size=1 << 16):  # noqa: ARG001 - the reader's own size
        nonlocal read
        for chunk in chunks(self, 1 << 16):
            read += len(chunk)
            unfinished = target.parent.glob(f".{target.name}*")
            progress.append((read, sum(file.stat().st_size for file in unfinished)))
            yield chunk

    with monkeypatch.context() as patch:
        patch.setattr(InputFile, "chunks", counted)
        convert(source, target)
    sizes = source.stat().st_size, target.stat().st_size
    return [(read_bytes / sizes[0], written_bytes / sizes[1]) for read_bytes, written_bytes in progress]


def test_a_long_run_is_written_while_it_is_read(tmp_path, long, monkeypatch):
    """So a conversion never needs memory of the size of the run, on any machine."""
    path = long
    for name in ("a.csv", "a.jsonl", "b.run"):
        shares = lags(path, tmp_path / name, monkeypatch)
        assert len(shares) > 50
        assert max(read - written for read, written in shares) < 0.2, name
        path = tmp_path / name


def test_a_long_run_in_parquet_is_in_parts(tmp_path, long, monkeypatch):
    shares = lags(long, tmp_path / "a.parquet", monkeypatch)
    assert shares[-1][1] > 0.3  # the first part was written before the last line was read
    monkeypatch.setattr(parquet, "_ROWS_PER_BATCH", 30_000)
    rows = [len(piece) for piece in read_run(tmp_path / "a.parquet").pieces()]
    assert rows == [30_000] * 13 + [10_000]
