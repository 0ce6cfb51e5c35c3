"""Judgments and runs from arrays, with padding, masks, sparse matrices and DLPack."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

import rankgate
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import read_qrels, read_run
from rankgate.data.formats.tables.memory_tables import from_arrays
from support.wording import raises

LABELS = np.array([[3, 0, 1], [0, 2, -1]])
SCORES = np.array([[0.1, 0.9, 0.5], [0.4, 0.3, 99.0]])


class Tensor:
    """An object that supports only DLPack, as a tensor of another library."""

    def __init__(self, array, failure=None):
        self._array, self._failure = array, failure

    def __dlpack__(self, **options):
        if self._failure:
            raise self._failure
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_a_row_is_a_query_and_padding_is_nothing():
    qrels, run = from_arrays(LABELS, SCORES)
    assert qrels.table.rows() == [
        ("0", "0", 3.0),
        ("0", "1", 0.0),
        ("0", "2", 1.0),
        ("1", "0", 0.0),
        ("1", "1", 2.0),
    ]
    assert run.table.rows()[-1] == ("1", "1", 0.3)
    assert len(run.table) == 5


def test_the_values_are_those_of_the_formula():
    """nDCG of each row, written out; the padded score of 99 ranks nothing."""
    qrels, run = from_arrays(LABELS, SCORES)
    values = rankgate.evaluate(qrels, run, ["nDCG"]).values["value"].to_list()
    first = (0 / math.log2(2) + 1 / math.log2(3) + 3 / math.log2(4)) / (3 + 1 / math.log2(3))
    second = (0 + 2 / math.log2(3)) / 2
    assert values == pytest.approx([first, second], rel=1e-12)


def test_a_mask_says_who_is_there():
    mask = np.array([[True, True, False], [True, False, False]])
    qrels, run = from_arrays(np.abs(LABELS), SCORES, mask=mask, padding=None)
    assert qrels.table["doc_id"].to_list() == ["0", "1", "0"]
    assert run.table["score"].to_list() == [0.1, 0.9, 0.4]
    masked_qrels, _ = from_arrays(LABELS, SCORES, mask=mask.astype(int))
    assert len(masked_qrels.table) == 3


def test_what_is_unjudged_or_not_ranked():
    labels = np.array([[math.nan, 1.0], [math.nan, math.nan]])
    scores = np.array([[0.5, -math.inf], [math.nan, -math.inf]])
    qrels, run = from_arrays(labels, scores)
    assert (qrels.table.rows(), qrels.unjudged) == ([("0", "1", 1.0)], ("1",))
    assert run.table.rows() == [("0", "0", 0.5)]
    assert run.queries.rows() == [("1", "zero")]


def test_ids_can_be_given():
    qrels, run = from_arrays([[1, 0]], [[0.2, 0.1]], query_ids=["q"], doc_ids=["a", 7])
    assert qrels.table.rows() == [("q", "a", 1.0), ("q", "7", 0.0)]
    assert run.table.rows() == [("q", "a", 0.2), ("q", "7", 0.1)]
    with raises("wrong-shape", InputError):
        from_arrays(LABELS, SCORES, query_ids=["q"])


@pytest.mark.parametrize("wrap", [np.array, Tensor, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_arrays_alone_are_judgments_and_runs(wrap):
    labels, scores = np.array([[3.0, 1.0], [2.0, 4.0]]), np.array([[0.5, 0.25], [0.1, 0.2]])
    qrels, run = read_qrels(wrap(labels)), read_run(wrap(scores))
    assert qrels.table["grade"].to_list() == [3.0, 1.0, 2.0, 4.0]
    assert run.table.rows()[1] == ("0", "1", 0.25)
    value = rankgate.evaluate(wrap(labels), wrap(scores), ["RR"]).means["RR"].item()
    assert value == 1.0


def test_what_a_sparse_matrix_leaves_out_is_not_there():
    labels = scipy.sparse.csr_matrix(([2, 0], ([0, 1], [5, 3])), shape=(3, 9))
    qrels = read_qrels(labels)
    assert qrels.table.rows() == [("0", "5", 2.0), ("1", "3", 0.0)]  # 0 is there, and a grade
    assert qrels.unjudged == ()  # nothing is known of the third, as where a frame lacks it
    repeated_cells = scipy.sparse.coo_matrix(([2, 1], ([0, 0], [5, 5])), shape=(1, 9))
    with raises("duplicate-document", DuplicateError):
        read_qrels(repeated_cells)
    with raises("wrong-type", InputError):
        from_arrays(labels, labels)


def test_a_padded_label_alone_is_refused():
    with raises("negative-label", InputError):
        rankgate.evaluate(LABELS, SCORES)


@pytest.mark.parametrize(
    ("labels", "scores", "code"),
    [
        (LABELS, SCORES[:, :2], "wrong-shape"),
        (np.zeros((1, 2, 3)), SCORES, "wrong-shape"),
        ([["a"]], [[1]], "wrong-type"),
        ([[1, 2], [1]], [[1]], "wrong-shape"),
        ([[math.inf]], [[1]], "not-a-number"),
        ([[1]], [[math.inf]], "not-a-number"),
        (Tensor(LABELS, BufferError("needs grad")), SCORES, "wrong-type"),
        (Tensor(LABELS, RuntimeError("on cuda")), SCORES, "wrong-type"),
    ],
)
def test_what_is_no_matrix_is_reported(labels, scores, code):
    with raises(code, InputError):
        from_arrays(labels, scores)


def test_one_query_may_be_a_vector():
    qrels, run = from_arrays([1, 0, -1], [0.3, 0.2, 0.1])
    assert (len(qrels.table), len(run.table)) == (2, 2)


def test_no_tensor_library_is_imported():
    import subprocess
    import sys

    code = (
        "import numpy, sys, rankgate; rankgate.evaluate(numpy.eye(2), numpy.eye(2), ['RR']);"
        "print([m for m in ('torch', 'scipy.sparse', 'jax', 'pandas') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
