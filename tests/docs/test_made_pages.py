"""The pages that are made from the code hold all of it, and their pictures are right."""

from __future__ import annotations

import importlib
import math
import re
import sys
from pathlib import Path

import pytest

import rankgate
from rankgate.decisions.advice.advice_inputs import STAGES, TASKS
from rankgate.decisions.advice.advice_rules import RULES, SOURCES
from rankgate.interface.cli import COMMANDS
from rankgate.measurement.evaluation.convention_details import axes
from rankgate.measurement.evaluation.metric_details import metrics
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.workspace.reports.chart_kinds import CHART_KINDS
from support.programs import importable

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = {
    "metrics": "reference/metrics",
    "conventions": "reference",
    "when": "reference",
    "commands": "reference/commands",
    "python": "reference/python",
}


@pytest.fixture(scope="module")
def rooms():
    """The tools of the manual, imported as Sphinx does it."""
    names = ["behaviour", "drawing", "formulas", "gallery", "mirrored", *FOLDERS]
    with importable(DOCS):
        yield {name: importlib.import_module(f"_pages.{name}") for name in names}


@pytest.fixture(scope="module")
def pages(rooms):
    return {
        f"{folder}/{page_path}": text
        for name, folder in FOLDERS.items()
        for page_path, text in rooms[name].pages()
    }


def test_every_metric_has_its_page(pages):
    for description in metrics().metrics:
        page = pages[f"reference/metrics/{description.name}.md"]
        assert '<div class="formula"' in page
        assert "Blind to" in page
        assert "<svg" in page, description.name
        for name in description.conventions:
            assert f"[{name}](../conventions/{name}.md)" in page


def test_every_convention_axis_command_and_verb_has_its_place(pages):
    page = pages["reference/side-by-side.md"]
    for name in CONVENTIONS:
        assert f"reference/conventions/{name}.md" in pages
        assert page.count(f"\n| [{name}](conventions/{name}.md) |") == 2
    for axis in axes().axes:
        assert (f"### {axis.name}\n" in page) == (len(axis.chosen) > 1)
    assert {f"reference/commands/{name}.md" for name in COMMANDS} < set(pages)
    result = "".join(text for page_path, text in pages.items() if page_path.startswith("reference/python"))
    for name in rankgate.__all__:
        assert re.search(rf"auto(function|class):: rankgate\.{name}\n", result), name


def test_advice_stands_by_task_and_stage_with_its_sources(pages):
    page = pages["reference/which-metric.md"]
    for task in TASKS:
        section = page.split(f"## {task}: ")[1].split("\n## ")[0]
        assert all(f"| **{stage}**" in section for stage in STAGES)
    assert all(f"({source})=\n" in page for source in SOURCES)
    assert {rule.source for rule in RULES} <= set(SOURCES)


def test_the_pictures_are_the_metrics(rooms):
    single_panel, pushed = rooms["behaviour"].panels(by_name["nDCG"])
    ideal_dcg = sum(g / math.log2(i + 1) for i, g in enumerate((3, 2, 1, 1, 1), start=1))
    grade_3_curve, grade_1_curve = single_panel.curves
    assert grade_3_curve.y == pytest.approx([3 / math.log2(i + 1) / ideal_dcg for i in range(1, 21)])
    assert grade_1_curve.y == pytest.approx([1 / math.log2(i + 1) / ideal_dcg for i in range(1, 21)])
    (curve,) = pushed.curves  # irrelevant and unjudged documents are the same to nDCG
    assert curve.y[0] == 1
    assert len(rooms["behaviour"].panels(by_name["Bpref"])[1].curves) == 2  # not to bpref


@pytest.mark.parametrize(("most", "above"), [(0.538, 0.6), (1, 1), (20, 20), (0.07, 0.08)])
def test_an_axis_ends_at_a_round_number(rooms, most, above):
    panel = rooms["behaviour"].Panel
    curve = rooms["behaviour"].Curve("a <b>", (1, 2), (most, 0))
    figure_html = rooms["drawing"].figure([panel("t", "x", (curve,))], "c")
    assert f">{above:g}</text>" in figure_html
    assert "<b>" not in figure_html


def test_every_kind_of_picture_is_in_the_gallery(rooms):
    assert list(rooms["gallery"].WORDS) == [kind.name for kind in CHART_KINDS]


def test_formulas_are_set(rooms):
    result = rooms["formulas"].typeset("S = Σ_{j<i} p^(i−1) · 2^gradeᵢ,   p > R_s")
    assert "Σ<sub>j&lt;i</sub> p<sup>i−1</sup> · 2<sup>gradeᵢ</sup>,</p>" in result
    assert "<p>p &gt; R<sub>s</sub></p>" in result


def test_links_out_of_the_manual_are_turned(rooms):
    rewrite_links = rooms["mirrored"].turned
    root = DOCS.parent
    assert rewrite_links("[a](log.csv)", root / "examples" / "recommender", "../..") == (
        "[a](../../../examples/recommender/log.csv)"
    )
    assert rewrite_links("[a](../examples/judging/README.md#x)", DOCS, ".") == (
        "[a](./mirrored/examples/judging.md#x)"
    )
    assert rewrite_links("[a](docs/gate.md) [b](https://x.org/y.md)", root, "..") == (
        "[a](../gate.md) [b](https://x.org/y.md)"
    )


@pytest.mark.usefixtures("rooms")
def test_what_is_no_longer_made_goes(tmp_path, monkeypatch):
    pages_module = sys.modules["_pages"]
    monkeypatch.setattr(pages_module, "pages", lambda: iter([("reference/new.md", "# New\n")]))
    old = tmp_path / "reference" / "old.md"
    old.parent.mkdir()
    old.write_text("# Old\n")
    pages_module.write(tmp_path)
    assert [path.name for path in tmp_path.rglob("*.md")] == ["new.md"]
