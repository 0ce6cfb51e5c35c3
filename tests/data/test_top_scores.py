"""The greatest scores of rows of a matrix, against a sort of every row in Python."""

from __future__ import annotations

import math
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.data.memory import matrices
from rankgate.data.memory.matrices import select_top_scores

NAN, INF = math.nan, math.inf
VALUES = [NAN, -INF, -1e39, -1.0, -0.0, 0.0, 0.1, 0.1 + 1e-12, 0.25, 0.5, 1.0, 2.0, 1e39, INF]
LIBRARIES = ["numpy", *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("torch", "jax"))]


@st.composite
def blocks(draw):
    """Scores with many ties, few users and up to 80 items, and the items that do not count."""
    rows, width = draw(st.integers(0, 4)), draw(st.integers(1, 80))
    values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    scores = rng.choice(values, (rows, width)) + (rng.random((rows, width)) < 0.1)
    return scores, draw(
        st.sampled_from([None, rng.random((rows, width)) < draw(st.sampled_from([0.1, 0.9]))])
    )


def sorted_in_python(scores, k, above, absent, without):
    """Row, column and score of the k greatest scores and of ties with the last; the number that count."""
    selected, retrieved = [], []
    for row, numbers in enumerate(scores.tolist()):
        counted = [
            (number, column)
            for column, number in enumerate(numbers)
            if not math.isnan(number)
            and number > (-INF if above is None else float(scores.dtype.type(above)))
            and number != absent
            and not (without is not None and without[row, column])
        ]
        retrieved.append(len(counted))
        ordered = sorted((number for number, _ in counted), reverse=True)
        edge = -INF if k is None or k > len(ordered) else ordered[k - 1]
        selected += [(row, column, number) for number, column in counted if number >= edge]
    return selected, retrieved


@pytest.mark.parametrize("library", LIBRARIES)
@given(
    blocks(),
    st.sampled_from([None, 1, 2, 3, 10, 79, 200]),
    st.sampled_from([None, 0.0, 0.1]),
    st.sampled_from([None, 0.0, 2.0]),
    st.sampled_from(["float32", "float64", "float64 in columns", "float64 as single"]),
)
@example((np.zeros((2, 50)), None), 3, None, None, "float32")
@example((np.full((2, 50), NAN), None), 3, None, None, "float32")
@example((np.eye(4, 80) + np.eye(4, 80, 40), np.eye(4, 80, dtype=bool)), 1, None, None, "float64")
def test_the_greatest_scores_are_those_of_a_sort(library, block, k, above, absent, form):
    scores, without = block
    scores = np.asfortranarray(scores) if "columns" in form else scores
    with np.errstate(over="ignore"):
        scores = scores.astype(np.float32) if form == "float32" else scores
        compared = scores.astype(np.float32) if "single" in form else scores
    before = scores.copy()
    array, context = scores, nullcontext()
    if library == "torch":
        import torch

        array = torch.from_numpy(scores)
    elif library == "jax":
        import jax

        jax.config.update("jax_enable_x64", val=True)
        array = jax.numpy.asarray(scores)
    if library != "numpy":  # as on a device of its own, by its own functions
        context = patch.object(matrices, "_is_in_main_memory", lambda array: isinstance(array, np.ndarray))
    with context:
        top = select_top_scores(
            array, k, above=above, absent=absent, single="single" in form, without=without
        )
    expected, retrieved = sorted_in_python(compared, k, above, absent, without)
    rows = list(zip(top.owner.tolist(), top.column.tolist(), top.score.tolist(), strict=True))
    assert rows == expected
    assert top.retrieved.tolist() == retrieved
    assert top.infinite == bool(np.isposinf(scores).any())
    assert np.array_equal(scores, before, equal_nan=True)


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_tensors_in_main_memory_take_the_way_of_numpy(library):
    import importlib

    to_array = importlib.import_module("torch").asarray if library == "torch" else np.asarray
    if library == "jax":
        to_array = importlib.import_module("jax.numpy").asarray
    scores = np.random.default_rng(2).random((5, 60), np.float32)
    with patch.object(matrices, "_kth_greatest", side_effect=AssertionError):
        tensor_top = select_top_scores(to_array(scores), 3)
    assert np.array_equal(tensor_top.column, select_top_scores(scores, 3).column)
