"""Scores of models, one number per line, become a run together with the file of features."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data import contents_of, read_run
from rankgate.data.formats.registry import detect_format
from rankgate.data.query_tags import read_tags
from rankgate.data.streams.source import open_source
from support.wording import raises

FEATURES = "3 qid:1 1:0.5 # a\n0 qid:1 1:1 # b\n\n2 qid:2 1:4 2:1 # a\n0 qid:2 2:3 # c\n"


@pytest.fixture
def ltr(tmp_path):
    (tmp_path / "test.letor").write_text(FEATURES)
    (tmp_path / "model.txt").write_text("-1\n2.5e-1\r\n7\n\n.5")
    return str(tmp_path / "test.letor"), str(tmp_path / "model.txt")


def test_scores_are_of_the_rows_of_the_file_of_features(ltr):
    result = rankgate.evaluate(*ltr, ["RR", "P@1"])
    assert result.runs[0].per_query("RR") == {"1": 1 / 2, "2": 1.0}
    assert detect_format(open_source(ltr[1]))[0].name == "model-scores"


def test_every_verb_takes_them(ltr, run):
    qrels, model = ltr
    explained = rankgate.explain(qrels, model, "1", "RR")
    assert explained.value == 1 / 2
    new = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "c": 1.0}}
    compared = rankgate.compare(qrels, model, new, ["RR"])
    assert compared.only.metrics["delta"].to_list() == [0.25]
    for arguments in (
        ["explain", qrels, model, "--query", "1", "-m", "RR"],
        ["reconcile", qrels, model, "-m", "RR", "--value", "0.75"],
        ["eval", qrels, model, "-m", "RR", "--bounds"],
    ):
        assert run(*arguments).code == 0


def test_ranklib_writes_query_and_document_too(ltr, tmp_path):
    (tmp_path / "r.txt").write_text("1\t0\t-1\n1\t1\t0.25\n2\t0\t7\n2\t1\t0.5\n")
    result = rankgate.evaluate(ltr[0], f"model-scores:{tmp_path / 'r.txt'}", ["RR"])
    assert result.runs[0].means["RR"] == 0.75


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("1\n2\n3\n", "wrong-shape", None),
        ("1\n2\n3\n4\n5\n", "wrong-shape", None),
        ("1\nx\n3\n4\n", "not-a-number", 2),
        ("1\n2\nnan\n4\n", "not-a-number", 3),
        ("1\n2 3\n3\n4\n", "not-a-number", 2),
    ],
)
def test_what_does_not_fit_is_refused(ltr, tmp_path, text, code, line):
    (tmp_path / "bad.txt").write_text(text)
    with raises(code, InputError) as error:
        rankgate.evaluate(ltr[0], str(tmp_path / "bad.txt"), ["RR"])
    assert error.value.line == line


def test_alone_they_have_no_ids(ltr):
    with raises("no-ids", InputError):
        contents_of(ltr[1])
    assert read_run(ltr[1]).by_row


def test_lightgbm_has_the_same_numbers(shared, tmp_path):
    """Features of its own example; scores and values are those of LightGBM 4.7.0 in
    ``lightgbm.json``: 5 trees, whose equal scores stay in the order of rows."""
    reference = json.loads((Path(__file__).parent / "lightgbm.json").read_text())
    (tmp_path / "rank.test").write_bytes(
        gzip.decompress((shared / "lightgbm-lambdarank/rank.test.gz").read_bytes())
    )
    sizes = (shared / "lightgbm-lambdarank/rank.test.query").read_bytes()
    (tmp_path / "rank.test.query").write_bytes(sizes)
    np.savetxt(tmp_path / "model.txt", reference["scores"], fmt="%.17g")
    result = rankgate.evaluate(
        str(tmp_path / "rank.test"),
        str(tmp_path / "model.txt"),
        [f"nDCG(gain='exp')@{k}" for k in (1, 3, 5, 10)],
        rankgate.convention("trec", {"ties": "file_order"}),
    )
    for k, value in reference["ndcg"].items():
        assert result.runs[0].means[f"nDCG(gain='exp')@{k}"] == pytest.approx(value, abs=1e-12)


def test_tags_of_features_are_quarters_of_queries_by_their_means(tmp_path):
    rows = "".join(f"1 qid:{q} 1:{q} 2:5\n0 qid:{q} 1:{q + 2} 2:5\n" for q in range(1, 9))
    (tmp_path / "x").write_text(rows)
    feature_names = ["feature_1", "feature_2", "other"]
    table = read_tags(tmp_path / "x", pl.Series([]), feature_names).sort("query_id")
    assert table["feature_1"].to_list() == [
        *["1: 2 to 3"] * 2,
        *["2: 4 to 5"] * 2,
        *["3: 6 to 7"] * 2,
        *["4: 8 to 9"] * 2,
    ]
    assert table["feature_2"].unique().to_list() == ["1: 5"]
    for unknown_names in (["intent"], ["feature_3"]):
        with raises("missing-column", InputError):
            read_tags(tmp_path / "x", pl.Series([]), unknown_names)


def test_slices_by_feature(ltr, run):
    result = run(
        "compare",
        ltr[0],
        ltr[1],
        ltr[0].replace("test.letor", "b.txt"),
        "-m",
        "RR",
        "--tags",
        ltr[0],
        "--slice",
        "feature_1",
    )
    assert result.code == 2  # there is no b.txt
    (open_source(ltr[1]).path.parent / "b.txt").write_text("2\n1\n2\n1\n")
    result = run(
        "compare",
        ltr[0],
        ltr[1],
        ltr[0].replace("test.letor", "b.txt"),
        "-m",
        "RR",
        "--tags",
        ltr[0],
        "--slice",
        "feature_1",
        "--format",
        "json",
    )
    assert "1: 0.75" in result.out
    assert "2: 2" in result.out


def test_tags_in_the_ids_of_queries():
    ids = pl.Series("query_id", ["106_1", "106_12", "x"])
    table = read_tags(r"ids:(?P<topic>\d+)_(?P<turn>\d+)", ids)
    assert table.rows() == [("106_1", "106", "1"), ("106_12", "106", "12"), ("x", None, None)]
    for pattern in ("ids:(", r"ids:\d+"):
        with raises("invalid-syntax", UsageError):
            read_tags(pattern, ids)


RANKLIB = "1\t0\t-1\n1\t1\t0.25\n2\t0\t7\n2\t1\t0.5\n"


def test_scores_of_ranklib_are_recognised(ltr, tmp_path):
    (tmp_path / "r.txt").write_text(RANKLIB)
    result = rankgate.evaluate(ltr[0], str(tmp_path / "r.txt"), ["RR"])
    assert result.runs[0].means["RR"] == 0.75


@pytest.mark.parametrize(
    "text",
    [
        "1\t1\t0.25\n1\t0\t-1\n2\t0\t7\n2\t1\t0.5\n",  # two rows exchanged
        "1\t0\t-1\n1\t1\t0.25\n3\t0\t7\n3\t1\t0.5\n",  # a query that the features lack
        "2\t0\t7\n2\t1\t0.5\n1\t0\t-1\n1\t1\t0.25\n",  # queries in another order
        "1\t0\t-1\n0.25\n2\t0\t7\n2\t1\t0.5\n",
    ],
)
def test_queries_and_documents_of_ranklib_are_checked(ltr, tmp_path, text):
    (tmp_path / "r.txt").write_text(text)
    with raises("wrong-order", InputError):
        rankgate.evaluate(ltr[0], f"model-scores:{tmp_path / 'r.txt'}", ["RR"])
