"""The interface of pytrec_eval: output, input and errors of the library."""

from __future__ import annotations

import json
import math
import random
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from rankgate.compat import pytrec_eval
from rankgate.measurement.evaluation.evaluate import evaluate
from support.wording import refused

PRINTED = json.loads(Path(__file__).with_name("printed.json").read_text(encoding="utf-8"))
COUNTS = "runid num_q num_ret num_rel num_rel_ret"
QRELS = {"1": {"a": 1, "b": 0}}
RUN = {"1": {"a": 2.0, "b": 1.0}}


def values(measures, run=RUN, qrels=QRELS, **options):
    return pytrec_eval.RelevanceEvaluator(qrels, measures, **options).evaluate(run)


@pytest.mark.parametrize("case", PRINTED["cases"], ids=lambda case: case["title"])
def test_all_measures_have_the_values_of_the_library(case):
    rankgate_values = values(pytrec_eval.supported_measures, case["run"], case["qrels"], **case["options"])
    assert list(rankgate_values) == [query for query in case["run"] if query in case["qrels"]]
    for query, position in zip(rankgate_values, range(len(rankgate_values)), strict=True):
        expected = {name: column[position] for name, column in case["values"].items()}
        assert rankgate_values[query] == pytest.approx(expected, rel=0, abs=1e-9, nan_ok=True)
        assert list(rankgate_values[query]) == list(expected)
        assert {type(value) for value in rankgate_values[query].values()} == {float}


def test_the_measures_are_those_of_the_library():
    unlisted = {"iprec_at_recall", "P", "recall", "Rprec_mult", "ndcg_cut", "map_cut"}
    families = {"relative_P", "success"} | unlisted
    printed = set(PRINTED["cases"][0]["values"])
    single = {name for name in pytrec_eval.supported_measures if name in printed}
    assert pytrec_eval.supported_measures == single | families
    assert len(pytrec_eval.supported_measures) == 34
    assert pytrec_eval.supported_nicknames["all_trec"] == pytrec_eval.supported_measures
    official = f"{COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall P"
    assert pytrec_eval.supported_nicknames["official"] == set(official.split())


@pytest.mark.parametrize(
    ("measures", "names"),
    [
        ({"P_5", "P.10,3", "P_1,2"}, "P_1 P_2 P_3 P_5 P_10"),
        (["P", "P_5"], "P_5"),
        ({"P_5junk"}, "P_5"),
        ({"ndcg_cut_3", "ndcg_cut.5"}, "ndcg_cut_3 ndcg_cut_5"),
        (
            {"iprec_at_recall_0.1", "iprec_at_recall.0.25,1"},
            "iprec_at_recall_0.10 iprec_at_recall_0.25 iprec_at_recall_1.00",
        ),
        ({"Rprec_mult.0.3,7"}, "Rprec_mult_0.30 Rprec_mult_7.00"),
        ({"set_F.2"}, "set_F"),
        ({"relstring.3", "runid"}, "runid relstring"),
        ({"map.5", "11pt_avg.0.5,1"}, "map 11pt_avg"),
        ({"set"}, f"{COUNTS} utility set_P set_relative_P set_recall set_map set_F"),
        (set(), ""),
    ],
)
def test_measures_are_spelled_in_many_ways(measures, names):
    assert list(values(measures)["1"]) == names.split()


def test_parameters_change_the_value_and_not_the_name():
    expected = (2 + 1) * (1 / 2) / (1 + 2 * (1 / 2))  # the parameter is the square of beta
    assert values({"set_F.2"}) == {"1": {"set_F": pytest.approx(expected)}}
    # the library sorts the parameters, whatever they are
    assert values({"utility.7,5,3,2"}) == {"1": {"utility": 2 + 3 + 7 * (0 + 1 - 2 - 1)}}


def test_counts_are_floats_and_geometric_means_logarithms():
    assert values({"num_ret", "gm_map", "gm_bpref"}, {"1": {"b": 1.0, "a": 0.5}}) == {
        "1": {
            "num_ret": 2.0,
            "gm_map": pytest.approx(math.log(1 / 2)),
            "gm_bpref": pytest.approx(math.log(0.00001)),
        }
    }


def test_near_scores_are_tied_in_32_bits_and_ties_go_by_the_greater_id():
    assert values({"recip_rank"}, {"1": {"a": 0.50000001, "b": 0.5}})["1"]["recip_rank"] == 1 / 2
    assert values({"recip_rank"}, {"1": {"a": 1e300, "b": 1e299}})["1"]["recip_rank"] == 1 / 2
    assert values({"recip_rank"}, {"1": {"a": math.inf, "b": 1.0}})["1"]["recip_rank"] == 1
    assert values({"recip_rank"}, {"1": {"A": 1, "a": 1, "B": 1}})["1"]["recip_rank"] == 1


def test_empty_things_give_empty_results():
    assert values({"map"}, {}) == {}
    assert values({"map"}, {"9": {"a": 1.0}}) == {}
    assert values({"map"}, RUN, {}) == {}
    assert values({"map"}, RUN, {"1": {}}) == {}
    assert values({"map", "num_ret"}, {"1": {}}) == {"1": {"num_ret": 0.0, "map": 0.0}}
    assert values({"map"}, RUN, {"1": {"a": -1}}) == {"1": {"map": 0.0}}


def test_one_evaluator_serves_many_runs():
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map_cut.1,2"})
    other_run = {"1": {"b": 2.0, "a": 1.0}}
    assert evaluator.evaluate(RUN) == {"1": {"map_cut_1": 1.0, "map_cut_2": 1.0}}
    assert evaluator.evaluate(other_run) == {"1": {"map_cut_1": 0.0, "map_cut_2": 0.5}}
    assert evaluator.evaluate(RUN) == {"1": {"map_cut_1": 1.0, "map_cut_2": 1.0}}


