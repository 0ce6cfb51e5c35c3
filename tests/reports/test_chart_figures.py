"""The figures of pictures are the result's."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

import rankgate
from rankgate.data import read_run
from rankgate.workspace.reports.chart_kinds import find_chart_kind
from rankgate.workspace.reports.chart_results import ChartRequest, compute_result


def _drawn(name, results):
    return find_chart_kind(name).draw(results[find_chart_kind(name).needs]).rows


def test_deltas_are_the_comparison_s_sorted(results):
    result = results["comparison"].only
    rows = _drawn("deltas", results)
    deltas = {row["query_id"]: row["delta"] for row in result.queries.iter_rows(named=True)}
    assert {row["query"]: row["delta"] for row in rows} == deltas
    assert [row["delta"] for row in rows] == sorted(deltas.values(), reverse=True)
    assert math.fsum(deltas.values()) / len(deltas) == pytest.approx(result.metrics["delta"][0])


def test_scatter_has_both_values_of_every_query(results):
    result = results["comparison"].queries.select("query_id", "baseline", "candidate").rows()
    rows = _drawn("scatter", results)
    assert sorted((row["query"], row["baseline"], row["candidate"]) for row in rows) == sorted(result)


def test_cutoffs_are_the_means_at_each_k(results):
    result = results["cutoffs"]
    rows = {(row["run"], row["metric"], row["k"]): row["value"] for row in _drawn("cutoffs", results)}
    assert len(rows) == 2 * len(result.metrics)
    for run in result.runs:
        for label, value in run.means.items():
            metric, k = label.split("@")
            assert rows[run.run, metric, int(k)] == value


def test_forest_has_each_interval(results):
    result = results["comparisons"].comparisons[0].metrics.select("delta", "low", "high").rows()
    assert [(row["delta"], row["low"], row["high"]) for row in _drawn("forest", results)] == result


def test_reconcile_has_each_number_with_all_who_give_it(results):
    result = {group.value: ", ".join(group.conventions) for group in results["reconciliation"].groups}
    rows = {row["value"]: row["conventions"] for row in _drawn("reconcile", results)}
    assert rows == {value: names for value, names in result.items() if value is not None}


def test_lines_of_reconcile_begin_at_the_number_that_most_conventions_give(results):
    groups = [group for group in results["reconciliation"].groups if group.value is not None]
    common = max(groups, key=lambda group: len(group.conventions))
    picture = find_chart_kind("reconcile").draw(results["reconciliation"])
    encodings = [layer["encoding"] for layer in picture.chart.to_dict()["layer"]]
    assert [encoding["x2"]["field"] for encoding in encodings if "x2" in encoding] == ["common"]
    assert {row["common"] for row in picture.rows} == {common.value}


def test_blindspots_has_the_profile(results):
    result = results["blindness"].profile.select("change", "metric", "unmoved").rows()
    rows = [(row["row"], row["column"], row["value"]) for row in _drawn("blindspots", results)]
    assert rows == result


def test_explain_adds_up_to_the_sum(results):
    result = results["explanation"]
    rows = _drawn("explain", results)
    assert math.fsum(row["contribution"] or 0 for row in rows) == pytest.approx(result.summed.value)
    assert math.fsum(row["ideal"] or 0 for row in rows) == pytest.approx(result.norm.value)


def test_judged_and_grades_by_rank_are_counted_right(results):
    first = results["ranks"].systems[0]
    rows = [row for row in _drawn("judged", results) if row["series"] == first]
    # the old list is x (unjudged), b, a, c, d for every query
    assert [row["at"] for row in rows] == [0, 1, 1, 1, 1]
    assert [row["upto"] for row in rows] == [0, 1 / 2, 2 / 3, 3 / 4, 4 / 5]
    result = results["ranks"]
    grades = result.grades.filter(result.grades["system"] == first)
    assert grades.select("rank", "grade", "share").rows() == [
        (1, None, 1.0),
        (2, 1.0, 1.0),
        (3, 3.0, 1.0),
        (4, 0.0, 1.0),
        (5, 2.0, 1.0),
    ]


def test_distributions_have_every_value(results):
    result = results["evaluation"]
    rows = _drawn("distributions", results)
    assert sorted(row["value"] for row in rows) == sorted(
        value for run in result.runs for value in run.values["nDCG@10"].tolist()
    )


def test_precision_recall_has_the_eleven_levels(results):
    result = results["recall"]
    rows = [row for row in _drawn("precision-recall", results) if row["series"] == result.runs[0].run]
    assert [row["recall"] for row in rows] == [level / 10 for level in range(11)]
    assert [row["precision"] for row in rows] == list(result.runs[0].means.values())


def test_holes_has_the_bounds_and_the_estimate(results):
    result = results["hidden"].metrics
    names = ("metric", "delta", "worst", "best", "expected", "low", "high", "flip")
    rows = [tuple(row[name] for name in names) for row in _drawn("holes", results)]
    assert rows == result.select(*names).rows()
    assert all(row[2] <= row[1] <= row[3] for row in rows)


def test_agreement_is_a_matrix_with_both_halves(results):
    rows = {(row["row"], row["column"]): row["value"] for row in _drawn("agreement", results)}
    result = results["agreed"].found.pairs
    for pair in result.iter_rows(named=True):
        assert rows[pair["first"], pair["second"]] == rows[pair["second"], pair["first"]]
        assert rows[pair["first"], pair["second"]] == pair["kappa"]
    assert rows["ann", "cy"] == 1
    assert rows["ann", "bob"] < 1


def test_admission_has_people_s_grades_by_the_judge_s():
    people = {"q": {"a": 2, "b": 1, "c": 0, "d": 0}}
    judge = {"q": {"a": 1, "b": 1, "c": 1, "d": 0}}
    rows = find_chart_kind("admission").draw(compute_result("admitted", ChartRequest(people, (judge,)))).rows
    assert [(row["judge"], row["grade"], row["count"], row["share"]) for row in rows] == [
        (1, 2, 1, 1 / 3),
        (1, 1, 1, 1 / 3),
        (1, 0, 1, 1 / 3),
        (0, 0, 1, 1.0),
    ]


def test_stages_have_values_and_ceilings(results):
    result = results["pipeline"].ceilings.select("value", "ceiling").rows()
    rows = _drawn("stages", results)
    assert [(row["value"], row["ceiling"]) for row in rows if row["what"] == "ceiling"] == result
    mix = results["pipeline"].mix.select("stage", "label", "share").rows()
    mix_rows = [(row["stage"], row["label"], row["share"]) for row in rows if row["what"] == "mix"]
    assert mix_rows == mix


def test_scorecard_and_pareto_have_the_means_and_know_who_is_beaten():
    # AP and RR by hand: of 3 relevant documents
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    lists = {"whole": "abc", "late": "xabc", "lone": "a", "worse": "xa"}
    runs = {name: {"q": {doc: -float(i) for i, doc in enumerate(docs)}} for name, docs in lists.items()}
    named_runs = tuple(replace(read_run(run), name=name) for name, run in runs.items())
    result = compute_result("tradeoff", ChartRequest(qrels, named_runs, ("RR", "R@3")))
    assert result.front == ("whole",)
    points = {row["system"]: (row["x"], row["y"]) for row in find_chart_kind("pareto").draw(result).rows}
    assert points == {"whole": (1, 1), "late": (0.5, 2 / 3), "lone": (1, 1 / 3), "worse": (0.5, 1 / 3)}
    rows = {
        (row["series"], row["metric"]): row["share"] for row in find_chart_kind("scorecard").draw(result).rows
    }
    assert rows["whole", "RR"] == rows["whole", "R@3"] == rows["lone", "RR"] == 1
    # axes begin at 0, so that a share of the axis is a share of the largest mean
    assert rows["worse", "RR"] == 0.5
    assert rows["worse", "R@3"] == rows["lone", "R@3"] == pytest.approx(1 / 3)
    assert rows["late", "R@3"] == pytest.approx(2 / 3)


def _many(count):
    """Runs over one query with AP falling from the last run to the first."""
    docs = [f"d{i}" for i in range(count)]
    runs = []
    for i in range(count):
        order = [*(f"x{j}" for j in range(count - i)), *docs]
        run = {"q": {doc: -float(index) for index, doc in enumerate(order)}}
        runs.append(replace(read_run(run), name=f"system{i}"))
    return {"q": dict.fromkeys(docs, 1)}, tuple(runs)


@pytest.mark.parametrize(
    ("name", "metrics"), [("cutoffs", ("P@5", "P@10")), ("precision-recall", ()), ("scorecard", ("RR", "AP"))]
)
def test_the_best_systems_get_the_colours(name, metrics):
    qrels, runs = _many(9)
    result = compute_result(find_chart_kind(name).needs, ChartRequest(qrels, runs, metrics))
    text = find_chart_kind(name).draw(result).json()
    domains = [
        scale["domain"]
        for scale in _values(json.loads(text), "scale")
        if isinstance(scale.get("domain", [None])[0], str)
    ]
    assert domains
    assert all(domain[0] == "system8" for domain in domains)


def _values(spec, key):
    """Every mapping under a key, at any depth."""
    if isinstance(spec, dict):
        for name, value in spec.items():
            if name == key and isinstance(value, dict):
                yield value
            yield from _values(value, key)
    elif isinstance(spec, list):
        for element in spec:
            yield from _values(element, key)


def test_every_system_of_pareto_keeps_its_name():
    qrels, runs = _many(30)
    result = compute_result("tradeoff", ChartRequest(qrels, runs, ("RR", "AP")))
    text = find_chart_kind("pareto").draw(result).svg()
    assert all(f">system{i}<" in text for i in range(30))


def test_values_are_sorted_by_their_means():
    qrels, runs = _many(5)
    result = compute_result("evaluation", ChartRequest(qrels, runs, ("AP",)))
    spec = find_chart_kind("distributions").draw(result).spec()
    orders = {tuple(y["sort"]) for y in _values(spec, "y") if y.get("sort")}
    assert orders == {tuple(f"system{i}" for i in reversed(range(5)))}


def test_an_axis_that_does_not_start_at_0_says_so():
    qrels, runs = _many(3)
    result = compute_result("tradeoff", ChartRequest(qrels, runs, ("RR", "AP")))
    titles = {x["title"] for x in _values(find_chart_kind("pareto").draw(result).spec(), "x") if "title" in x}
    assert all("starts at" in title for title in titles)


def test_one_query_says_why_it_has_no_interval():
    qrels, runs = _many(2)
    result = compute_result("comparisons", ChartRequest(qrels, runs, ("AP",)))
    assert "no interval: 1 query" in find_chart_kind("forest").draw(result).svg()


def test_equal_differences_have_no_interval_to_draw():
    qrels = {f"q{i}": {"good": 1} for i in range(5)}
    old, new = ({query: {"x": 2.0, "good": score} for query in qrels} for score in (1.0, 3.0))
    result = compute_result("comparisons", ChartRequest(qrels, (old, new), ("RR",)))
    assert "no interval: equal differences" in find_chart_kind("forest").draw(result).svg()


HARD = {"hard": {"a": 1, "b": 0}, "easy": {"a": 1, "b": 0}, "split": {"a": 1, "b": 0}}


def _first(*queries):
    """A run that finds the relevant document of some queries."""
    return {q: {"a": 2.0, "b": 1.0 + 2 * (q not in queries)} for q in HARD}


def test_heat_has_hard_queries_and_good_systems_first():
    runs = {"bad": _first("easy"), "good": _first("easy", "split")}
    picture = rankgate.plot("heat", HARD, runs, ["P@1"])
    assert [(row["row"], row["column"], row["value"]) for row in picture.rows] == [
        *(("good", "hard", 0), ("good", "split", 1), ("good", "easy", 1)),
        *(("bad", "hard", 0), ("bad", "split", 0), ("bad", "easy", 1)),
    ]


def test_heat_of_a_comparison_is_that_of_the_values_of_all_its_systems():
    runs = {"bad": _first("easy"), "good": _first("easy", "split")}
    of_values = rankgate.evaluate(HARD, {**runs, "best": _first(*HARD)}, ["P@1"]).plot("heat")
    compared = rankgate.compare(HARD, {"best": _first(*HARD)}, runs, ["P@1"]).plot("heat")
    assert compared.rows == of_values.rows


def test_heat_draws_columns_of_whole_points_and_thins_very_many_queries():
    qrels = {f"q{i:04}": {"a": 1, "b": 0} for i in range(1000)}
    run = {q: {"a": 1.0, "b": float(i % 3)} for i, q in enumerate(qrels)}
    picture = rankgate.plot("heat", qrels, {"one": run, "two": run}, ["P@1"])
    assert len(picture.rows) == 2 * len(qrels)
    (panel,) = picture.spec()["concat"]
    assert panel["width"] == 680
    assert len(panel["encoding"]["x"]["scale"]["domain"]) == 680
    assert "680 of the queries" in picture.about
