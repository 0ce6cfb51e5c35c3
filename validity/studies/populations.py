"""Differences that studies draw from: real ones where their scores are at hand, and simulated."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL = {"AP, TREC-6": "adhoc6_ap", "RR, TREC-7": "adhoc7_rr", "nDCG@20, Web 2010": "web2010_ndcg20"}
"""Real matrices of topics by systems (julian-urbano/sigir2019-statistical, CC BY-SA 4.0)."""


def differences(folder: Path = FOLDER) -> dict[str, Floats]:
    """By name, differences per topic between neighbouring systems, pooled over many pairs."""
    result = {}
    for name, file in REAL.items():
        path = folder / "score-matrices-trec" / f"{file}.csv"
        if path.is_file():
            result[name] = _pooled(_matrix(path))
    rng = np.random.default_rng(7)
    result["normal"] = rng.normal(0, 0.1, 20_000)
    result["skewed (exponential)"] = rng.exponential(0.1, 20_000)
    result["mostly ties"] = rng.normal(0, 0.25, 20_000) * (rng.random(20_000) < 0.2)
    return result


def matrices(folder: Path = FOLDER) -> dict[str, Floats]:
    """The real matrices that are at hand."""
    matrix_folder = folder / "score-matrices-trec"
    return {
        name: _matrix(matrix_folder / f"{file}.csv")
        for name, file in REAL.items()
        if (matrix_folder / f"{file}.csv").is_file()
    }


def _matrix(path: Path) -> Floats:
    with path.open(encoding="utf-8", newline="") as stream:
        _, *rows = csv.reader(stream)
    return np.array(rows, dtype=np.float64)


def _pooled(table: Floats) -> Floats:
    """Centred differences of systems that follow each other by their means: alike, not equal."""
    order = np.argsort(-table.mean(axis=0), kind="stable")
    top_systems = table[:, order[: len(order) * 3 // 4]]
    delta = np.diff(top_systems, axis=1)
    return np.asarray((delta - delta.mean(axis=0)).ravel(), np.float64)
