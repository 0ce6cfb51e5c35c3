"""Results as frames, flat numbers, Markdown, LaTeX and files."""

import json
import re
import sys

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import MissingExtraError
from rankgate.core.present.result_frames import flat_values
from support.wording import raises

QRELS = {f"q{i}": {"a": 3, "b": 1} for i in range(12)}
OLD = {query: {"b": 2.0, "a": 1.0} for query in QRELS}
NEW = {query: {"a": 2.0, "b": 1.0 + 2 * (i % 2)} for i, query in enumerate(QRELS)}
METRICS = ["nDCG@10", "nDCG(gain='exp')@5"]


@pytest.fixture(scope="module")
def results():
    return (
        rankgate.evaluate(QRELS, {"old": OLD, "new": NEW}, METRICS),
        rankgate.compare(QRELS, {"old": OLD}, {"new": NEW}, METRICS),
        rankgate.gate(QRELS, {"old": OLD}, {"new": NEW}),
    )


def test_flat_numbers_have_names_that_trackers_take(results):
    scores, comparison, verdict = results
    means = dict(zip(scores.means["run"], scores.means["nDCG@10"], strict=True))
    assert scores.to_flat() == {
        f"{run}/{name}": scores.means.filter(run=run)[metric][0]
        for run in means
        for name, metric in (("nDCG_at_10", METRICS[0]), ("nDCG_gain_exp_at_5", METRICS[1]))
    }
    row = comparison.to_polars().row(0, named=True)
    flat = comparison.to_flat()
    assert {name: flat[f"nDCG_at_10/{name}"] for name in ("baseline", "delta", "low")} == {
        name: row[name] for name in ("baseline", "delta", "low")
    }
    assert "no-worse/delta" in verdict.to_flat()
    single_run = rankgate.evaluate(QRELS, {"new": NEW}, METRICS).to_flat()  # the same names for any run
    assert single_run["nDCG_at_10"] == means["new"]
    for result in results:
        for name, value in result.to_flat().items():
            assert re.fullmatch(r"[\w./-]{1,250}", name)
            assert isinstance(value, float)


def test_rows_without_names_have_no_flat_numbers():
    with raises("no-table"):
        flat_values(pl.DataFrame({"x": [1, 2]}), "any")


def test_files(results, tmp_path):
    scores, comparison, verdict = results
    for result in results:
        document = json.loads(result.save(tmp_path / "a.json").read_text())
        assert type(result).from_dict(document).to_dict() == result.to_dict()
        for suffix, mark in (("md", "| "), ("tex", "nDCG@10"), ("html", "<html"), ("csv", ",")):
            assert mark in result.save(tmp_path / f"a.{suffix}").read_text()
        assert str(result) == result.save(tmp_path / "a.txt").read_text().rstrip()
    assert pl.read_parquet(comparison.save(tmp_path / "a.parquet")).equals(comparison.to_polars())
    saved = scores.save(tmp_path / "scores.json")  # with the values of queries
    (result,) = rankgate.compare(rankgate.read_scores(saved)).comparisons
    assert result.metrics["delta"][0] == comparison.to_polars()["delta"][0]
    with raises("unknown-format"):
        verdict.save("a.docx")


def test_arrow_markdown_and_latex(results, monkeypatch):
    scores, comparison, _ = results
    assert scores.to_arrow().to_pydict() == scores.to_polars().to_dict(as_series=False)
    assert "| nDCG@10 |" in re.sub(" +", " ", comparison.to_markdown())
    assert "\\begin{tabular}" in comparison.to_latex()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("rankgate.core.errors.find_spec", lambda _: None)
    with raises("missing-extra", MissingExtraError):
        scores.to_arrow()
