"""The table of a paper: marks of the chosen test, bold values, one table in LaTeX."""

from __future__ import annotations

import re
import subprocess

import pytest

import rankgate
from rankgate.core.present.write_results import render_result

QUERIES = [f"q{n}" for n in range(24)]
QRELS = {query: {"a": 1} for query in QUERIES}


def run_of(rank_of_query):
    """A run with the relevant document at a rank."""
    return {query: [*(f"x{i}" for i in range(rank_of_query(n) - 1)), "a"] for n, query in enumerate(QUERIES)}


RUNS = {
    "old": run_of(lambda n: 2 + n % 3),
    "equal": run_of(lambda n: 2 + (n + 1) % 3),
    "near": run_of(lambda n: 1 if n % 4 == 0 else 2 + n % 3),
    "best": run_of(lambda _: 1),
}
OTHERS = {name: run for name, run in RUNS.items() if name != "old"}


@pytest.mark.parametrize("method", ["t", "randomization", "sign"])
@pytest.mark.parametrize("correction", ["holm", "none"])
def test_marks_against_the_baseline_are_those_of_the_chosen_test(method, correction):
    test = rankgate.Test(method, correction=correction, resamples=2_000)
    result = rankgate.compare(QRELS, {"old": RUNS["old"]}, OTHERS, ["RR", "P@1"], test=test)
    text = str(result)
    better = {
        (comparison.candidate.name, row["metric"])
        for comparison in result.comparisons
        for row in comparison.metrics.iter_rows(named=True)
        if row["p_value"] is not None and row["p_value"] < 0.05 and row["gain"] > 0
    }
    marked = {
        (line.split()[1], metric)
        for line in text.splitlines()
        if re.match(r"[ᵃᵇᶜᵈ] ", line)
        for metric, value in zip(["RR", "P@1"], line.split()[2:], strict=True)
        if "ᵃ" in value
    }
    assert marked == better
    caption = " ".join(text.split())
    assert f"against old by the {method} test" in caption


def test_latex_has_one_table_with_bold_values():
    result = rankgate.compare(QRELS, {"old": RUNS["old"]}, OTHERS, ["RR", "P@1"])
    text = render_result(result, "latex", one_table=True)
    assert text.count(r"\begin{tabular}") == 1 < render_result(result, "latex").count(r"\begin{tabular}")
    (row,) = (line for line in text.splitlines() if " best &" in line)
    assert row.count(r"\textbf{1.0000") == 2 == text.count(r"\textbf")
    assert "scriptsize" not in text


def test_a_wide_table_is_scaled_to_the_page():
    metrics = [f"P@{k}" for k in range(1, 25)]
    result = rankgate.compare(QRELS, {"old": RUNS["old"]}, OTHERS, metrics)
    text = render_result(result, "latex", one_table=True)
    assert (
        text.count("\\setbox0\\hbox\\bgroup\\begin{tabular}") == text.count("\\resizebox{\\linewidth}") == 1
    )


@pytest.mark.tex
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_a_wide_table_fits_the_line(tmp_path, columns):
    metrics = [f"P@{k}" for k in range(1, 13)]
    result = rankgate.compare(QRELS, {"old": RUNS["old"]}, OTHERS, metrics)
    preamble = rf"\documentclass[{columns}]{{article}}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    table = render_result(result, "latex", one_table=True)
    (tmp_path / "t.tex").write_text(f"{preamble}\n{table}\n\\end{{document}}\n")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    process = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert process.returncode == 0
    assert b"Overfull" not in process.stdout
