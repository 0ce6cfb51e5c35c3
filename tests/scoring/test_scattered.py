"""A file with lines in any order gives the values of the same lines in order of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import rankgate
from rankgate.core.errors import DuplicateError
from rankgate.data.streams.source import InputFile
from support.wording import raises

if TYPE_CHECKING:
    from pathlib import Path

METRICS = ["nDCG@5", "AP", "RR", "P@3"]
CONVENTIONS = ("trec", "trec9", "ir_measures", "beir", "ntcir", "lenskit", "torchmetrics", "sklearn")
QUERIES, DOCUMENTS = 12, 30


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few lines, so that every query is in many of them."""
    monkeypatch.setattr(InputFile.chunks, "__defaults__", (256,))


@pytest.fixture
def lines() -> list[str]:
    """Lines by query and falling score, many scores equal, and two queries without judgments."""
    rng = np.random.default_rng(3)
    return [
        f"{query} Q0 document-{document} 1 {score} t"
        for query in range(QUERIES)
        for document, score in zip(
            rng.permutation(DOCUMENTS), -np.sort(-rng.integers(0, 9, DOCUMENTS)), strict=True
        )
    ]


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    rng = np.random.default_rng(4)
    rows = [
        f"{query} 0 document-{document} {rng.integers(0, 3)}\n"
        for query in range(QUERIES - 2)
        for document in rng.permutation(DOCUMENTS)[:8]
    ]
    file = tmp_path / "qrels"
    file.write_text("".join(rows))
    return str(file)


def written(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_values_and_counts_are_those_of_sorted_lines(tmp_path, lines, qrels, convention):
    # rows of one query keep their order: some conventions rank by it
    owner = np.array([int(line.split()[0]) for line in lines])
    shuffled = np.random.default_rng(5).permutation(owner)
    by_query = {query: iter(np.flatnonzero(owner == query)) for query in range(QUERIES)}
    scattered = [lines[next(by_query[query])] for query in shuffled.tolist()]
    assert scattered != lines
    results = [
        rankgate.evaluate(qrels, written(tmp_path / name, run_lines), METRICS, convention=convention)
        for name, run_lines in (("a.run", lines), ("b.run", scattered))
    ]
    first, second = (result.runs[0] for result in results)
    assert first.counts == second.counts
    assert first.counts.unknown_queries == 2
    by_file = convention in ("ntcir", "lenskit")  # where no two rows are equal
    assert (first.counts.ties_broken > 0) is not by_file
    for metric in METRICS:
        assert first.per_query(metric) == second.per_query(metric)


def test_a_document_twice_is_found_across_pieces(tmp_path, lines, qrels):
    repeated = [*lines, lines[7]]
    with raises("duplicate-document", DuplicateError, line=len(repeated)):
        rankgate.evaluate(qrels, written(tmp_path / "a.run", repeated), METRICS)


def test_bounds_look_at_scattered_lines_too(tmp_path, lines, qrels):
    order = np.random.default_rng(6).permutation(len(lines))
    paths = [written(tmp_path / "a.run", lines), written(tmp_path / "b.run", [lines[i] for i in order])]
    low, high = (rankgate.evaluate(qrels, path, METRICS, bounds=True).runs[0] for path in paths)
    for metric in METRICS:
        for first, second in ((low.low, high.low), (low.high, high.high)):
            assert first.per_query(metric) == second.per_query(metric)
