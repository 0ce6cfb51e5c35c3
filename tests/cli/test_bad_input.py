"""Bad input: one line that says what, where and how to mend it; status 2; nothing half written."""

import gzip
import random

import pytest
import zstandard

from rankgate.data import source

GOOD_QRELS = b"1 0 a 1\n1 0 b 0\n"
GOOD_RUN = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"
LONG_RUN = b"".join(
    b"%d Q0 d%d %d %d t\n" % (query, random.Random(query * 999 + rank).getrandbits(60), rank, -rank)
    for query in range(20)
    for rank in range(500)
)  # fmt: skip
WRONG_FILE = "see whether this is the right file."

RUNS = {
    "a field too few": (
        b"1 Q0 a 1 2 t\n1 Q0 b 1 t\n",
        "{}:2: 5 fields, expected 6 (query_id Q0 doc_id rank score tag).",
    ),
    "a field too many": (
        b"1 Q0 a 1 2 t\n1 Q0 b 1 1 t t\n",
        "{}:2: 7 fields, expected 6 (query_id Q0 doc_id rank score tag).",
    ),
    "a score that is no number": (
        b"1 Q0 a 1 2 t\n1 Q0 b 1 high t\n",
        "{}:2: score 'high' is not a number; write one such as 12.5.",
    ),
    "a score that is nan": (
        b"1 Q0 a 1 nan t\n",
        "{}:1: score 'nan' is not a finite number; write one such as 12.5.",
    ),
    "a score that is infinite": (
        b"1 Q0 a 1 2 t\n1 Q0 b 1 -inf t\n",
        "{}:2: score '-inf' is not a finite number; write one such as 12.5.",
    ),
    "a judged document twice": (
        b"1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n",
        (
            "{}:3: document 'a' is ranked twice for query '1' (first on line 1); "
            "remove one of the two lines."
        ),
    ),
    "an unjudged document twice": (
        b"1 Q0 a 1 3 t\n1 Q0 u 2 2 t\n1 Q0 u 3 1 t\n",
        (
            "{}:3: document 'u' is ranked twice for query '1' (first on line 2); "
            "remove one of the two lines."
        ),
    ),
    "an empty file": (b"", "{}: the file is empty; see whether writing it went through."),
    "blank lines": (b"\n \n", "{}: the file is empty; see whether writing it went through."),
    "comments": (
        b"# run of Monday\n",
        "{}: the file holds comments only; see whether writing it went through.",
    ),
    "no query in common": (
        b"q7 Q0 a 1 3 t\n",
        (
            "{}: no query of this run has judgments: it has queries such as 'q7', "
            "the judgments '1'; check that both use the same ids."
        ),
    ),
    "bytes of another alphabet": (
        "1 Q0 a 1 3 t\n1 Q0 é 2 2 t\n".encode("latin1"),
        "{}:2: not UTF-8 text; convert the file, for example with iconv -f latin1 -t utf-8.",
    ),
    "junk": (
        random.Random(1).randbytes(100_000),
        f"{{}}: NUL bytes, where lines of text are needed; {WRONG_FILE}",
    ),
    "junk without NUL": (
        b"\x07\x08 \x03\n" * 1000,
        f"{{}}:1: control characters, where lines of text are needed; {WRONG_FILE}",
    ),
    "half a gzip file": (
        gzip.compress(LONG_RUN)[:20_000],
        "{}: the compressed file ends too early; copy it again.",
    ),
    "the head of a gzip file": (
        gzip.compress(LONG_RUN)[:5],
        "{}: the compressed file ends too early; copy it again.",
    ),
    "half a zstd file": (
        zstandard.compress(LONG_RUN)[:20_000],
        "{}: the compressed file ends too early; copy it again.",
    ),
    "the head of a zstd file": (
        zstandard.compress(LONG_RUN)[:6],
        "{}: the compressed file ends too early; copy it again.",
    ),
}


def refused(run, qrels, path, *words):
    """The one line of a refusal, after checking all that every refusal has in common."""
    target = path.parent / "out" / "result.txt"
    target.parent.mkdir()
    target.write_text("old")
    ended = run("eval", qrels, path, *words, "-o", target)
    assert (ended.code, ended.out) == (2, "")
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]
    (line,) = ended.err.splitlines()
    assert line.startswith("rankgate: ")
    return line.removeprefix("rankgate: ")


