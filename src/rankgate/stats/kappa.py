"""Agreement beyond chance: the kappas and Gwet's coefficients, for any number of raters.

All are (pa − pe)/(1 − pe): pa is the weighted share of pairs of ratings of one item that agree,
averaged over the items with two ratings or more; they differ in pe, the agreement by chance
(Gwet, Handbook of Inter-Rater Reliability, 4th edition, 2014, chapters 2-4). Each function takes
`times` (B, I), how often an item counts, so that a bootstrap over items is one matrix product;
it returns (B,), NaN where it is undefined (no item with two ratings, or only one grade).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.stats.ratings import Sheet, Weighting, ratio, times_of, weights

if TYPE_CHECKING:
    from rankgate.stats.ratings import Floats


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa with its standard error.

    Attributes:
        value: the coefficient.
        error: its asymptotic standard error (Fleiss, Cohen and Everitt 1969), NaN at n = 0.
        items: items that both raters rated.
    """

    value: float
    error: float
    items: int


def agreement(sheet: Sheet, kind: Weighting = "identity", times: Floats | None = None) -> Floats:
    """Raw agreement pa: the weighted share of agreeing pairs, mean over items."""
    often = times_of(len(sheet.said), times)
    each, usable = _agreeing(sheet, kind)
    return ratio(often @ each, often @ usable)


def fleiss(sheet: Sheet, kind: Weighting = "identity", times: Floats | None = None) -> Floats:
    """Fleiss' kappa: chance from the grades' shares over all raters (Fleiss 1971)."""
    share = _shares(sheet, times)
    by_chance = np.einsum("bk,kl,bl->b", share, weights(sheet.grades, kind), share)
    return _beyond(agreement(sheet, kind, times), by_chance)


def conger(sheet: Sheet, kind: Weighting = "identity", times: Floats | None = None) -> Floats:
    """Conger's kappa: chance from each rater's own shares (Conger 1980); two raters: Cohen's."""
    often = times_of(len(sheet.said), times)
    given = np.einsum("bi,irk->brk", often, sheet.said)
    total = given.sum(axis=2, keepdims=True)
    active = total > 0
    own = np.where(active, given / np.where(active, total, 1.0), 0.0)
    raters = active.sum(axis=1)  # (B, 1)
    present = np.maximum(raters, 1)
    mean = own.sum(axis=1) / present
    apart = np.where(active, own - mean[:, None, :], 0.0)
    spread = np.einsum("brk,brl->bkl", apart, apart) / np.maximum(raters - 1, 1)[:, :, None]
    expected = np.einsum("bk,bl->bkl", mean, mean) - spread / present[:, :, None]
    by_chance = np.einsum("kl,bkl->b", weights(sheet.grades, kind), expected)
    return _beyond(agreement(sheet, kind, times), by_chance)


def gwet(sheet: Sheet, kind: Weighting = "identity", times: Floats | None = None) -> Floats:
    """Gwet's AC1 (identity) and AC2 (weighted): pe = Σw · Σ p(1−p) / (K(K−1)) (Gwet 2008)."""
    return _beyond(agreement(sheet, kind, times), _gwet_chance(sheet, kind, times))


def brennan_prediger(
    sheet: Sheet, kind: Weighting = "identity", times: Floats | None = None
) -> Floats:
    """Brennan and Prediger's coefficient (1981), Randolph's free-marginal kappa: pe = Σw / K²."""
    table = weights(sheet.grades, kind)
    pa = agreement(sheet, kind, times)
    return _beyond(pa, np.full_like(pa, table.sum() / max(table.size, 1)))


def cohen(confusion: Floats, grades: Floats | None = None, kind: Weighting = "identity") -> Kappa:
    """Cohen's kappa of two raters from their table (K, K) of counts.

    κ = (Σ w p − Σ w p_i. p_.j) / (1 − Σ w p_i. p_.j) (Cohen 1960; weighted, Cohen 1968).
    """
    counts = np.asarray(confusion, np.float64)
    n = counts.sum()
    scale = np.arange(len(counts), dtype=np.float64) if grades is None else grades
    if not n:
        return Kappa(float("nan"), float("nan"), 0)
    table, p = weights(scale, kind), counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    by_chance = float(rows @ table @ columns)
    if by_chance >= 1.0:
        return Kappa(float("nan"), float("nan"), int(n))
    value = (float((table * p).sum()) - by_chance) / (1 - by_chance)
    marginal = (table @ columns)[:, None] + (rows @ table)[None, :]
    spread = (p * (table - marginal * (1 - value)) ** 2).sum()
    spread -= (value - by_chance * (1 - value)) ** 2
    error = float(np.sqrt(max(spread, 0.0) / n) / (1 - by_chance))
    return Kappa(value, error, int(n))


def confusion(sheet: Sheet, first: int, second: int) -> Floats:
    """(K, K) how often the first rater gave the row's grade where the second gave the column's."""
    pair = sheet.of_two(first, second).said
    return np.asarray(np.einsum("ik,il->kl", pair[:, 0], pair[:, 1]), np.float64)


def _agreeing(sheet: Sheet, kind: Weighting) -> tuple[Floats, Floats]:
    """(I,) the agreeing share of each item's pairs, 0 where it has none; (I,) 1 where it has."""
    counts = sheet.counts
    rated = counts.sum(axis=1)
    usable = rated > 1
    pairs = (counts * (counts @ weights(sheet.grades, kind) - 1)).sum(axis=1)
    share = np.where(usable, pairs / np.where(usable, rated * (rated - 1), 1.0), 0.0)
    return share, usable.astype(np.float64)


def _shares(sheet: Sheet, times: Floats | None) -> Floats:
    """(B, K) the share of each grade, every rated item weighing the same."""
    often = times_of(len(sheet.said), times)
    counts = sheet.counts
    rated = counts.sum(axis=1, keepdims=True)
    own = np.where(rated > 0, counts / np.where(rated > 0, rated, 1.0), 0.0)
    total = often @ (rated[:, 0] > 0)
    return np.asarray((often @ own) / np.where(total > 0, total, 1.0)[:, None], np.float64)


def _gwet_chance(sheet: Sheet, kind: Weighting, times: Floats | None) -> Floats:
    grades, share = sheet.grades.size, _shares(sheet, times)
    scale = weights(sheet.grades, kind).sum() / max(grades * (grades - 1), 1)
    return np.asarray(scale * (share * (1 - share)).sum(axis=1), np.float64)


def _beyond(pa: Floats, by_chance: Floats) -> Floats:
    return ratio(pa - by_chance, 1 - by_chance)
