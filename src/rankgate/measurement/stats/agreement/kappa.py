"""Agreement beyond chance: the kappas and Gwet's coefficients, for any number of raters.

All are (pa − pe)/(1 − pe): pa is the weighted share of pairs of ratings of one item that agree,
averaged over the items with two ratings or more; they differ in pe, the agreement by chance
(Gwet, Handbook of Inter-Rater Reliability, 4th edition, 2014, chapters 2-4). Each function takes
the tallies of N rows (or N = 1) and returns (N,), NaN if undefined (no item with two
ratings, or only one grade).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.agreement.ratings import Tallies, Weighting, ratio, weights

if TYPE_CHECKING:
    from rankgate.measurement.stats.agreement.ratings import Floats


def agreement(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Raw agreement pa: the weighted share of agreeing pairs, mean over items."""
    table = weights(tallies.grades, kind)
    return ratio(np.einsum("kl,nkl->n", table, tallies.pairs), tallies.paired)


def fleiss(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Fleiss' kappa: chance from the grades' shares over all raters (Fleiss 1971)."""
    share = _shares(tallies)
    by_chance = np.einsum("nk,kl,nl->n", share, weights(tallies.grades, kind), share)
    return _beyond_chance(agreement(tallies, kind), by_chance)


def conger(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Conger's kappa: chance from each rater's own shares (Conger 1980); two raters: Cohen's."""
    total = tallies.given.sum(axis=2, keepdims=True)
    is_active = total > 0
    rater_shares = np.where(is_active, tallies.given / np.where(is_active, total, 1.0), 0.0)
    raters = is_active.sum(axis=1)  # (N, 1)
    rater_count = np.maximum(raters, 1)
    mean = rater_shares.sum(axis=1) / rater_count
    deviations = np.where(is_active, rater_shares - mean[:, None, :], 0.0)
    table = weights(tallies.grades, kind)
    # trace of the table with Σ_r deviations deviations', without K x K matrices for each row
    variance = np.einsum("nrk,nrk->n", deviations @ table, deviations) / np.maximum(
        raters[:, 0] - 1, 1
    )
    by_chance = np.einsum("nk,nk->n", mean @ table, mean) - variance / rater_count[:, 0]
    return _beyond_chance(agreement(tallies, kind), by_chance)


def gwet(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Gwet's AC1 (identity) and AC2 (weighted): pe = Σw · Σ p(1−p) / (K(K−1)) (Gwet 2008)."""
    size, share = tallies.grades.size, _shares(tallies)
    scale = weights(tallies.grades, kind).sum() / max(size * (size - 1), 1)
    return _beyond_chance(agreement(tallies, kind), scale * (share * (1 - share)).sum(axis=1))


def brennan_prediger(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Brennan and Prediger's coefficient (1981), Randolph's free-marginal kappa: pe = Σw / K²."""
    table = weights(tallies.grades, kind)
    pa = agreement(tallies, kind)
    return _beyond_chance(pa, np.full_like(pa, table.sum() / max(table.size, 1)))


def cohen_values(tables: Floats, grades: Floats, kind: Weighting = "identity") -> Floats:
    """(N,) Cohen's kappa of two raters from each of N tables (K, K) of counts; NaN if undefined.

    κ = (Σ w p − Σ w p_i. p_.j) / (1 − Σ w p_i. p_.j) (Cohen 1960; weighted, Cohen 1968).
    """
    n = tables.sum(axis=(1, 2))
    p = tables / np.where(n > 0, n, 1.0)[:, None, None]
    table = weights(grades, kind)
    by_chance = np.einsum("nk,kl,nl->n", p.sum(axis=2), table, p.sum(axis=1), optimize=True)
    return np.where(n > 0, _beyond_chance(np.einsum("kl,nkl->n", table, p), by_chance), np.nan)


def _shares(tallies: Tallies) -> Floats:
    """(N, K) the share of each grade, every rated item weighing the same."""
    return tallies.share / np.where(tallies.rated > 0, tallies.rated, 1.0)[:, None]


def _beyond_chance(pa: Floats, by_chance: Floats) -> Floats:
    return ratio(pa - by_chance, 1 - by_chance)
