"""Exposure, prefixes and popularity, against the numbers of papers and formulas written out."""

from __future__ import annotations

from dataclasses import replace
from math import log, log2

import numpy as np
import pytest

from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.metrics.lists.exposure import (
    AWRF,
    EED,
    EEL,
    EER,
    ExposureMerit,
    ExposureOpportunity,
    ExposureParity,
)
from rankgate.measurement.metrics.lists.popularity import (
    ACLT,
    APLT,
    PopREO,
    PopRSP,
    PopularityLift,
    TailShare,
    is_long_tail,
)
from rankgate.measurement.metrics.lists.prefix_fairness import (
    FAIR,
    NDKL,
    RKL,
    RND,
    RRD,
    adjusted_alpha,
    failure_chance,
    least_protected,
)

# P N P N N: the protected group is 1
TOY = Listed(np.array([[0, 1, 2, 3, 4]]), 5, groups=np.array([1, 0, 1, 0, 0]))


def test_exposure_of_the_toy():
    discount = [1 / log2(rank + 1) for rank in range(1, 6)]
    share = (discount[0] + discount[2]) / sum(discount)
    assert share == pytest.approx(0.5087403079)
    assert AWRF(target="uniform").value(TOY) == pytest.approx(0.9999448892, abs=1e-10)
    assert AWRF.value(TOY) == pytest.approx(0.9913810679, abs=1e-10)  # 2 of 5 are protected
    assert AWRF(distance="absolute").value(TOY) == pytest.approx(1 - (share - 0.4))
    assert 1 / ExposureParity.value(TOY) == pytest.approx(1.5533748731, abs=1e-10)
    first_two = replace(TOY, items=TOY.items[:, :1])  # the others are never shown
    assert ExposureParity.value(first_two) == 0
    assert np.isnan(ExposureParity(members="shown").value(first_two))
    geometric = AWRF(weight="geometric", target="uniform", distance="absolute").value(TOY)
    assert geometric == pytest.approx(1 - (0.6451612903 - 0.5), abs=1e-10)


def test_exposure_against_merit():
    result = replace(TOY, relevant=np.array([[0, 1]]))
    discount = [1 / log2(rank + 1) for rank in range(1, 6)]
    first, second = discount[0] + discount[2], discount[1] + discount[3] + discount[4]
    assert ExposureMerit.value(result) == pytest.approx(min(first, second) / max(first, second))
    assert ExposureOpportunity.value(result) == pytest.approx(discount[1] / discount[0])


def test_expected_exposure_is_written_out():
    result = Listed(np.array([[0, 1, 2]]), 5, relevant=np.array([[1, 4]]))  # 4 is not shown
    first, second = (1 + 0.5) / 2, (0.25 + 0.125) / 2
    exposure, target_exposure = [1, 0.5, 0.25, 0], [second, first, second, first]
    assert EED.value(result) == pytest.approx(sum(e**2 for e in exposure))
    assert EER.value(result) == pytest.approx(
        sum(a * b for a, b in zip(exposure, target_exposure, strict=True))
    )
    loss = sum((a - b) ** 2 for a, b in zip(exposure, target_exposure, strict=True))
    assert EEL.value(result) == pytest.approx(loss)


def test_rankings_that_take_turns_give_equal_items_their_due():
    fixed_lists = Listed(np.array([[0, 1, 2]]), 3, relevant=np.array([[0, 1]]))
    turns = replace(fixed_lists, drawn=np.array([[[1, 0, 2]]]))
    # 0 and 1 have 0.75 each, which is what they are due; alone 0 would have 1 and 1 a half
    assert EED.value(turns) == pytest.approx(0.75**2 * 2 + 0.25**2)
    assert EER.value(turns) == pytest.approx(0.75**2 * 2 + 0.25**2)
    assert EEL.value(turns) == pytest.approx(0, abs=1e-15)
    assert EEL.value(fixed_lists) == pytest.approx(0.25**2 * 2)


