"""What prompts and models add to the variance of grades: closed forms and planted variances."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from rankgate import JudgeGrades, admit
from rankgate.data import Qrels
from rankgate.judging.admission.judged_pairs import grade_components
from support.wording import raises


def written(folder, name, grades):
    lines = [f"q{i // 10} 0 d{i % 10} {grade}\n" for i, grade in enumerate(grades)]
    (folder / name).write_text("".join(lines))


def components(table):
    return {row["source"]: row["variance"] for row in table.iter_rows(named=True)}


def frame(grades):
    rows = [(f"q{i // 10}", f"d{i % 10}", float(grade)) for i, grade in enumerate(grades)]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row")


def test_two_prompts_are_the_two_way_analysis_of_variance():
    draw = np.random.default_rng(4)
    grades = draw.integers(0, 4, (30, 1)) + np.array([0, 1]) + draw.integers(0, 2, (30, 2))
    labelled = [Qrels(frame(column)) for column in grades.T]
    variances = components(grade_components(labelled))
    residuals = grades - grades.mean(axis=1, keepdims=True) - grades.mean(axis=0) + grades.mean()
    error = (residuals**2).sum() / 29
    assert variances["pairs × judgments"] == pytest.approx(error)
    assert variances["pairs"] == pytest.approx((2 * grades.mean(axis=1).var(ddof=1) - error) / 2)
    judgment_variance = 30 * grades.mean(axis=0).var(ddof=1)
    assert variances["judgments"] == pytest.approx(max(judgment_variance - error, 0) / 30)


def test_planted_variances_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(2)
    pairs, prompt, model = draw.normal(10, 1, 2000), [-0.4, 0.0, 0.4], [-0.1, 0.1]
    labelled_files = []
    for i in range(2):
        for j in range(3):
            grades = pairs + model[i] + prompt[j] + draw.normal(0, 0.3, 2000)
            written(tmp_path, f"{i}{j}.txt", grades.round(4))
            labelled_files.append(f"model:{i},prompt:{j}={i}{j}.txt")
    table = grade_components(labelled_files)
    variances = components(table)
    assert variances["pairs"] == pytest.approx(pairs.var(ddof=1), rel=0.03)
    assert variances["prompt"] == pytest.approx(0.16, rel=0.1)
    assert variances["model"] == pytest.approx(0.02, rel=0.3)
    assert variances["pairs × model × prompt"] == pytest.approx(0.09, rel=0.1)
    assert table["share"].sum() == pytest.approx(1)


def test_an_admission_shows_them(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grades = np.arange(400) % 4
    written(tmp_path, "people.txt", grades)
    for number in (1, 2):
        written(tmp_path, f"{number}.txt", np.minimum(grades + (np.arange(400) % 5 == number), 3))
    options = [f"--repeated=prompt:{number}={number}.txt" for number in (1, 2)]
    result = run("admit", "people.txt", "1.txt", *options, "--format", "json")
    rows = json.loads(result.out)["components"]
    assert {row["source"] for row in rows} == {"pairs", "prompt", "pairs × prompt"}
    assert "pairs × prompt" in run("admit", "people.txt", "1.txt", *options).out


def test_repetitions_that_are_not_crossed_are_refused():
    people = {f"q{i}": {"a": i % 2} for i in range(20)}
    with raises("invalid-design"):
        admit(people, JudgeGrades(people, repeated=[people]))
    with raises("no-common-pairs"):
        grade_components([people, {"other": {"a": 1}}])
    with raises("invalid-design"):
        grade_components(["model:A,prompt:1=x", "model:A,prompt:2=x", "model:B,prompt:1=x"])
