"""The properties of a block."""

import numpy as np
import pytest

from rankgate.measurement.metrics.judged_block import PAD, block, count, ratio, total


def test_a_block_keeps_judged_documents_at_their_ranks():
    judged = block([[None, 2, 0, None, -1], [1]], ideal=[[2, 0, 3, -1], [1, 0]])
    assert judged.rank.tolist() == [[2, 3, 5], [1, PAD, PAD]]
    assert judged.grade.tolist() == [[2, 0, -1], [1, 0, 0]]
    assert judged.known.tolist() == [[True, True, True], [True, False, False]]
    assert judged.ideal.tolist() == [[3, 2, 0], [1, 0, 0]]
    assert judged.retrieved.tolist() == [5, 1]
    assert judged.judged.tolist() == [3, 2]
    assert judged.relevant.tolist() == [2, 1]
    assert judged.relevant_retrieved.tolist() == [1, 1]
    assert (judged.rank.dtype, judged.grade.dtype) == (np.int32, np.float64)


def test_an_empty_block_has_a_column_all_the_same():
    judged = block([[], [None]], ideal=[[], [-1]])
    assert judged.rank.shape == judged.ideal.shape == (2, 1)
    assert judged.judged.tolist() == judged.relevant.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rel", "relevant", "found"),
    [(3, [1, 0], [0, 0]), (2, [2, 0], [1, 0]), (1, [3, 1], [2, 1]), (0.5, [3, 1], [2, 1])],
)
def test_levels_count_relevant_documents(rel, relevant, found):
    judged = block([[2, 1, 0], [None, 1]], ideal=[[3, 2, 1, 0, 0], [1]]).at_level(rel)
    assert judged.relevant.tolist() == relevant
    assert judged.relevant_retrieved.tolist() == found


@pytest.mark.parametrize("rel", [0, -1, -5])
def test_from_level_zero_on_all_judged_are_relevant_and_no_padding_is(rel):
    judged = block([[1, -1, 0], [None, 0]], ideal=[[1, 0, 0, -1], [0]]).at_level(rel)
    assert judged.relevant.tolist() == [3, 1]
    assert judged.relevant_retrieved.tolist() == [2, 1]
    assert judged.hits(rel).tolist() == [[True, False, True], [True, False, False]]


def test_a_level_that_is_there_already_costs_nothing():
    judged = block([[1]])
    assert judged.at_level(1) is judged
    assert judged.at_level(2).at_level(1).relevant.tolist() == [1]


def test_hits_up_to_a_cutoff_need_no_more_columns_than_the_cutoff():
    judged = block([[1, None, 1, 1, 1]])
    assert judged.hits(1, 3).tolist() == [[True, True, False]]
    assert judged.hits(1, 1).tolist() == [[True]]
    assert judged.hits(1, 100).tolist() == [[True, True, True, True]]


def test_a_total_does_not_move_with_the_zeros_behind_it():
    terms = np.random.default_rng(7).random((50, 13))
    padded = np.pad(terms, ((0, 0), (0, 200)))
    assert total(terms).tobytes() == total(padded).tobytes()
    assert not np.array_equal(terms.sum(axis=-1), padded.sum(axis=-1))  # why sum will not do


def test_a_ratio_of_nothing_is_undefined():
    assert ratio(np.array([1, 0, 0]), np.array([2, 2, 0])).tolist()[:2] == [0.5, 0]
    assert np.isnan(ratio(np.array([0]), np.array([0])))[0]


def test_count_counts_along_the_rows():
    assert count(np.array([[True, False], [True, True]])).tolist() == [1, 2]
