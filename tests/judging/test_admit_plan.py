"""A plan of an admission: allocations by closed forms, the width that its sample reaches."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import InputError, UsageError, admit_plan
from rankgate.data import Qrels
from rankgate.data.formats.pool_file import read_pool
from rankgate.judging.admission.admit_plan import FIGURES, influence
from rankgate.measurement.stats.sampling_design import neyman_allocation, stratified_error
from support.wording import raises

Z = 1.959963984540054
PER_QUERY = 20


def qrels(grades, name="people"):
    pairs = [(f"q{i // PER_QUERY:04}", f"d{i % PER_QUERY}", float(g)) for i, g in grades.items()]
    return Qrels(pl.DataFrame(pairs, schema=["query_id", "doc_id", "grade"], orient="row"), name)


@pytest.fixture(scope="module")
def pool():
    """People's grades and the judge's, right where it gives 0 and often wrong above."""
    draw = np.random.default_rng(7)
    people = draw.choice(4, 6000, p=[0.5, 0.25, 0.15, 0.1])
    judge = np.where(draw.random(6000) < 0.7, people, draw.choice(4, 6000))
    return people, judge


def test_an_allocation_is_that_of_neyman():
    sizes, deviations = np.array([4000, 5000, 1000]), np.array([1.0, 2.0, 5.0])
    allocation = neyman_allocation(sizes, deviations, 0.1)
    # W S = .4, 1, .5; their sum is 1.9 and the sum of W² S² / N is .00004 + .0002 + .00025
    factor = 1.9 / (0.01 + 0.00049)
    assert allocation.tolist() == np.ceil(factor * np.array([0.4, 1.0, 0.5])).tolist()
    assert 0.0995 < stratified_error(sizes, deviations, allocation) <= 0.1


def test_no_other_allocation_of_so_few_has_a_smaller_error():
    sizes, deviations = np.array([30, 12, 4]), np.array([1.0, 3.0, 40.0])
    allocation = neyman_allocation(sizes, deviations, 0.3)
    assert allocation[2] == 4  # taken whole: it would need more than it has
    smallest_total = min(
        sum(counts)
        for counts in product(range(2, 31), range(2, 13), range(2, 5))
        if stratified_error(sizes, deviations, np.array(counts)) <= 0.3
    )
    assert smallest_total <= allocation.sum() <= smallest_total + 1  # rounding up


def test_without_a_pilot_a_share_needs_what_a_half_needs():
    judge = qrels(dict(enumerate([0, 1] * 1500)), "judge")
    plan = admit_plan(judge, width=0.05, price=0.5, minutes=2)
    needed = 0.25 / ((0.05 / Z) ** 2 + 0.25 / 3000)
    assert plan.strata["assumed"].all()
    assert needed <= len(plan.sample) <= needed + 2
    assert (plan.cost, plan.minutes) == (0.5 * len(plan.sample), 2 * len(plan.sample))


def test_without_a_pilot_a_bias_needs_what_grades_at_both_ends_need():
    judge = qrels(dict(enumerate([0, 3] * 1500)), "judge")
    strata = admit_plan(judge, width=0.1, figure="bias", scale="graded").strata
    assert strata["deviation"].to_list() == pytest.approx([1.5, 1.5])


def test_derivatives_are_those_of_the_figures(pool):
    people, judge = pool
    table = np.zeros((4, 4))
    np.add.at(table, (people, judge), 1 / len(people))
    grades = np.arange(4.0)
    equal = influence("equal", table, grades) + FIGURES["equal"](table, grades)
    assert equal == pytest.approx(np.eye(4), abs=1e-6)
    bias = influence("bias", table, grades) + FIGURES["bias"](table, grades)
    assert bias == pytest.approx(grades[None, :] - grades[:, None], abs=1e-6)
    rater_qrels = [
        qrels(dict(enumerate(rater_grades)), name) for rater_grades, name in ((people, "p"), (judge, "j"))
    ]
    admitted = rankgate.admit(*rater_qrels).coefficients["alpha, ordinal"].value
    assert FIGURES["alpha"](table, grades) == pytest.approx(admitted, abs=1e-4)


@pytest.mark.parametrize(("figure", "width"), [("equal", 0.04), ("bias", 0.07), ("alpha", 0.06)])
def test_the_sample_reaches_the_width(pool, figure, width):
    people, judge = pool
    graded, human_grades = qrels(dict(enumerate(judge)), "judge"), dict(enumerate(people))
    table = np.zeros((4, 4))
    np.add.at(table, (people, judge), 1)
    truth = FIGURES[figure](table, np.arange(4.0))
    number = {
        (q, d): i for i, (q, d) in enumerate(qrels(human_grades).table.select("query_id", "doc_id").rows())
    }
    draw, reached, within = np.random.default_rng(3), [], 0
    for seed in range(8):
        first = {int(i): human_grades[i] for i in draw.choice(6000, 300, replace=False)}
        plan = admit_plan(graded, qrels(first), width=width, figure=figure, seed=seed)
        pairs = plan.sample.select("query_id", "doc_id").rows()
        new_grades = {number[pair]: human_grades[number[pair]] for pair in pairs}
        assert not new_grades.keys() & first.keys()
        second_plan = admit_plan(graded, qrels({**first, **new_grades}), width=width, figure=figure)
        row = second_plan.figures.row(by_predicate=pl.col("figure") == figure, named=True)
        reached.append(row["half_width"])
        within += abs(row["value"] - truth) <= row["half_width"]
    assert np.mean(reached) == pytest.approx(width, rel=0.1)
    assert within >= 5  # of 8; fewer have a chance below 0.1 % at 95 %


def test_a_rare_grade_is_planned_for():
    """8 of 2,000 pairs: all of them are judged, so that every figure has a value in the end."""
    draw = np.random.default_rng(1)
    people = draw.choice(2, 2000)
    judge = np.where(draw.random(2000) < 0.8, people, 1 - people)
    judge[draw.choice(2000, 8, replace=False)] = 2
    first = {int(i): people[i] for i in draw.choice(2000, 100, replace=False)}
    graded = qrels(dict(enumerate(judge)), "judge")
    plan = admit_plan(graded, qrels(first), width=0.05)
    assert plan.strata["pairs"][2] == 8
    pairs = plan.sample.select("query_id", "doc_id").rows()
    new_pairs = {int(q[1:]) * PER_QUERY + int(d[1:]) for q, d in pairs}
    second_plan = admit_plan(graded, qrels(first | {i: people[i] for i in new_pairs}), width=0.05)
    assert second_plan.figures["value"].null_count() == 0
    assert not second_plan.strata["assumed"].any()
    assert 0.1 < plan.wider < 0.9
    assert plan.reached < plan.reached_high < 1.5 * 0.05


def test_the_sample_is_a_pool_of_pairs_that_nobody_judged(pool, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people, judge = pool
    for name, grades in (("people", people[:400]), ("judge", judge)):
        rows = qrels(dict(enumerate(grades))).table.rows()
        (tmp_path / f"{name}.txt").write_text("".join(f"{q} 0 {d} {g:g}\n" for q, d, g in rows))
    run_result = run("admit-plan", "judge.txt", "people.txt", "--width", ".02", "-o", "pool.csv")
    assert run_result.code == 0
    table = read_pool(tmp_path / "pool.csv")
    result = json.loads(
        run("admit-plan", "judge.txt", "people.txt", "--width", ".02", "--format", "json").out
    )
    for row in result["strata"]:
        stratum_pairs = table.filter(stratum=row["stratum"])
        assert len(stratum_pairs) == row["to_judge"] == row["pairs"] - row["pilot"]
        assert set(stratum_pairs["inclusion"]) <= {row["pairs"] / row["pool"]}
    assert run("sheet", "pool.csv", "--raters", "ann", "-o", "sheets").code == 0
    assert run("admit-plan", "judge.txt", "--price", "0").code == 2


def test_all_pairs_judged_leave_nothing_to_do(pool):
    people, judge = (dict(enumerate(grades[:400])) for grades in pool)
    plan = admit_plan(qrels(judge, "judge"), qrels(people), figure="alpha")
    assert plan.sample.is_empty()
    assert plan.reached == 0


def test_pairs_are_drawn_of_what_the_judge_was_asked():
    graded = qrels({i: i % 2 for i in range(400)}, "judge")
    pool = graded.table.head(300).select("query_id", "doc_id").with_columns(batch=pl.lit(1))
    plan = admit_plan(rankgate.JudgeGrades(graded, asked=pool))
    assert plan.strata["pool"].to_list() == [150, 150]
    assert plan.sample.join(pool, on=["query_id", "doc_id"], how="anti").is_empty()


def test_what_cannot_be_planned_is_one_error():
    judge = qrels(dict(enumerate([1, 2] * 50)), "judge")
    with raises("no-common-pairs", InputError):
        admit_plan(judge, {"other": {"a": 1}})
    with raises("nothing-judged", UsageError):
        admit_plan({"q": {"a": -1}})
    with raises("out-of-range", UsageError):
        admit_plan(qrels(dict(enumerate(np.linspace(0, 1, 40))), "judge"))
    constant_qrels = qrels(dict.fromkeys(range(40), 1), "judge")
    with raises("undefined-value", UsageError):
        admit_plan(constant_qrels, constant_qrels, figure="alpha")
