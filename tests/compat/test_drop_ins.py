"""The layers over ranx and ir_measures give the numbers of these libraries."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from compat.documented import of_ir_measures, of_ranx
from rankgate.compat import ir_measures, ranx
from rankgate.errors import UsageError
from support.wording import raises

STORED = json.loads(Path(__file__).with_name("documented.json").read_text())
OURS = {"ranx": lambda: of_ranx(ranx), "ir_measures": lambda: of_ir_measures(ir_measures)}
THEIRS = {"ranx": of_ranx, "ir_measures": of_ir_measures}


def equal(ours, theirs, where=""):
    """Compare nested values, numbers to 12 digits."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key, value in theirs.items():
            equal(ours[key], value, f"{where}/{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for place, value in enumerate(theirs):
            equal(ours[place], value, f"{where}/{place}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=1e-12), where
    else:
        assert ours == theirs, where


@pytest.fixture(scope="module", params=OURS)
def both(request):
    return request.param, OURS[request.param]()


def test_documented_examples_have_the_printed_values(both):
    library, ours = both
    equal(ours, STORED[library])


def test_documented_examples_have_the_values_of_the_library(both):
    library, ours = both
    theirs = pytest.importorskip(library, reason=f"{library} is not installed; see oracle/")
    equal(ours, THEIRS[library](importlib.import_module(theirs.__name__)))


def test_the_figures_of_their_pages():
    """README of ranx, and getting-started of ir_measures."""
    assert STORED["ranx"]["one"] == pytest.approx(0.7861, abs=5e-5)
    assert STORED["ranx"]["several"] == pytest.approx({"map@5": 0.6416, "mrr": 0.75}, abs=1e-4)
    qrels = [
        ir_measures.Qrel("q0", "d0", 1, iteration="0"),
        ir_measures.Qrel("q0", "d0", 1, iteration="1"),
        ir_measures.Qrel("q0", "d1", 1, iteration="0"),
    ]
    measure = ir_measures.alpha_nDCG @ 10
    for document, printed in (("d0", 0.8637574337885664), ("d1", 0.4318787168942832)):
        run = [ir_measures.ScoredDoc("q0", document, 1)]
        assert measure.calc_aggregate(qrels, run) == pytest.approx(printed, abs=1e-12)


def test_measures_are_imported_by_name():
    names: dict[str, object] = {}
    exec("from rankgate.compat.ir_measures import *", names)  # noqa: S102 - as their pages do
    assert str(names["nDCG"]) == "nDCG"
    assert {ir_measures.MAP, ir_measures.AP} == {ir_measures.parse_measure("AP")}
    with pytest.raises(AttributeError):
        _ = ir_measures.NoMeasure


def test_frames_are_taken():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    run = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [2.0, 1.0]})
    assert ir_measures.RR.calc_aggregate(qrels, run) == 0.5
    frame = run.rename(columns={"query_id": "q_id"})
    assert ranx.evaluate(ranx.Qrels({"q": {"a": 1}}), ranx.Run.from_df(frame), "mrr") == 0.5
    assert len(ranx.Run.from_df(frame).to_dataframe()) == 2


@pytest.mark.parametrize("suffix", ["json", "trec", "parquet"])
def test_files_come_back(tmp_path, suffix):
    qrels, run = ranx.Qrels({"q": {"a": 1}}), ranx.Run({"q": {"a": 2.0, "b": 1.0}}, name="mine")
    qrels.save(str(tmp_path / f"q.{suffix}"))
    run.save(str(tmp_path / f"r.{suffix}"))
    assert ranx.Qrels.from_file(tmp_path / f"q.{suffix}").to_dict() == qrels.to_dict()
    assert ranx.Run.from_file(tmp_path / f"r.{suffix}").to_dict() == run.to_dict()


def test_what_the_layers_lack_is_refused():
    qrels, run = ranx.Qrels({"q": {"a": 1}}), ranx.Run({"q": {"a": 1.0}})
    with raises("unknown-test", UsageError):
        ranx.compare(qrels, [run, run], "mrr", stat_test="tukey")
    with raises("unknown-fusion-method", UsageError):
        ranx.fuse([run, run], method="nothing")


def test_a_level_of_relevance_lowers_grades():
    qrels = ranx.Qrels({"q": {"a": 1, "b": 3}})
    qrels.set_relevance_level(2)
    assert qrels["q"] == {"a": 0, "b": 2}
    assert (len(qrels), list(qrels.keys())) == (1, ["q"])