def test_expected_exposure_is_a_mean_over_rankings():
    rng = np.random.default_rng(5)
    users, n_rankings, places, items = 40, 3, 6, 9
    rankings = np.array([[rng.permutation(items)[:places] for _ in range(n_rankings)] for _ in range(users)])
    lengths = rng.integers(0, places + 1, (users, n_rankings))  # some are not drawn for a user
    lengths[0] = 0
    rankings[np.arange(places) >= lengths[..., None]] = NONE
    relevant = np.where(rng.random((users, items)) < 0.3, np.arange(items), NONE)
    result = Listed(rankings[:, 0], items, relevant=relevant, drawn=rankings[:, 1:])
    for weight in ("geometric", "log2"):
        for metric, index in ((EED, 0), (EER, 1), (EEL, 2)):
            metric_values = metric(weight=weight).values(result)
            expected = [_by_hand(*pair, weight)[index] for pair in zip(rankings, relevant, strict=True)]
            np.testing.assert_allclose(metric_values, expected, rtol=1e-12, atol=1e-14)
    expected_at_2 = [
        _by_hand(user_rankings[:, :2], user_relevant, "geometric")[2]
        for user_rankings, user_relevant in zip(rankings, relevant, strict=True)
    ]
    np.testing.assert_allclose((EEL @ 2).values(result), expected_at_2, rtol=1e-12, atol=1e-14)


def _by_hand(rankings, relevant, weight):
    """EE-D, EE-R and EE-L of one user, item by item."""
    worth = [0.5**r if weight == "geometric" else 1 / log2(r + 2) for r in range(99)]
    lists = [[item for item in row if item != NONE] for row in rankings]
    lists = [row for row in lists if row]
    if not lists:
        return np.nan, np.nan, np.nan
    judged_relevant = {item for item in relevant if item != NONE}
    all_items = judged_relevant.union(*lists)
    received_exposure = {
        item: sum(worth[row.index(item)] for row in lists if item in row) / len(lists) for item in all_items
    }
    m, n = len(judged_relevant), len(all_items)
    deserved_exposure = {
        item: sum(worth[:m]) / m if item in judged_relevant else sum(worth[m:n]) / (n - m)
        for item in all_items
    }
    return (
        sum(e**2 for e in received_exposure.values()),
        sum(received_exposure[i] * deserved_exposure[i] for i in all_items),
        sum((received_exposure[i] - deserved_exposure[i]) ** 2 for i in all_items),
    )


def test_the_tables_of_fa_ir():
    assert least_protected(12) == (0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4)
    assert least_protected(12, 0.3) == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2)
    assert least_protected(12, 0.7) == (0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6)
    late = replace(TOY, items=np.array([[1, 3, 4, 0, 2], [1, 3, 4, NONE, NONE]]))
    assert FAIR.values(late).tolist() == [1, 1]
    assert FAIR.values(replace(TOY, groups=np.zeros(5, int))).tolist() == [0]


def test_fa_ir_adjusted_for_all_prefixes():
    # every ranking of ten places, each protected with a chance of a half
    table = least_protected(10)
    rows = np.array([[n >> i & 1 for i in range(10)] for n in range(1024)])
    missed = (np.cumsum(rows, axis=1) < np.array(table)).any(axis=1)
    assert failure_chance(table) == pytest.approx(missed.mean(), abs=1e-15)
    assert failure_chance(table) == pytest.approx(0.12890625)  # fairsearchcore 1.0.4
    assert failure_chance(least_protected(40, 0.3), 0.3) == pytest.approx(0.23359548842978983)
    # of 100 places; it does not look at the last one
    assert failure_chance(least_protected(99)) == pytest.approx(0.33934996926289673)
    for k, p in ((10, 0.5), (20, 0.5), (40, 0.3)):
        level = adjusted_alpha(k, p)
        assert (
            failure_chance(least_protected(k, p, level), p)
            <= 0.1
            < failure_chance(least_protected(k, p, level * 1.001 + 1e-9), p)
        )
    assert least_protected(20, 0.5, adjusted_alpha(20)) == (  # fairsearchcore's adjusted table
        *(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6),
    )
    late = Listed(np.arange(10)[None], 10, groups=np.array([0, 0, 0, 0, 1, 0, 0, 1, 0, 1]))
    assert FAIR.value(late) == 0
    assert FAIR(adjust=True).value(late) == 1