@pytest.mark.parametrize("score", [np.float64(1), 1, True])
def test_scores_are_floats_or_ints(score):
    assert values({"map"}, OrderedDict({"1": OrderedDict(a=score)})) == {"1": {"map": 1.0}}
    assert values({"map"}, RUN, {"1": {"a": True}}) == {"1": {"map": 1.0}}


@pytest.mark.parametrize("score", [np.float32(1), np.int64(1), "1", None, [1.0]])
@pytest.mark.parametrize("query", ["1", "unknown"])
def test_other_scores_are_refused(score, query):
    with refused(TypeError):
        values({"map"}, {query: {"a": score}})


@pytest.mark.parametrize("grade", [0.9, 1.0, np.int64(1), "1", None])
def test_grades_that_are_no_ints_are_refused(grade):
    with refused(TypeError):
        values({"map"}, RUN, {"1": {"a": grade}})


@pytest.mark.parametrize("run", [{1: {"a": 1.0}}, {"1": {1: 1.0}}, {"1": [("a", 1.0)]}, [("1", {})]])
def test_runs_that_are_no_dicts_of_dicts_by_strings_are_refused(run):
    with pytest.raises(TypeError):
        values({"map"}, run)


@pytest.mark.parametrize("qrels", [{1: {"a": 1}}, {"1": {1: 1}}, {"1": ["a"]}])
def test_qrels_that_are_no_dicts_of_dicts_by_strings_are_refused(qrels):
    with pytest.raises(TypeError):
        values({"map"}, RUN, qrels)


@pytest.mark.parametrize(
    "measure", ["foo", "rbp", "unj.5", "yaap", "prefs", "ndcg_5", "G.1", "P.0", "P.5,05", "Map"]
)
def test_unknown_measures_and_wrong_parameters_are_refused(measure):
    with refused(ValueError):
        values({measure})


@pytest.mark.parametrize("level", [0, -1, 1.5, "1"])
def test_a_level_is_a_whole_number_above_0(level):
    with refused(TypeError):
        values({"map"}, relevance_level=level)


def test_files_are_parsed_line_by_line():
    assert pytrec_eval.parse_run(["1 Q0 a 1 2.5 t\n", "1\tQ0\tb 2 1 t"]) == {"1": {"a": 2.5, "b": 1}}
    assert pytrec_eval.parse_qrel(iter(["1 0 a 1\r\n", "2 0 a -1"])) == {"1": {"a": 1}, "2": {"a": -1}}
    assert pytrec_eval.parse_run([]) == {}


@pytest.mark.parametrize("line", ["1 Q0 a 1 2", "1 Q0 a 1 2 t u", "# hi", "\n", "1 Q0 a 1 abc t"])
def test_wrong_lines_of_a_run_are_refused(line):
    with refused(ValueError):
        pytrec_eval.parse_run([line])


@pytest.mark.parametrize("line", ["1 0 a", "1 0 a 1 1", "1 0 a 0.5"])
def test_wrong_lines_of_qrels_are_refused(line):
    with refused(ValueError):
        pytrec_eval.parse_qrel([line])


def test_a_document_that_stands_twice_is_refused():
    with refused(AssertionError):
        pytrec_eval.parse_qrel(["1 0 a 1", "1 0 a 1"])
    with refused(AssertionError):
        pytrec_eval.parse_run(["1 Q0 a 1 1 t", "1 Q0 a 1 1 t"])


@pytest.mark.parametrize(("name", "joined"), [("map", 0.75), ("num_ret", 1.5), ("gm_map", math.exp(0.75))])
def test_values_are_joined_by_the_name_of_the_measure(name, joined):
    assert pytrec_eval.compute_aggregated_measure(name, [1.0, 0.5]) == pytest.approx(joined)


def test_nothing_joins_to_nothing():
    assert pytrec_eval.compute_aggregated_measure("num_q", []) == 0
    assert math.isnan(pytrec_eval.compute_aggregated_measure("map", []))
    assert math.isnan(pytrec_eval.compute_aggregated_measure("gm_map", []))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("judged_only", [False, True])
def test_dictionaries_and_tables_are_scored_alike(seed, judged_only):
    """Two ways to the same ranks: counting the scores above, and sorting the table."""
    chance = random.Random(seed)
    names = [f"{chance.choice('aBé')}{i}" for i in range(300)]
    level = 0.5 if seed % 2 else 3e-8  # many ties; ties in 32 bits only
    qrels = {
        str(t): {d: chance.randint(-1, 3) for d in chance.sample(names, chance.choice([3, 100]))}
        for t in range(8)
    }
    run = {str(t): {d: 1 + level * chance.randint(0, 9) for d in chance.sample(names, 200)} for t in range(8)}
    rankgate_values = values(
        {"map", "ndcg", "bpref", "P.5", "infAP"}, run, qrels, judged_docs_only_flag=judged_only
    )
    suffix = "(judged_only=True)" if judged_only else ""
    metric_names = {"map": "AP", "ndcg": "nDCG", "bpref": "Bpref", "infAP": "infAP"}
    scores = evaluate(qrels, run, [f"{name}{suffix}" for name in metric_names.values()], "pytrec_eval")
    for name, metric in metric_names.items():
        expected = scores.runs[0].per_query(f"{metric}{suffix}")
        assert {query: rankgate_values[query][name] for query in rankgate_values} == pytest.approx(expected)