@pytest.fixture
def good(tmp_path):
    """Judgments and a run with nothing wrong."""
    qrels, path = tmp_path / "good.qrels", tmp_path / "good.run"
    qrels.write_bytes(GOOD_QRELS)
    path.write_bytes(GOOD_RUN)
    return qrels, path


@pytest.mark.parametrize("kind", RUNS)
def test_a_bad_run(run, good, tmp_path, kind):
    content, result = RUNS[kind]
    bad = tmp_path / "bad.run"
    bad.write_bytes(content)
    assert refused(run, good[0], bad) == result.format(bad)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1 0 a 1\n1 0 b\n", "{}:2: 3 fields, expected 4 (query_id iteration doc_id grade)."),
        (b"1 0 a 1\n1 0 b good\n", "{}:2: grade 'good' is not a number; write one such as 12.5."),
        (
            b"1 0 a 1\n1 0 a 0\n",
            (
                "{}:2: document 'a' is judged twice for query '1' (first on line 1); "
                "remove one of the two lines."
            ),
        ),
        (b"", "{}: the file is empty; see whether writing it went through."),
    ],
)
def test_bad_judgments(run, good, tmp_path, content, expected):
    bad = tmp_path / "bad.qrels"
    bad.write_bytes(content)
    assert refused(run, bad, good[1]) == expected.format(bad)


def test_a_line_that_does_not_end(run, good, tmp_path):
    bad = tmp_path / "long.run"
    with bad.open("wb") as file:
        file.write(GOOD_RUN)
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    result = "a line of more than 16 MB, where a line holds one document;"
    assert refused(run, good[0], bad) == f"{bad}:3: {result} {WRONG_FILE}"
    bad.unlink()


def test_a_zstd_file_cut_between_its_blocks(run, good, tmp_path):
    """What is there unpacks into whole lines; only the frame tells that more was to come."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = packer.compress(GOOD_RUN) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    bad = tmp_path / "cut.run.zst"
    bad.write_bytes(packed)
    assert (
        refused(run, good[0], bad) == f"{bad}: the compressed file ends too early; copy it again."
    )


def test_a_damaged_gzip_file(run, good, tmp_path):
    packed = gzip.compress(LONG_RUN)
    bad = tmp_path / "bad.run.gz"
    bad.write_bytes(packed[:1000] + b"\xff" * 50 + packed[1050:])
    line = refused(run, good[0], bad)
    assert line.startswith(f"{bad}: the compressed file is damaged (")
    assert line.endswith("; copy it again.")


def test_a_missing_file(run, good, tmp_path):
    missing = tmp_path / "missing.run"
    assert refused(run, good[0], missing) == f"{missing}: no such file; check the path."


def test_a_folder(run, good, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    assert refused(run, good[0], folder) == f"{folder}: a folder, where a file is needed."


def test_a_file_that_may_not_be_read(run, good, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(source.Path, "open", denied)
    ended = run("eval", *good)
    assert ended.code == 2
    assert ended.err == f"rankgate: {good[1]}: cannot be opened: Permission denied.\n"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("nDGC@10", "unknown metric 'nDGC'; did you mean nDCG?"),
        ("ndgc_cut_10", "unknown metric 'ndgc_cut_10'"),
        ("P", None),
        ("IPrec", "IPrec needs a recall, such as IPrec@0.5"),
        ("nDCG(gain='cube')", "nDCG: gain='cube' must be one of ('linear', 'exp'"),
        ("nDCG@0", "nDCG: cutoff=0 must be a whole number of at least 1"),
        ("", "unknown metric"),
    ],
)
def test_a_metric_that_there_is_not(run, good, metric, expected):
    ended = run("eval", *good, "-m", metric)
    if expected is None:  # trec_eval's family
        assert ended.code == 0
        return
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"rankgate: {expected}")
    assert ended.err.count("\n") == 1


def test_a_convention_that_there_is_not(run, good):
    ended = run("eval", *good, "--convention", "trek")
    assert ended.code == 2
    assert "unknown convention 'trek'; did you mean trec?" in ended.err


def test_a_seed_below_zero(run, good):
    ended = run("holes", *good, good[1], "--seed", "-1")
    assert ended.code == 2
    assert "'--seed': -1 is not in the range x>=0" in ended.err
