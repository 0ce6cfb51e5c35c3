"""The layers over ranx and ir_measures give the numbers of these libraries."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from compat.documented import of_ir_measures, of_ranx
from compat.surfaces import imported, surface
from rankgate.compat import ir_measures, ranx
from rankgate.core.errors import InputError, UsageError
from support.wording import raises

SURFACES = json.loads(Path(__file__).with_name("surfaces.json").read_text())
GUIDES = Path(__file__).parents[2] / "docs" / "guides" / "moving"
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
        for index, value in enumerate(theirs):
            equal(ours[index], value, f"{where}/{index}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=1e-12), where
    else:
        assert ours == theirs, where


@pytest.fixture(scope="module", params=OURS)
def both(request):
    return request.param, OURS[request.param]()


def test_documented_examples_have_the_printed_values(both):
    library, rankgate_values = both
    equal(rankgate_values, STORED[library])


@pytest.mark.parametrize(
    "both", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in OURS], indirect=True
)
def test_documented_examples_have_the_values_of_the_library(both):
    library, rankgate_values = both
    equal(rankgate_values, THEIRS[library](imported(library)))


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
    import pandas as pd

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


def is_there(module, name):
    """True if a layer has a name, or a class of it a member; measures count by ``__all__``."""
    first, _, member = name.partition(".")
    value = vars(module).get(first)
    return first in module.__all__ and (not member or hasattr(value, member))


@pytest.mark.parametrize("library", SURFACES)
def test_each_public_name_is_there_or_is_named_in_the_guide(library):
    module = importlib.import_module(f"rankgate.compat.{library}")
    differs = (GUIDES / f"{library}.md").read_text().split("## What differs")[1]
    missing = [
        name
        for name in SURFACES[library]["names"]
        if not is_there(module, name)
        and f"`{name}`" not in differs
        and f"`{name.partition('.')[0]}`" not in differs
    ]
    assert missing == []
    assert SURFACES[library]["version"]


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in SURFACES]
)
def test_the_stored_names_are_those_of_the_library(library):
    assert surface(library) == SURFACES[library]["names"]


def test_subtopics_of_judgments_are_read():
    judged = list(ir_measures.read_trec_qrels("q 1 a 1\nq 2 a 2\n\nq 1 b 0"))
    assert [(row.iteration, row.doc_id, row.relevance) for row in judged] == [
        ("1", "a", 1),
        ("2", "a", 2),
        ("1", "b", 0),
    ]
    with raises("wrong-shape", InputError) as error:
        list(ir_measures.read_trec_qrels("q 0 a 1\nq 0 b\n"))
    assert error.value.line == 2


def test_one_measure_has_a_number_as_its_mean():
    mean, values = (ir_measures.P @ 5).calc({"q": {"a": 1}}, {"q": {"a": 1.0}})
    assert mean == 1 / 5
    assert [(row.query_id, row.value) for row in values] == [("q", 1 / 5)]


def test_measures_are_defined_by_functions():
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0, "b": 2.0, "c": 0.5}}
    size = ir_measures.define_byquery(lambda _qrels, ranking: len(ranking), name="size")
    assert size.calc_aggregate(qrels, run) == 3 / 2  # a query without results has 0
    assert str(size @ 2) == "size@2"
    means = ir_measures.calc_aggregate([size @ 2, ir_measures.RR], qrels, run)
    assert list(means.values()) == [2 / 2, 1 / 4]
    with raises("unknown-parameter", UsageError):
        ir_measures.define(lambda *_: [], "none", support_cutoff=False) @ 2


def test_queries_without_documents_stay_in_fused_runs():
    table = {"1": {"a": 2.0, "b": 1.0}, "2": {}}
    merged = ranx.fuse([ranx.Run(table), ranx.Run(table)])
    assert merged.to_dict() == {"1": {"a": 1.0, "b": 0.0}, "2": {}}
    assert merged.size == 2


def test_runs_are_completed_sorted_and_normalised():
    run = ranx.Run({"3": {"a": 1.0}, "2": {"a": 1.0, "b": 3.0}})
    run.make_comparable(ranx.Qrels({"1": {"a": 1}, "2": {"b": 1}}))
    assert run.to_dict() == {"1": {}, "2": {"b": 3.0, "a": 1.0}}
    assert list(run["2"]) == ["b", "a"]
    assert ranx.normalize(run).to_dict() == {"1": {}, "2": {"b": 1.0, "a": 0.0}}


def test_arrays_are_evaluated():
    qrels = np.array([[[12, 5], [25, 3]], [[11, 6], [22, 1]]])
    ranked = [[12, 23, 25, 36, 32, 35], [12, 11, 25, 36, 22, 35]]
    run = np.array([[[doc, 0.0] for doc in row] for row in ranked])
    assert ranx.evaluate(qrels, run, "mrr") == (1 + 1 / 2) / 2
    assert ranx.evaluate(qrels, run, "precision@5", return_mean=False).tolist() == [2 / 5, 2 / 5]


def test_the_frame_of_a_report_names_models_as_the_library_does():
    run = ranx.Run({"q": {"a": 1.0}}, name="one")
    report = ranx.compare(ranx.Qrels({"q": {"a": 1}}), [run, ranx.Run(run.to_dict())], "mrr")
    assert list(report.to_dataframe().columns) == ["model_names", "mrr"]
    assert report.get_stat_test_label("student") == "paired Student's t-test"


def test_reports_name_their_test_and_runs_know_their_order():
    qrels = ranx.Qrels({f"q{i}": {"a": 1} for i in range(9)})
    runs = [
        ranx.Run({f"q{i}": {"a": 1.0, "b": score} for i in range(9)}, name=str(score)) for score in (0.5, 2.0)
    ]
    for test, name in (("student", "Student's t-test"), ("fisher", "Fisher's randomization test")):
        assert name in ranx.compare(qrels, runs, ["mrr"], stat_test=test).to_latex()
    run = ranx.Run({"q": {"a": 1.0, "b": 2.0}})
    assert not run.sorted
    run.sort()
    assert run.sorted
    run.add_score("q", "c", 3.0)
    assert not run.sorted


def test_measures_by_query_need_no_documents():
    import pandas as pd

    qrels = pd.DataFrame({"query_id": ["1", "1", "2"], "relevance": [1, 0, 1]})
    run = pd.DataFrame({"query_id": ["1", "2", "2"], "score": [1.0, 2.0, 1.0]})
    share = ir_measures.define_byquery(lambda grades, ranking: len(ranking) / len(grades), "share")
    assert share.calc_aggregate(qrels, run) == (1 / 2 + 2 / 1) / 2


def test_equal_measures_are_equal_in_any_order_of_gains():
    first, second = (ir_measures.nDCG(gains=gains) for gains in ({0: 1, 1: 2}, {1: 2, 0: 1}))
    assert first == second
    assert hash(first) == hash(second)


def test_several_numbers_of_set_f_are_several_measures():
    measures = ir_measures.parse_trec_measure("set_F.1.0,0.5,2.4")
    assert [str(measure) for measure in measures] == [
        str(ir_measures.parse_trec_measure(f"set_F.{beta}")[0]) for beta in ("1.0", "0.5", "2.4")
    ]
