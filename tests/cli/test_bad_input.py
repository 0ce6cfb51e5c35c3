"""Bad input: one error with its file and line, exit code 2, and no partial output."""

import gzip
import random

import pytest
import zstandard

from rankgate.data.streams import source
from support.command import assert_refused

GOOD_QRELS = b"1 0 a 1\n1 0 b 0\n"
GOOD_RUN = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"
LONG_RUN = b"".join(
    b"%d Q0 d%d %d %d t\n" % (query, random.Random(query * 999 + rank).getrandbits(60), rank, -rank)
    for query in range(20)
    for rank in range(500)
)

RUNS = {
    "a field too few": (b"1 Q0 a 1 2 t\n1 Q0 b 1 t\n", "wrong-field-count", 2),
    "a field too many": (b"1 Q0 a 1 2 t\n1 Q0 b 1 1 t t\n", "wrong-field-count", 2),
    "a score that is no number": (b"1 Q0 a 1 2 t\n1 Q0 b 1 high t\n", "not-a-number", 2),
    "a score that is nan": (b"1 Q0 a 1 nan t\n", "not-a-number", 1),
    "a score that is infinite": (b"1 Q0 a 1 2 t\n1 Q0 b 1 -inf t\n", "not-a-number", 2),
    "a judged document twice": (b"1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n", "duplicate-document", 3),
    "an unjudged document twice": (b"1 Q0 a 1 3 t\n1 Q0 u 2 2 t\n1 Q0 u 3 1 t\n", "duplicate-document", 3),
    "an empty file": (b"", "empty-file", None),
    "blank lines": (b"\n \n", "empty-file", None),
    "comments": (b"# run of Monday\n", "empty-file", None),
    "no query in common": (b"q7 Q0 a 1 3 t\n", "queries-differ", None),
    "bytes of another alphabet": ("1 Q0 a 1 3 t\n1 Q0 é 2 2 t\n".encode("latin1"), "not-utf8", 2),
    "junk": (random.Random(1).randbytes(100_000), "binary-file", None),
    "junk without NUL": (b"\x07\x08 \x03\n" * 1000, "binary-file", 1),
    "half a gzip file": (gzip.compress(LONG_RUN)[:20_000], "damaged-file", None),
    "the head of a gzip file": (gzip.compress(LONG_RUN)[:5], "damaged-file", None),
    "half a zstd file": (zstandard.compress(LONG_RUN)[:20_000], "damaged-file", None),
    "the head of a zstd file": (zstandard.compress(LONG_RUN)[:6], "damaged-file", None),
}


def refused(run, qrels, path, code, source, line=None):
    """Check the error, and that the output file is as it was."""
    target = path.parent / "out" / "result.txt"
    target.parent.mkdir()
    target.write_text("old")
    assert_refused(run("eval", qrels, path, "-o", target), code, source, line)
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


@pytest.fixture
def good(tmp_path):
    """Judgments and a run with nothing wrong."""
    qrels, path = tmp_path / "good.qrels", tmp_path / "good.run"
    qrels.write_bytes(GOOD_QRELS)
    path.write_bytes(GOOD_RUN)
    return qrels, path


@pytest.mark.parametrize("kind", RUNS)
def test_a_bad_run(run, good, tmp_path, kind):
    content, code, line = RUNS[kind]
    bad = tmp_path / "bad.run"
    bad.write_bytes(content)
    refused(run, good[0], bad, code, bad, line)


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"1 0 a 1\n1 0 b\n", "wrong-field-count", 2),
        (b"1 0 a 1\n1 0 b good\n", "not-a-number", 2),
        (b"1 0 a 1\n1 0 a 0\n", "duplicate-document", 2),
        (b"", "empty-file", None),
    ],
)
def test_bad_judgments(run, good, tmp_path, content, code, line):
    bad = tmp_path / "bad.qrels"
    bad.write_bytes(content)
    refused(run, bad, good[1], code, bad, line)


def test_a_line_that_does_not_end(run, good, tmp_path):
    bad = tmp_path / "long.run"
    with bad.open("wb") as file:
        file.write(GOOD_RUN)
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    refused(run, good[0], bad, "too-large", bad, 3)
    bad.unlink()


def test_a_zstd_file_cut_between_its_blocks(run, good, tmp_path):
    """The available bytes unpack into full lines; only the frame shows that bytes are missing."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = packer.compress(GOOD_RUN) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    bad = tmp_path / "cut.run.zst"
    bad.write_bytes(packed)
    refused(run, good[0], bad, "damaged-file", bad)


def test_a_damaged_gzip_file(run, good, tmp_path):
    packed = gzip.compress(LONG_RUN)
    bad = tmp_path / "bad.run.gz"
    bad.write_bytes(packed[:1000] + b"\xff" * 50 + packed[1050:])
    refused(run, good[0], bad, "damaged-file", bad)


def test_a_missing_file(run, good, tmp_path):
    missing = tmp_path / "missing.run"
    refused(run, good[0], missing, "no-such-file", missing)


def test_a_folder(run, good, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    refused(run, good[0], folder, "is-a-folder", folder)


def test_a_file_that_may_not_be_read(run, good, monkeypatch):
    open_path = source.Path.open

    def denied(path, *arguments, **options):
        if str(path) in map(str, good):
            raise PermissionError(13, "Permission denied")
        return open_path(path, *arguments, **options)

    monkeypatch.setattr(source.Path, "open", denied)
    assert_refused(run("eval", *good), "cannot-read", good[1])


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        ("nDGC@10", "unknown-metric"),
        ("ndgc_cut_10", "unknown-metric"),
        ("IPrec", "incomplete-metric"),
        ("nDCG(gain='cube')", "invalid-parameter"),
        ("nDCG@0", "invalid-parameter"),
        ("", "unknown-metric"),
    ],
)
def test_a_metric_that_there_is_not(run, good, metric, code):
    assert_refused(run("eval", *good, "-m", metric), code)


def test_a_family_of_trec_eval_is_a_metric(run, good):
    assert run("eval", *good, "-m", "P").code == 0


def test_a_convention_that_there_is_not(run, good):
    assert_refused(run("eval", *good, "--convention", "trek"), "unknown-convention")


def test_a_seed_below_zero(run, good):
    ended = run("holes", *good, good[1], "--seed", "-1")
    assert_refused(ended, "bad-parameter", "--seed")
