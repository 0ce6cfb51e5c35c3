"""``rankgate reconcile``."""

from __future__ import annotations

import json
from math import log2

import pytest

from rankgate.measurement.explanation.explanation_documents import digits_for
from rankgate.measurement.scoring import CONVENTIONS
from support.command import assert_refused

LINEAR = (3 + 1 / log2(5)) / (3 + 1 / log2(3)) / 4 + 2 / (2 + 1 / log2(3)) / 4
EXP = (7 + 1 / log2(5)) / (7 + 1 / log2(3)) / 4 + 3 / (3 + 1 / log2(3)) / 4


def test_all_conventions_are_reported_once(run, small):
    result = json.loads(run("reconcile", *small, "-m", "nDCG@10", "--format", "json").out)
    names = [name for group in result["groups"] for name in group["conventions"]]
    names += [refusal["convention"] for refusal in result["refusals"]]
    assert sorted(names) == sorted(CONVENTIONS)
    assert (result["schema_version"], result["metric"], result["run"]) == (1, "nDCG@10", "bm25")
    trec_group = next(group for group in result["groups"] if "trec" in group["conventions"])
    assert trec_group["value"] == pytest.approx(LINEAR, rel=1e-15)


def test_the_text_names_what_separates(run, small):
    text = run("reconcile", *small, "-m", "nDCG@10").out
    assert text.startswith("nDCG@10 of run bm25 by judgments small: ")
    assert "nDCG.gain: linear → exp" in text
    assert "cannot take these data" in text  # ranx stops where a query is missing
    assert max(map(len, text.splitlines())) <= 80


def test_from_one_to_another(run, small):
    arguments = ("reconcile", *small, "-m", "nDCG@10", "--from", "trec", "--to", "esci")
    text = run(*arguments).out
    assert f"\n{LINEAR:.4f}   trec (" in text
    effect = round(EXP, 4) - round(LINEAR, 4)
    assert f"\n{effect:+.4f}  nDCG.gain: linear → exp; moves 2 queries, most " in text
    assert f"\n{EXP:.4f}   esci (" in text
    result = json.loads(run(*arguments, "--format", "json").out)
    assert result["begin"]["hash"] == CONVENTIONS["trec"].hash
    assert result["before"] == pytest.approx(LINEAR, rel=1e-15)
    assert result["steps"][0]["effect"] == result["after"] - result["before"]


def test_what_is_printed_adds_up(run, small):
    result = run("reconcile", *small, "-m", "nDCG@10", "--from", "trec9", "--to", "rre").out
    numbers = [line.split()[0] for line in result.split("\n\n")[2].splitlines()]
    means = [float(word) for word in numbers if word[0] not in "+-"]
    effects = [float(word) for word in numbers if word[0] in "+-"]
    assert len(means) == 2
    assert len(effects) > 1
    assert means[0] + sum(effects) == pytest.approx(means[1], abs=1e-9)


def test_numbers_that_differ_are_printed_so_that_they_do():
    assert digits_for([0.25, None, 0.5]) == 4
    assert digits_for([0.3931491, 0.3931492]) == 7
    assert digits_for([0.39314900001, 0.39314900002]) == 11


def test_whose_number_it_is(run, small):
    text = run("reconcile", *small, "-m", "nDCG@10", "--value", f"{EXP:.4f}").out
    assert "esci" in text
    assert "several fit" in text
    none = run("reconcile", *small, "-m", "nDCG@10", "--value", "0.0123").out
    assert "none of the conventions tried gives it; the nearest are" in none


def test_a_toml_file_can_be_an_end(run, small, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[parameters.nDCG]\ngain = 'exp'\n")
    text = run("reconcile", *small, "-m", "nDCG@10", "--from", "trec", "--to", path).out
    assert f"{EXP:.4f}   mine (" in text


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--from", "trec"), "missing-input"),
        (("--from", "trec", "--to", "esci", "--value", "0.1"), "conflicting-options"),
        (("--from", "trek", "--to", "esci"), "unknown-convention"),
        (("--value", "much"), "not-a-number"),
    ],
)
def test_words_that_do_not_fit(run, small, words, code):
    assert_refused(run("reconcile", *small, "-m", "nDCG@10", *words), code)


def test_several_metrics_are_refused(run, small):
    assert run("reconcile", *small, "-m", "P.5,10").code == 2


def test_an_output_file_is_plain(run, small, tmp_path):
    path = tmp_path / "result.txt"
    assert run("reconcile", *small, "-m", "RR", "-o", path).out == ""
    assert path.read_text() == run("reconcile", *small, "-m", "RR").out
