"""From runs to judgments in Python: pool, sheets, collect, agree, resolve, evaluate."""

import csv
import json

import polars as pl

import rankgate
from rankgate.core.present.write_results import FORMS, render_result

OLD = {"q": {"<a>": 3.0, "b": 2.0, "c": 1.0}, "r": {"m": 2.0, "n": 1.0}}
NEW = {"q": {"b": 3.0, "d": 2.0}, "r": {"n": 2.0, "m": 1.0}}
TRUTH = {"<a>": 0, "b": 3, "c": 1, "d": 2, "m": 1, "n": 3}


def test_the_whole_way(tmp_path):
    result = rankgate.pool([OLD, NEW], rankgate.PoolDesign(depth=3))
    assert len(result.table) == 6
    assert "&lt;a&gt;" in result._repr_html_()
    paths = rankgate.sheets(result, ["ann", "bob"], per_document=2, overlap=0).write(tmp_path / "s")
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["grade"] = TRUTH[row["document"]] - (path.stem == "bob" and row["document"] == "n")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    collected = rankgate.collect(paths, pool=result)
    assert "12 grades by 2 raters" in collected._repr_html_()
    agreed = rankgate.agree(collected.ratings)
    assert agreed.found.coefficients["raw agreement"].value == 5 / 6
    assert "6 of 6 pairs have two grades or more" in agreed._repr_html_()
    judged = rankgate.resolve(collected.ratings, "mean")
    assert judged.qrels.table.filter(pl.col("doc_id") == "n")["grade"].to_list() == [2.5]
    assert "6 of 6 pairs resolved by mean" in judged._repr_html_()
    values = rankgate.evaluate(judged.qrels, {"old": OLD, "new": NEW}, ["nDCG@3"])
    assert values.means["nDCG@3"][1] > values.means["nDCG@3"][0]


def test_what_runs_lose():
    result = rankgate.reusability({"q": {"<a>": 1, "b": 1}}, [OLD, NEW], ["R@3"], depth=3)
    assert result.table["loss"].to_list() == [0.0, 0.0]
    assert "run1" in result._repr_html_()


def test_results_come_back_from_json(tmp_path):
    pooled = rankgate.pool([OLD, NEW], rankgate.PoolDesign(depth=3, strata="1:1,3:0.5"))
    (path,) = rankgate.sheets(pooled, ["ann"]).write(tmp_path / "a.csv")
    for result in (
        pooled,
        rankgate.reusability({"q": {"<a>": 1, "b": 1}}, [OLD, NEW], ["R@3"], depth=3),
        rankgate.collect([path], pool=pooled),
    ):
        restored = type(result).from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
        assert restored.to_dict() == result.to_dict()
        for form in FORMS:
            assert render_result(restored, form) == render_result(result, form)
