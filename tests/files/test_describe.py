"""Descriptions in figures that are counted by hand here."""

from __future__ import annotations

import hashlib

import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.file_contents import FileContents
from rankgate.measurement.description.describe import describe
from support.wording import raises

QRELS = {"q": {"a": 3, "b": 0, "c": 0}, "r": {"a": 0}}
RUN = {"q": {"a": 2.0, "x": 2.0, "b": 1.0}, "s": {"a": 1.0}}


def test_judgments():
    (result,) = describe(QRELS, as_="qrels").files
    summary = result.judgments
    assert (summary.queries, summary.judgments, summary.documents) == (2, 4, 3)
    assert summary.grades == ((0.0, 3), (3.0, 1))
    assert summary.without_positive == 1
    assert (summary.per_query.least, summary.per_query.median, summary.per_query.most) == (1, 2.0, 3)
    assert summary.sha256 == read_qrels(QRELS).sha256
    assert (result.format, result.sha256) == ("memory", "")


def test_runs():
    (result,) = describe(RUN, as_="run").files
    (summary,) = result.runs
    assert (summary.queries, summary.rows, summary.documents, summary.tied) == (2, 4, 3, 1)
    assert (summary.lowest, summary.highest) == (1.0, 2.0)
    assert summary.sha256 == read_run(RUN).sha256


def test_what_is_in_common_and_what_is_judged():
    result = describe([read_qrels(QRELS), read_run(RUN)], cutoff=3)
    (overlap,) = result.overlaps
    assert overlap.queries == (2, 2, 1)
    assert overlap.documents == (3, 3, 2)
    (holes,) = result.holes
    assert (holes.judged, holes.queries, holes.cutoff) == (pytest.approx(2 / 3), 1, 3)


def test_nothing_in_common_has_no_share():
    (holes,) = describe([read_qrels(QRELS), read_run({"z": {"a": 1.0}})]).holes
    assert (holes.judged, holes.queries) == (None, 0)


def test_a_file_has_its_own_hash(tmp_path):
    path = tmp_path / "q"
    path.write_text("1 0 a 1\n")
    (result,) = describe(path).files
    assert result.sha256 == hashlib.sha256(b"1 0 a 1\n").hexdigest()
    assert result.bytes == 8
    spaced = tmp_path / "r"
    spaced.write_text("1  0  a  1\r\n")
    (spaced_result,) = describe(str(spaced)).files
    assert spaced_result.sha256 != result.sha256
    assert spaced_result.judgments.sha256 == result.judgments.sha256


def test_ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("query_id,doc_id,rater,grade\nq,a,ann,1\nq,a,bob,2\nq,b,ann,\n")
    summary = describe(path).files[0].ratings
    assert (summary.ratings, summary.raters, summary.queries) == (3, 2, 1)
    assert (summary.pairs, summary.shared, summary.ungraded) == (2, 1, 1)


def test_parts_without_figures(tmp_path):
    path = tmp_path / "queries.csv"
    path.write_text("query_id,text\nq,a\nr,b\n")
    result = describe(path).files[0]
    assert (result.queries, result.judgments, result.runs) == (2, None, ())
    contents = FileContents(qrels=read_qrels(QRELS))
    assert describe(contents).files[0].judgments.queries == 2


def test_what_cannot_be_described():
    with raises("missing-input", UsageError):
        describe([])
    with raises("ambiguous-input", UsageError):
        describe(QRELS)
    with raises("unknown-choice", UsageError):
        describe(QRELS, as_="queries")


def test_in_a_notebook():
    result = rankgate.describe([read_qrels({"<q>": {"<b>": 1}}, name="<i>"), read_run(RUN)])
    assert "<i>" not in result._repr_html_()
    assert "judged@10" in result._repr_html_()
    validation = rankgate.validate({"<q>": {"<b>": 1.0, "c": 1.0}}, as_="run")
    assert "&lt;q&gt;" in validation._repr_html_()
    assert "<q>" not in validation._repr_html_()
    assert "no errors" in rankgate.validate(QRELS | {"r": {"a": 1}}, as_="qrels")._repr_html_()