def test_prefix_fairness_is_written_out():
    two = RND(step=2)
    parts = [abs(1 / 2 - 2 / 5) / log2(2), abs(2 / 4 - 2 / 5) / log2(4)]
    worst = max(
        abs(1 - 2 / 5) / log2(2) + abs(2 / 4 - 2 / 5) / log2(4),
        abs(0 - 2 / 5) / log2(2) + abs(1 / 4 - 2 / 5) / log2(4),
    )
    assert two.value(TOY) == pytest.approx(sum(parts) / worst)
    ends = np.array([[0, 2, 1, 3, 4], [1, 3, 4, 0, 2]])
    for metric in (RND, RKL, RRD):
        values = metric(step=2).values(replace(TOY, items=ends))
        assert np.nanmax(values) == pytest.approx(1)
    assert np.isnan(RND.value(replace(TOY, groups=np.zeros(5, int))))


def test_prefixes_by_divergence_and_by_ratio_are_written_out():
    # P N P N N, prefixes of 2 and 4; of all five 2 are protected
    def kl(p):
        return sum(a * log2(a / b) for a, b in ((p, 2 / 5), (1 - p, 3 / 5)) if a)

    first, last = (1.0, 0.5), (0.0, 0.25)  # the shares if all protected are first, or last
    worst = max(kl(a) / log2(2) + kl(b) / log2(4) for a, b in (first, last))
    assert RKL(step=2).value(TOY) == pytest.approx((kl(0.5) + kl(0.5) / 2) / worst)
    deviation = abs(1 / 1 - 2 / 3) + abs(2 / 2 - 2 / 3) / 2
    worst = max(0 + abs(2 / 2 - 2 / 3) / 2, 0 + abs(1 / 3 - 2 / 3) / 2)  # a prefix of one kind is 0
    assert RRD(step=2).value(TOY) == pytest.approx(deviation / worst)


def test_ndkl_is_written_out():
    result = replace(TOY, items=np.array([[0, 1]]))
    first, second = log(1 / 0.4), 0.5 * log(0.5 / 0.4) + 0.5 * log(0.5 / 0.6)
    z = 1 + 1 / log2(3)
    assert NDKL.value(result) == pytest.approx((first + second / log2(3)) / z)


def test_the_head_and_the_tail():
    interaction_counts = np.array([10, 5, 3, 1, 1])
    assert is_long_tail(interaction_counts).tolist() == [False, True, True, True, True]
    assert is_long_tail(interaction_counts, "interactions", 0.8).tolist() == [False, False, False, True, True]
    result = Listed(
        np.array([[0, 1], [3, NONE]]),
        5,
        seen=interaction_counts,
        people=10,
        relevant=np.array([[0, 1], [1, 3]]),
        history=np.array([[4, NONE], [0, 1]]),
    )
    assert ACLT.value(result) == 1
    assert APLT.value(result) == (1 / 2 + 1) / 2
    assert TailShare.value(result) == 2 / 3
    assert PopularityLift.value(result) == pytest.approx((7.5 + 1) / (1 + 7.5) - 1)
    chances = np.array([1 / 1, 2 / 3])  # of the head one of one, of the tail two of three
    assert PopREO.value(result) == pytest.approx(chances.std() / chances.mean())
    free = np.array([1 / (1 + 0), 2 / (3 + 3)])  # items new to each user
    assert PopRSP.value(result) == pytest.approx(free.std() / free.mean())
