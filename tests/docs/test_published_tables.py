"""examples/published-tables: the guide's figure and the benchmark's tables, from their numbers."""

from __future__ import annotations

import csv
import runpy
import shutil
from math import log2
from pathlib import Path

import pytest

import rankgate
from rankgate.workspace.reports.chart_results import ChartRequest, compute_result

HERE = Path(__file__).parents[2] / "examples" / "published-tables"
STAGES = ("bm25", "dense", "rrf", "cross-encoder", "llm")
PUBLISHED = {
    "nDCG@10": (0.585, 0.611, 0.628, 0.645, 0.717),
    "RR@10": (0.812, 0.808, 0.834, 0.860, 0.901),
    "R@100": (0.741, 0.825, 0.842, 0.842, 0.842),
}


def _guide(k):
    """Precision, recall, F1, AP and nDCG at k of the guide's first query, as its code has them."""
    films = [3, 2, 2, 3, 3, 0, 0, 3, 3, 0]  # its grades, in the order of its list of films
    ranking = [2, 5, 3, 8, 4, 6, 7, 0, 1, 9]  # its results, by their place in that list
    grades = [films[index] for index in ranking]
    relevant_count = sum(g > 0 for g in grades[:k])
    p, r = relevant_count / k, relevant_count / sum(g > 0 for g in films)
    hits = [sum(g > 0 for g in grades[: i + 1]) / (i + 1) for i in range(k) if grades[i] > 0]
    dcg, ideal_dcg = (
        sum(g / log2(i + 2) for i, g in enumerate(gains[:k]))
        for gains in (grades, sorted(films, reverse=True))
    )
    return {"P": p, "R": r, "F": 2 * p * r / (p + r), "AP": sum(hits) / len(hits), "nDCG": dcg / ideal_dcg}


def test_the_guide_s_comparison_over_cutoffs():
    request = ChartRequest(
        str(HERE / "robots-grades.csv"),
        (str(HERE / "robots-ranking.csv"),),
        convention="guide",
        cutoffs=(1, 3, 5, 10),
    )
    result = compute_result("cutoffs", request).plot("cutoffs")
    chart_values = {(row["metric"], row["k"]): row["value"] for row in result.rows}
    expected = {(name, k): value for k in (1, 3, 5, 10) for name, value in _guide(k).items()}
    assert chart_values == pytest.approx(expected, abs=1e-12)


def test_the_benchmark_s_worked_ndcg():
    paths = [str(HERE / f"headphones-{kind}.csv") for kind in ("grades", "ranking")]
    result = rankgate.explain(*paths, "wireless bluetooth headphones", "nDCG@3", convention="esci")
    assert [round(row.contribution, 3) for row in result.rows] == [7.0, 1.893, 0.5]
    assert round(result.value, 3) == 0.727


@pytest.fixture(scope="module")
def stages():
    runs = {name: str(HERE / f"{name}.run") for name in STAGES}
    return rankgate.stages(str(HERE / "stages-grades.txt"), runs, convention="esci")


def test_the_benchmark_s_table_of_stages(stages):
    means = {(row["stage"], row["metric"]): row["mean"] for row in stages.means.to_dicts()}
    for metric, published in PUBLISHED.items():
        assert [round(means[stage, metric], 3) for stage in STAGES] == list(published)
    assert stages.kinds == ("retrieves", "retrieves", "retrieves", "reranks", "reranks")


def test_the_mix_of_labels_counted_by_hand(stages):
    with (HERE / "stages-grades.txt").open() as lines:
        grades = {(q, d): int(g) for q, _, d, g in map(str.split, lines)}
    with (HERE / "llm.run").open() as lines:
        top = [(q, d) for q, _, d, rank, *_ in map(str.split, lines) if int(rank) <= 10]
    result = {row["grade"]: row["count"] for row in stages.mix.to_dicts() if row["stage"] == "llm"}
    assert len(top) == 400
    for grade in range(4):
        assert result[grade] == sum(grades[pair] == grade for pair in top)


@pytest.mark.separate
def test_the_lists_are_those_that_the_script_makes(tmp_path):
    shutil.copy(HERE / "make_stages.py", tmp_path)
    runpy.run_path(str(tmp_path / "make_stages.py"), run_name="__main__")
    file_names = sorted(path.name for path in tmp_path.iterdir() if path.suffix in {".run", ".txt"})
    assert file_names == sorted(["stages-grades.txt", *(f"{name}.run" for name in STAGES)])
    for name in file_names:
        assert (tmp_path / name).read_bytes() == (HERE / name).read_bytes(), name


def test_every_film_is_in_every_list():
    with (HERE / "movies-grades.csv").open() as lines:
        judged = {(row["query_id"], row["doc_id"]) for row in csv.DictReader(lines)}
    with (HERE / "movies-ranking.csv").open() as lines:
        ranked = {(row["query_id"], row["doc_id"]) for row in csv.DictReader(lines)}
    assert judged == ranked
    assert len(judged) == 50
