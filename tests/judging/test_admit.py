"""Judges compared with people: figures by hand, published data, and the gate."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data import Qrels, read_qrels
from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.interface.cli import main
from rankgate.judging.admission.admit import DEMANDS, JudgeAdmission, admit
from rankgate.judging.admission.judged_pairs import JudgeGrades
from support.wording import assert_wording, raises


def made(grades, name="qrels"):
    """Judgments from rows of grades, a row a query."""
    rows = [
        (f"q{i:02}", f"d{j:02}", float(grade)) for i, row in enumerate(grades) for j, grade in enumerate(row)
    ]
    return Qrels(pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row"), name)


@pytest.fixture
def people():
    return np.random.default_rng(3).integers(0, 4, (40, 10))


def ends(result):
    return {demand.name: demand.status for demand in result.demands}


def test_who_says_what_people_say_is_admitted(people):
    result = admit(made(people), made(people))
    assert (result.status, result.verdict) == (0, "pass")
    assert result.coefficients["alpha, ordinal"].value == pytest.approx(1)
    assert (result.bias.mean, result.pairs) == (0, 400)


def test_who_draws_grades_is_refused(people):
    random_grades = np.random.default_rng(4).permuted(people.ravel()).reshape(people.shape)
    result = admit(made(people), made(random_grades))
    assert result.status == 1
    assert ends(result) == {"pairs": "pass", "answered": "pass", "agreement": "fail", "bias": "pass"}


def test_who_is_generous_is_refused_by_the_bias(people):
    result = admit(made(people), made(people + 1))
    assert ends(result)["bias"] == "fail"
    assert result.bias.mean == pytest.approx(1)
    assert result.bias.grades["bias"].to_list() == [1, 1, 1, 1]


def test_few_pairs_decide_nothing(people):
    result = admit(made(people[:5]), made(people[:5]))
    assert (result.status, ends(result)["pairs"]) == (3, "inconclusive")


def test_pairs_that_one_alone_judged_do_not_count(people):
    result = admit(made(people), made(people[:, :4]))
    assert result.pairs == 160
    with raises("no-common-pairs", InputError):
        admit(made(people), Qrels(pl.DataFrame({"query_id": "x", "doc_id": "y", "grade": 1.0})))


def test_what_was_not_answered_counts_against_the_judge(people):
    """A judge that answers only pairs on which it agrees has alpha 1, and is refused."""
    random_grades = np.random.default_rng(5).integers(0, 4, people.shape)
    judge = made(np.where(random_grades == people, people, -1))
    result = admit(made(people), judge)
    assert result.coefficients["alpha, ordinal"].value == pytest.approx(1)
    assert (result.verdict, ends(result)["answered"]) == ("fail", "fail")
    share = (random_grades == people).mean()
    assert result.answers.share == pytest.approx(share)
    assert result.answers.grades["asked"].sum() == 400
    reason = next(demand.reason for demand in result.demands if demand.name == "answered")
    assert f"answered {(random_grades == people).sum()} of the 400 pairs" in reason
    # a pool says what it was asked about, and then only that counts
    answered_pairs = [
        (f"q{i:02}", f"d{j:02}") for i, j in zip(*np.nonzero(random_grades == people), strict=True)
    ]
    pool = pl.DataFrame(answered_pairs, schema=["query_id", "doc_id"], orient="row")
    partly = admit(made(people), JudgeGrades(judge, asked=pool))
    assert ends(partly)["answered"] == "pass"
    assert any("how they were selected" in notice.text for notice in partly.notices)
    assert not any("how they were selected" in notice.text for notice in result.notices)


def test_labels_of_people_are_read_by_a_collection(people):
    labels = {0.0: "no", 1.0: "partly", 2.0: "mostly", 3.0: "yes"}
    table = made(people).table
    shop = Collection(
        table.select(
            pl.col("query_id").alias("term"),
            pl.col("doc_id").alias("sku"),
            pl.col("grade").replace_strict(labels).alias("label"),
        ),
        columns="query=term,doc=sku,grade=label",
        grades={word: grade for grade, word in labels.items()},
    )
    result = admit(shop, made(people))
    assert result.coefficients == admit(made(people), made(people)).coefficients
    assert result.verdict == "pass"


def test_a_grade_of_the_judge_outside_the_scale_is_no_answer(people):
    wrong = people.copy()
    wrong[0, :3] = 10
    result = admit(read_qrels(made(people), scale="0..3"), made(wrong))
    assert (result.pairs, result.answers.outside) == (397, 3)
    assert result.coefficients["Gwet's AC2, linear"].value == pytest.approx(1)
    assert not result.cautions
    notice, interval_notice = admit(made(people), made(wrong)).notices
    assert_wording(interval_notice.text)
    assert notice.code == "stray-grade"
    assert_wording(notice.text)
    assert read_qrels(made(people)).scale is None
    with raises("grade-outside-scale", InputError):
        admit(read_qrels(made(wrong), scale="0..3"), made(people))


def test_pairs_of_one_query_are_not_independent():
    """Queries with right and queries with wrong grades of the judge, a hundred pairs each."""
    rng = np.random.default_rng(7)
    people = rng.integers(0, 4, (16, 100))
    judge = np.where(np.arange(16)[:, None] < 10, people, rng.integers(0, 4, people.shape))
    alpha = admit(made(people), made(judge)).coefficients["alpha, ordinal"]
    assert alpha.low < 0.4 < alpha.value
    assert alpha.high - alpha.low > 0.4  # of 1,600 pairs taken one by one: .06
    small_result = admit(made(people[:9]), made(people[:9]))
    assert ends(small_result) | {"answered": "pass"} == {
        "pairs": "pass",
        "answered": "pass",
        "agreement": "inconclusive",
        "bias": "inconclusive",
    }


def test_one_grade_everywhere_decides_nothing():
    flat = made(np.ones((20, 10)))
    result = admit(flat, flat)
    assert result.verdict == "inconclusive"
    assert "+nan" not in str(result)
    assert "is undefined (all grades are the same)" in str(result)
    json.dumps(result.to_dict(), allow_nan=False)


def test_an_admission_comes_back_from_json(people):
    runs = [
        {f"q{i:02}": {f"d{j:02}": 1.0 + (j == best_doc) for j in range(3)} for i in range(40)}
        for best_doc in range(3)
    ]
    result = admit(made(people), made(np.maximum(people - 1, 0)), runs)
    restored = JudgeAdmission.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.to_dict() == result.to_dict()
    for form in FORMS:
        assert render_result(restored, form) == render_result(result, form)


def test_the_order_of_systems_under_a_judge_who_turns_grades_round():
    # documents 0, 1 and 2 of each query have grades 2, 1, 0; each system puts another one first
    people = np.tile([2, 1, 0], (40, 1))
    runs = [
        {f"q{i:02}": {f"d{j:02}": 1.0 + (j == best_doc) for j in range(3)} for i in range(40)}
        for best_doc in range(3)
    ]
    result = admit(made(people), made(2 - people), runs, ["DCG@1"])
    (order,) = result.orders
    assert (order.tau, order.flips, order.lost, order.reversed, order.pairs) == (-1, 3, 0, 3, 3)
    assert (order.significant, order.agreed, order.tau_top) == (3, 0, None)
    assert result.systems["people"].to_list() == [2, 1, 0]
    assert result.systems["judge"].to_list() == [0, 1, 2]
    assert ends(result)["order by DCG@1"] == "fail"


def test_the_order_of_the_best_systems_is_its_own_figure():
    """Seven systems, document i first in the i-th; the judge turns the two best round."""
    people = np.tile([7, 6, 5, 4, 3, 2, 1], (40, 1))
    judge = np.tile([6, 7, 5, 4, 3, 2, 1], (40, 1))
    runs = [
        {f"q{i:02}": {f"d{j:02}": 1.0 + (j == best_doc) for j in range(7)} for i in range(40)}
        for best_doc in range(7)
    ]
    (order,) = admit(made(people), made(judge), runs, ["DCG@1"]).orders
    assert (order.significant, order.agreed) == (21, 20)
    assert order.tau_top == pytest.approx(1 - 2 / 10)
    assert order.tau == pytest.approx(1 - 2 / 21)
    (order,) = admit(made(people), made(judge), runs, ["DCG@1"], top=2).orders
    assert (order.top, order.tau_top) == (2, -1)


def test_people_and_a_language_model_at_trec(shared):
    folder = shared / "rag25-human-vs-llm"
    result = admit(folder / "qrels.rag25.test.txt.gz", folder / "qrels.rag25.test-umbrela2.txt.gz")
    admission = result
    assert (admission.pairs, admission.queries) == (10_284, 22)
    marginals = admission.bias.confusion.group_by("judge").agg(pl.col("pairs").sum()).sort("judge")
    assert marginals["pairs"].to_list() == [2524, 2399, 3790, 1263, 308]
    assert admission.bias.grades["pairs"].to_list() == [3619, 1499, 3760, 1318, 88]
    mean = (np.array([2524, 2399, 3790, 1263, 308]) @ range(5)) / 10_284
    people_mean = (np.array([3619, 1499, 3760, 1318, 88]) @ range(5)) / 10_284
    gap = admission.bias.confusion.select(
        ((pl.col("judge") - pl.col("people")) * pl.col("pairs")).sum() / pl.col("pairs").sum()
    ).item()
    assert gap == pytest.approx(mean - people_mean)
    assert ends(result)["agreement"] == "pass"


def simulated(qrels, confusion, seed):
    """Judgments with every grade redrawn from the row of people's grade."""
    rng = np.random.default_rng(seed)
    grades = qrels.table["grade"].to_numpy()
    model_grades = [
        float(rng.choice(3, p=confusion[int(grade)])) if grade >= 0 else grade for grade in grades
    ]
    return replace(qrels, table=qrels.table.with_columns(pl.Series("grade", model_grades)), name="model")


