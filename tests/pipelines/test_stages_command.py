"""``rankgate stages``: formats, widths and refusals."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
import sys
from pathlib import Path

import pytest

from support.command import assert_refused

EXAMPLE = Path(__file__).parents[2] / "examples" / "search-stages"
STAGES = ("bm25", "dense", "rrf", "rerank")
WORDS = ("-m", "nDCG@5", "-m", "R@10", "--depth", "10", "--label", "3=Exact")


@pytest.fixture
def data(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    monkeypatch.setenv("COLUMNS", "80")
    return ["qrels.txt", *(f"{name}.run" for name in STAGES)]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "csv", "latex"])
def test_every_form_has_every_stage(run, data, form):
    result = run("stages", *data, *WORDS, "--format", form)
    assert result.code == 0, result.err
    assert all(name in result.out for name in STAGES)


def test_the_text_fits_and_says_the_bottleneck_first(run, data):
    lines = run("stages", *data, *WORDS).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("The bottleneck now is")
    assert any("Exact" in line for line in lines)


def test_json_adds_up(run, data):
    result = json.loads(run("stages", *data, *WORDS, "--format", "json").out)
    assert result["schema_version"] == 1
    assert [stage["name"] for stage in result["stages"]] == list(STAGES)
    end = result["ceilings"][-1]["value"]
    assert sum(row["lost"] for row in result["losses"]) == pytest.approx(result["best"] - end)
    assert all(row["value"] <= row["ceiling"] + 1e-12 for row in result["ceilings"])


def test_csv_is_the_stage_table(run, data):
    rows = list(csv.DictReader(io.StringIO(run("stages", *data, *WORDS, "--format", "csv").out)))
    assert [row["stage"] for row in rows if row["metric"] == "R@10"] == list(STAGES)
    assert len({row["mean"] for row in rows if row["metric"] == "R@10"}) == 3  # the last two equal


def test_same_inputs_same_bytes(run, data):
    arguments = (*data, *WORDS, "--test", "randomization", "--resamples", "500", "--format", "json")
    assert run("stages", *arguments).out == run("stages", *arguments).out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--label", "Exact"), "invalid-syntax"),
        (("--target", "nDCG@50", "--depth", "10"), "depth-too-small"),
        (("--target", "bpref"), "no-ceiling"),
    ],
)
def test_what_is_wrong_is_said(run, data, words, code):
    assert_refused(run("stages", *data, *words), code)


def test_hostile_names_stay_words(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "x|<b>*.run").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    result = run("stages", "qrels.txt", "x|<b>*.run", "--format", "markdown")
    assert result.code == 0
    assert "| x\\|\\<b>\\* |" in result.out


def test_the_page_is_whole_and_allows_nothing_else(run, data, tmp_path):
    path = tmp_path / "stages.html"
    assert run("stages", *data, *WORDS, "--format", "html", "-o", path).code == 0
    page = path.read_text()
    assert "default-src 'none'" in page
    assert "The bottleneck now is" in page
    assert page.count("<table") == 6
    assert not re.search(r"(src|href)=\"?(?!#)", page.replace("xmlns:xlink", ""))
    if importlib.util.find_spec("altair"):
        assert re.search(r'<figure class="picture">.*?<svg', page, re.DOTALL)
        assert " style=" not in page  # which the page's own policy would not allow


def test_without_the_extra_the_page_has_its_tables(run, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    result = run("stages", *data, *WORDS, "--format", "html")
    assert result.code == 0
    assert "<figure" not in result.out
    assert result.out.count("<table") == 6
