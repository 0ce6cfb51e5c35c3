"""Judgments that look like TREC's: labels, samples, subtopics; files of them are in tests/door."""

from __future__ import annotations

import io

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of, read_qrels
from rankgate.data.files.conversion import convert
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.streams.source import InputFile
from support.wording import raises

# NTCIR-2's sample page; the fourth field is the binary judgment
LETTERS = b"0001\tC\tgakkai-0000010176\t0\n0001\tA\tgakkai-0000010187\t1\n0002\tB\tgakkai-1\t0\n"
LEVELS = b"0001 clueweb12-1 L0\n0001 clueweb12-2 L2\n"
PRELS = b"1 GX000-00 1 2 0.25\n1 GX000-01 0 0 0\n2 GX000-00 -1 1 1.0\n"
SUBTOPICS = b"51 2 d1 1\n51 3 d1 2\n51 0 d2 0\n"


def read(data, name=None):
    return contents_of(InputFile(None, data), name)


def again(name, data):
    out = io.BytesIO()
    lost = find_format(name).write(read(data, name), out)
    return out.getvalue(), lost


def test_labels_are_written_with_their_level():
    letters = (3.0, "S"), (2.0, "A"), (1.0, "B"), (0.0, "C")
    assert read(LETTERS).qrels.scale == Scale(0.0, 3.0, letters)
    assert again("ntcir", LEVELS) == (LEVELS, ())
    data, lost = again("ntcir", LETTERS)
    assert data.splitlines()[1] == b"0001 gakkai-0000010187 L2"
    assert [loss.what for loss in lost] == ["scale of grades"]
    table = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "grade": [0.5]})
    with raises("grade-outside-scale", InputError):
        find_format("ntcir").write(FileContents(qrels=Qrels(table)), io.BytesIO())


def test_probabilities_are_kept():
    table = read(PRELS).qrels.table
    assert table.columns == ["query_id", "doc_id", "grade", "inclusion", "stratum"]
    data, lost = again("prels", PRELS)
    assert (read(data, "prels").qrels.table.rows(), lost) == (table.rows(), ())


def test_judgments_without_probabilities_are_reported():
    table = pl.DataFrame({"query_id": ["1"], "doc_id": ["a"], "grade": [2.0]})
    out = io.BytesIO()
    lost = find_format("prels").write(FileContents(qrels=Qrels(table)), out)
    assert out.getvalue() == b"1 a 2 0 1.0\n"
    assert [(loss.what, loss.count) for loss in lost] == [
        ("probabilities that are not known, written as 1", 1)
    ]


def test_subtopics_are_kept(tmp_path):
    qrels = read(SUBTOPICS).qrels
    assert qrels.by_document().table.rows() == [("51", "d1", 2.0), ("51", "d2", 0.0)]
    assert again("trec-subtopics", SUBTOPICS) == (SUBTOPICS, ())
    path = tmp_path / "x.qrels"
    path.write_bytes(SUBTOPICS)
    conversion = convert(path, tmp_path / "y.txt", to="trec")
    assert read_qrels(tmp_path / "y.txt").table.rows() == [("51", "d1", 2.0), ("51", "d2", 0.0)]
    assert [(loss.what, loss.count) for loss in conversion.losses] == [
        ("judgments by subtopic; each document is written with its highest grade", 3)
    ]
    assert convert(path, tmp_path / "z.txt", to="trec-subtopics").losses == ()
    assert (tmp_path / "z.txt").read_bytes() == SUBTOPICS


def test_metrics_want_one_grade_a_document(tmp_path):
    path = tmp_path / "x.qrels"
    path.write_bytes(SUBTOPICS)
    for qrels in (path, read(SUBTOPICS).qrels):
        with raises("wrong-type", InputError):
            rankgate.evaluate(qrels, {"51": {"d1": 1.0}})


def test_the_same_judgments_have_the_same_hash():
    plain = read(b"1 0 a 1\n1 0 b 0\n").qrels
    assert plain.sha256 == read(b"1 0 b 0\n1 0 a 1\n").qrels.sha256
    other_qrels = read(SUBTOPICS.replace(b"51 3", b"51 4"), "trec-subtopics").qrels
    reversed_lines = b"".join(reversed(SUBTOPICS.splitlines(keepends=True)))
    assert read(reversed_lines).qrels.sha256 == read(SUBTOPICS).qrels.sha256 != other_qrels.sha256


def test_real_judgments_by_subtopic(shared):
    folder = shared / "web-diversity-2009-2010"
    for year, rows, topics in (("2009", 27_964, 50), ("2010", 9_006, 48)):
        table = contents_of(folder / year / f"{year}.diversity.qrels.gz").qrels.table
        assert (len(table), table["query_id"].n_unique()) == (rows, topics)


@pytest.mark.parametrize("queries", ["1 1 1 2 2 3", "1 2 1 2 3 3", "1 2 3 4 5 6", "a.b a.b b b b b"])
def test_pieces_of_judgments_are_the_whole(monkeypatch, queries):
    """Whatever a piece is: whole queries, or everything where a query comes back."""
    ids = [query.replace(".", " ") for query in queries.split()]
    table = pl.DataFrame({"query_id": ids, "doc_id": list("abcdef"), "grade": [1.0, 0, 2, 0, 1, 3]})
    result = set()
    for piece in (1, 2, 3, 100):
        monkeypatch.setattr("rankgate.data.formats.trec.trec_writer._ROWS_PER_WRITE", piece)
        out = io.BytesIO()
        result.add((find_format("trec").write(FileContents(qrels=Qrels(table)), out), out.getvalue()))
    grades = (1, 0, 2, 0, 1, 3)
    lines = zip(queries.replace(".", "_").split(), "abcdef", grades, strict=True)
    ((losses, data),) = result
    assert data.decode() == "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in lines)
    assert len(losses) == ("." in queries)
