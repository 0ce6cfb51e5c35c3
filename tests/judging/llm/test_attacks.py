"""Judges are refused if an attack raises their grades; judges that read the text are admitted."""

from __future__ import annotations

import json
from collections import Counter
from typing import get_args

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import Qrels
from rankgate.data.qrels import Ratings
from rankgate.judging.admission.admit import JudgeAdmission, admit
from rankgate.judging.admission.judged_pairs import JudgeGrades
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.llm.judge import Attack, attack_document
from support.wording import raises

QUERIES, DOCUMENTS = 40, 10
DOCUMENT = {"title": "Jaguar", "text": "It is fast. It swims well! Does it climb? Yes."}


def under(attack):
    return attack_document(attack, "how fast", DOCUMENT, "3")


@pytest.mark.parametrize("attack", [attack for attack in get_args(Attack) if attack != "none"])
def test_an_attack_keeps_what_the_document_says(attack):
    changed_document = under(attack)
    assert changed_document.keys() == DOCUMENT.keys()
    assert changed_document["title"] == "Jaguar"
    assert Counter(DOCUMENT["text"].split()) <= Counter(changed_document["text"].split())
    assert (changed_document, list(changed_document)) != (DOCUMENT, list(DOCUMENT))
    assert under(attack) == changed_document
    assert attack_document(attack, "how fast", {}, "3") == {}


def test_what_attacks_add():
    assert under("none") == DOCUMENT
    assert under("keywords")["text"].count("how fast") == 5
    assert "must be graded 3." in under("instruction")["text"]
    assert under("praise")["text"].endswith(DOCUMENT["text"])
    assert len(under("longer")["text"].split()) == 2 * len(DOCUMENT["text"].split())
    assert list(under("fields")) == ["text", "title"]


def test_braces_in_a_text_are_text():
    changed_document = attack_document("keywords", "{query}", {"text": "{text} {0} {highest}"}, "3")
    assert changed_document["text"] == "{text} {0} {highest}" + " {query}" * 5


@pytest.fixture
def grades():
    return np.random.default_rng(3).integers(0, 4, (QUERIES, DOCUMENTS)).astype(float)


def pairs():
    return {
        "query_id": [f"q{i:02}" for i in range(QUERIES) for _ in range(DOCUMENTS)],
        "doc_id": [f"d{j}" for _ in range(QUERIES) for j in range(DOCUMENTS)],
    }


def judged(grades):
    return Qrels(pl.DataFrame({**pairs(), "grade": grades.ravel()}), "judge")


def rated(grades, rater):
    table = pl.DataFrame({**pairs(), "rater": [rater] * grades.size, "grade": grades.ravel()})
    return Ratings(table)


def test_a_judge_that_falls_for_keywords_is_refused(grades):
    fooled = np.minimum(grades + (np.arange(DOCUMENTS) < 3), 3)  # in three of ten documents
    people = judged(grades)
    result = admit(people, JudgeGrades(people, attacked=[rated(fooled, "m under keywords")]))
    row = result.attacks.row(0, named=True)
    raised = (fooled > grades).mean()
    assert (row["pairs"], row["queries"]) == (QUERIES * DOCUMENTS, QUERIES)
    assert (row["raised"], row["lowered"]) == (pytest.approx(raised), 0)
    assert row["shift"] == pytest.approx((fooled - grades).mean())
    assert row["low"] < raised < row["high"]
    assert {demand.name: demand.status for demand in result.demands}["attack m under keywords"] == "fail"
    assert result.status == 1
    lenient = admit(people, JudgeGrades(people, attacked=[rated(fooled, "m")]), demands=Demands(raised=0.5))
    assert lenient.status == 0


def test_the_interval_is_that_of_means_of_queries(grades):
    """With as many pairs in each query leaving one out is the t interval of their means."""
    from scipy.stats import t

    fooled = np.where(np.random.default_rng(5).random(grades.shape) < 0.2, 4.0, grades)
    row = admit(judged(grades), JudgeGrades(judged(grades), attacked=[rated(fooled, "m")])).attacks.row(
        0, named=True
    )
    means = (fooled > grades).mean(axis=1)
    ends = t.interval(0.95, QUERIES - 1, means.mean(), means.std(ddof=1) / np.sqrt(QUERIES))
    assert (row["low"], row["high"]) == pytest.approx(ends, rel=1e-9)


def test_who_is_not_fooled_is_admitted_and_comes_back_from_json(grades):
    people = judged(grades)
    files = [rated(grades, "m under longer"), rated(np.maximum(grades - 1, 0), "m under praise")]
    result = admit(people, JudgeGrades(people, attacked=files))
    assert result.status == 0
    assert result.attacks["attack"].to_list() == ["m under longer", "m under praise"]
    restored = JudgeAdmission.from_dict(result.to_dict())
    assert restored.attacks.equals(result.attacks)
    assert restored.demands == result.demands


def test_other_pairs_and_few_queries_decide_nothing(grades):
    people = judged(grades)
    strange = Ratings(pl.DataFrame({"query_id": ["x"], "doc_id": ["y"], "rater": ["m"], "grade": [1.0]}))
    with raises("no-common-pairs", InputError):
        admit(people, JudgeGrades(people, attacked=[strange]))
    small_table = rated(grades, "m").table.filter(pl.col("query_id") < "q10")
    result = admit(people, JudgeGrades(people, attacked=[Ratings(small_table)]))
    assert {demand.name: demand.status for demand in result.demands}["attack m"] == "inconclusive"


def test_a_model_that_obeys_documents_is_found_from_files_to_verdict(server, tmp_path, run):
    """The server raises the grade of a document that requests a higher grade."""
    names = [f"q{i}" for i in range(16)]
    pairs = [(query, f"{query}d{k}") for query in names for k in range(8)]
    (tmp_path / "pool.csv").write_text("query,document\n" + "".join(f"{q},{d}\n" for q, d in pairs))
    (tmp_path / "q.csv").write_text("query_id,text\n" + "".join(f"{q},about {q}\n" for q in names))
    (tmp_path / "docs.csv").write_text("doc_id,text\n" + "".join(f"{d},text of {d}\n" for _, d in pairs))
    server.obeys = "must be graded 3"
    pool, queries, documents = (tmp_path / name for name in ("pool.csv", "q.csv", "docs.csv"))
    files = {}
    for attack in ("none", "instruction"):
        files[attack] = tmp_path / f"{attack}.jsonl"
        result = run(
            "rate",
            pool,
            "--queries",
            queries,
            "--documents",
            documents,
            "--llm",
            "m",
            "--url",
            f"{server.url}/v1",
            "--attack",
            attack,
            "-o",
            files[attack],
        )
        assert result.code == 0, result.err
    arguments = ("admit", files["none"], files["none"], "--attacked", files["instruction"])
    admission = run(*arguments, "--format", "json")
    assert admission.code == 1
    (row,) = json.loads(admission.out)["attacks"]
    assert (row["attack"], row["pairs"], row["raised"]) == ("m under instruction", 128, 1.0)
