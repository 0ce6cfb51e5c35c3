"""Every kind of picture, drawn from the examples' data by the command that is above it."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from _pages.words import MADE
from rankgate.workspace.reports.chart_kinds import CHART_KINDS
from rankgate.workspace.reports.chart_results import ChartRequest, compute_result
from rankgate.workspace.reports.commands import plot_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.workspace.reports.chart_kinds import ChartKind

DATA = Path(__file__).parents[2] / "examples" / "search-stages"
WORDS = {
    "deltas": "qrels.txt rrf.run rerank.run -m nDCG@10",
    "cutoffs": "qrels.txt bm25.run rrf.run rerank.run -m nDCG -k 1,3,5,10",
    "scatter": "qrels.txt bm25.run rerank.run -m nDCG@10",
    "forest": "qrels.txt bm25.run dense.run rrf.run rerank.run -m nDCG@10 -m R@10",
    "reconcile": "qrels.txt bm25.run -m nDCG@10",
    "blindspots": "qrels.txt rrf.run -m RR@5 -m nDCG@5",
    "explain": "qrels.txt rrf.run --query yoga-mat -m nDCG@10",
    "judged": "qrels.txt bm25.run dense.run rerank.run --depth 10",
    "grades": "qrels.txt bm25.run rerank.run --depth 10",
    "distributions": "qrels.txt bm25.run dense.run rerank.run -m nDCG@10",
    "heat": "qrels.txt bm25.run dense.run rrf.run rerank.run -m nDCG@10",
    "precision-recall": "qrels.txt bm25.run rerank.run",
    "power": "qrels.txt bm25.run dense.run -m nDCG@10",
    "holes": "qrels.txt bm25.run rrf.run -m nDCG@10 -m RR@5",
    "cutoff": "questions.qrels tfidf.run",
    "calibration": "qrels.txt bm25.run rrf.run -m nDCG@10",
    "agreement": "ratings.csv",
    "admission": "qrels.txt judge.qrels",
    "scorecard": "qrels.txt bm25.run dense.run rrf.run rerank.run -m nDCG@10 -m R@10 -m AP",
    "pareto": "qrels.txt bm25.run dense.run rrf.run rerank.run -m nDCG@10 -m R@10",
    "stages": "qrels.txt bm25.run dense.run rrf.run rerank.run -m nDCG@5 --depth 10",
}
"""What is after ``rankgate plot KIND``."""

_GRADES = {
    "ann": "012301230123012301230123",
    "bob": "012301330122012301230013",
    "cyd": "011301230123002301331123",
}


def pages() -> Iterator[tuple[str, str]]:
    """The page and its pictures by their places below ``reference``."""
    parts = [
        MADE,
        "# Gallery\n",
        (
            "Every kind of picture of [`rankgate plot`](commands/plot.md), drawn while this manual was "
            "built, from the data of [the example on stages](../mirrored/examples/search-stages.md). [What "
            "each shows, and in which forms](../pictures.md).\n"
        ),
    ]
    with tempfile.TemporaryDirectory() as temporary:
        data_folder = Path(shutil.copytree(DATA, Path(temporary) / "here"))
        for name, source in (("questions.qrels", "qrels.txt"), ("tfidf.run", "tfidf.run")):
            shutil.copy(DATA.parent / "cutoff" / source, data_folder / name)
        (data_folder / "ratings.csv").write_text(_ratings())
        (data_folder / "judge.qrels").write_text(_judged(data_folder / "qrels.txt"))
        with chdir(data_folder):
            for kind in CHART_KINDS:
                command = f"rankgate plot {kind.name} {WORDS[kind.name]}"
                parts += [f"## {kind.name}: {kind.title}\n", f"```text\n{command}\n```\n"]
                for theme, svg in _drawn(kind, shlex.split(command)[2:]):
                    picture_path = f"pictures/{kind.name}-{theme}.svg"
                    yield picture_path, svg
                    parts.append(f"![{kind.title}]({picture_path}){{.only-{theme}}}\n")
    yield "gallery.md", "\n".join(parts)


def _drawn(kind: ChartKind, words: list[str]) -> Iterator[tuple[str, str]]:
    """The SVG that the command's words give, for light and for dark pages."""
    options = plot_command.make_context("plot", words).params
    request = ChartRequest(
        options["qrels"],
        options["runs"],
        options["metrics"],
        options["convention"],
        options["cutoffs"],
        options["query"],
        options["depth"],
        options["unequal"],
    )
    picture = kind.draw(compute_result(kind.needs, request))
    for theme in ("light", "dark"):
        svg = picture.written("svg", theme)
        assert isinstance(svg, str)
        yield theme, svg


def _judged(people: Path) -> str:
    """A judge that gives every third document a grade more than people did, up to 3."""
    rows = [line.split() for line in people.read_text().splitlines()]
    return "".join(
        f"{q} 0 {d} {min(int(g) + (index % 3 == 0), 3)}\n" for index, (q, _, d, g) in enumerate(rows)
    )


def _ratings() -> str:
    rows = [
        f"q{index // 6},d{index},{rater},{grade}\n"
        for rater, grades in _GRADES.items()
        for index, grade in enumerate(grades)
    ]
    return "query_id,doc_id,rater,grade\n" + "".join(rows)
