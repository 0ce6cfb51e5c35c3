"""Arrays without ids meet ids only if these are positions: whole numbers below the size, from 0 on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import rankgate
from rankgate import Collection, Lists, Matrix
from support.wording import raises

EYE = np.eye(50)  # user n likes item n


def frame(users, items, value="grade"):
    return pl.DataFrame({"query_id": list(map(str, users)), "doc_id": list(map(str, items)), value: 1.0})


FROM_ONE = frame(range(1, 51), range(1, 51))
FROM_ZERO = frame(range(50), range(50))

VERBS = {
    "evaluate": lambda qrels, run: rankgate.evaluate(qrels, run, ["RR"]),
    "compare": lambda qrels, run: rankgate.compare(qrels, run, run, ["RR"]),
    "gate": lambda qrels, run: rankgate.gate(qrels, run, run),
    "explain": lambda qrels, run: rankgate.explain(qrels, run, "1", "RR"),
    "reconcile": lambda qrels, run: rankgate.reconcile(qrels, run, "RR"),
    "holes": lambda qrels, run: rankgate.holes(qrels, run, run),
    "scorecard": lambda qrels, run: rankgate.scorecard(qrels, {"m": run}, ["RR"]),
    "accumulate": lambda qrels, run: rankgate.Accumulator(["RR"]).update(qrels, run),
}

MISFITS = {
    "array": (FROM_ONE, EYE),
    "sparse": (FROM_ONE, sp.csr_matrix(EYE)),
    "lists": (FROM_ONE, Lists([[n] for n in range(50)])),
    "from_arrays": (FROM_ONE, rankgate.from_arrays(EYE, EYE)[1]),
    "items alone": (FROM_ONE, Matrix(EYE, range(1, 51))),
    "users alone": (FROM_ONE, Matrix(EYE, None, range(1, 51))),
    "words": (frame("abc", "abc"), np.eye(3)),
    "too large": (frame(range(51), [0] * 51), EYE),
    "dict": ({str(n): {str(n): 1} for n in range(1, 51)}, EYE),
    "judgments as an array": (EYE, frame(range(1, 51), range(1, 51), "score")),
    "judgments as lists": (Lists([[n] for n in range(50)]), frame(range(1, 51), range(1, 51), "score")),
    "judgments from_arrays": (rankgate.from_arrays(EYE, EYE)[0], frame(range(1, 51), range(1, 51), "score")),
    "named matrix": (EYE, Matrix(EYE, range(1, 51), range(1, 51))),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_positions_for_ids(verb):
    with raises("positions-for-ids"):
        VERBS[verb](FROM_ONE, EYE)


@pytest.mark.parametrize("name", MISFITS)
def test_every_source_is_refused(name):
    with raises("positions-for-ids"):
        rankgate.evaluate(*MISFITS[name], ["RR"])


FITS = {
    "names": (FROM_ONE, Matrix(EYE, range(1, 51), range(1, 51))),
    "positions": (FROM_ZERO, EYE),
    "sparse truth": (
        frame([0, 7, 20], [3, 7, 9]),
        sp.csr_matrix(([1.0] * 3, ([0, 7, 20], [3, 7, 9])), EYE.shape),
    ),
    "both": (EYE, EYE),
    "lists of item ids": (frame([0, 1], [1944, 727]), Lists([[1944], [727]])),
    "arrays": rankgate.from_arrays(EYE, EYE),
    "a run for some rows": (EYE, frame([0, 4], [0, 4], "score")),
}


@pytest.mark.parametrize("name", FITS)
def test_positions_that_fit_pass(name):
    qrels, run = FITS[name]
    expected = 2 / 50 if name == "a run for some rows" else 1.0
    assert rankgate.evaluate(qrels, run, ["R@1"]).means.row(0)[1] == expected


def test_ids_accepted_as_they_are_pass():
    scores = rankgate.evaluate(Collection(FROM_ONE, ids="as-they-are"), EYE, ["R@1"])
    assert scores.means.row(0)[1] == 49 / 50  # row 0 has no judgments, and query 50 no row