@pytest.mark.slow
def test_the_order_of_sixteen_systems_under_a_simulated_judge(shared):
    """rag25's model on TREC-COVID's three grades: 0 is 0, 1 and 2 are 1, 3 and 4 are 2."""
    folder = shared / "rag25-human-vs-llm"
    two = [read_qrels(folder / f"qrels.rag25.{name}.txt.gz").table for name in ("test", "test-umbrela2")]
    paired_grades = two[0].join(two[1], on=["query_id", "doc_id"])
    three = np.zeros((3, 3))
    for people_grade, model_grade in paired_grades.select("grade", "grade_right").iter_rows():
        three[(int(people_grade) + 1) // 2, (int(model_grade) + 1) // 2] += 1
    confusion = three / three.sum(axis=1, keepdims=True)
    covid = shared / "trec-covid-r1"
    qrels = read_qrels(covid / "qrels.covid-round1.txt")
    runs = sorted((covid / "runs").iterdir())
    result = admit(qrels, simulated(qrels, confusion, 0), runs, ["nDCG@10"])
    (order,) = result.orders
    assert order.pairs == 120
    assert order.tau_low <= order.tau <= order.tau_high
    assert order.spearman_low <= order.spearman <= order.spearman_high
    assert 0.5 < order.tau < 1  # noise of single grades hardly moves means over thirty topics
    assert order.reversed == 0
    assert result.verdict == "fail"
    assert ends(result)["bias"] == "fail"


def test_a_gate_can_ask_for_it(people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, grades in (("people", people), ("model", people), ("other", people % 3)):
        rows = made(grades).table.iter_rows()
        lines = [f"{query} 0 {doc} {grade:g}\n" for query, doc, grade in rows]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    (tmp_path / "rankgate.toml").write_text(
        '[[rules]]\nid = "judge"\nkind = "admitted"\nfile = "admission.json"\n'
    )
    arguments = ["admit", "people.txt", "model.txt", "--format", "json", "-o", "admission.json"]
    monkeypatch.setattr("sys.argv", ["rankgate", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == ""
    run = {f"q{i:02}": {"d00": 1.0} for i in range(40)}
    result = {name: gate(f"{name}.txt", run, run).rules[0].outcome for name in ("model", "other")}
    assert result["model"].status == "pass"
    assert result["other"].status == "inconclusive"
    assert_wording(result["other"].reason)
    verdict = json.loads((tmp_path / "admission.json").read_text())
    (tmp_path / "admission.json").write_text(json.dumps(verdict | {"verdict": "fail"}))
    assert gate("model.txt", run, run).verdict == "fail"
    (tmp_path / "admission.json").write_text("[]")
    with raises("wrong-document", InputError):
        gate("model.txt", run, run)


def test_demands_are_asked(people):
    result = admit(made(people), made(people), demands=replace(DEMANDS, pairs=500))
    assert result.status == 3
