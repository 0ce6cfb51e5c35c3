"""Evenness of exposure of items: Gini and entropy, in the variants of libraries."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.exposure import Patience, Weight, attention_weights
from rankgate.measurement.metrics.lists.listed import Floats, Sums

Over = Literal["catalogue", "shown"]
Divisor = Literal["n", "n-1"]
Per = Literal["all", "item"]

_ADOMAVICIUS = "Adomavicius & Kwon, IEEE TKDE 24(5), 2012, doi:10.1109/TKDE.2011.15"


def gini(sums: Sums, *, over: Over = "catalogue", divisor: Divisor = "n") -> float:
    """Gini index of the counts of items.

        Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending

    Args:
        sums: of the lists.
        over: all items of the catalogue, those never shown too (RecBole, LensKit, elliot), or
            those that are shown (`shown`: ClayRS, evidently).
        divisor: n, so that one item shown of n gives 1 − 1/n (RecBole, LensKit, ClayRS), or
            n − 1, so that it gives 1 (elliot, which reports what is left to 1; evidently).

    Returns:
        0 if all are shown equally often; NaN if nothing is shown.

    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> gini(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.375
    """
    return _gini(sums.counts, over, divisor)


def exposure_gini(
    sums: Sums,
    *,
    over: Over = "catalogue",
    divisor: Divisor = "n",
    weight: Weight = "log2",  # noqa: ARG001 - sums are made with it
    patience: Patience = 0.5,  # noqa: ARG001 - as above
) -> float:
    """Gini index of the exposure of items.

    Args:
        sums: of the lists.
        over: as of Gini.
        divisor: as of Gini.
        weight: a place is worth 1/log₂(rank + 1), or patience^(rank − 1).
        patience: of the geometric weights (LensKit: 0.85).

    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> shown = Listed(np.array([[0, 1], [1, 0]]), 2)  # each item is first once
    >>> exposure_gini(shown.sums(looked=np.array([1.0, 0.5])))
    0.0
    """
    assert sums.exposure is not None
    return _gini(sums.exposure.sum(axis=0), over, divisor)


def _gini(worth: Floats, over: Over, divisor: Divisor) -> float:
    counts = np.sort(worth)
    counts = counts if over == "catalogue" else counts[counts > 0]
    n = len(counts)
    parts = n if divisor == "n" else n - 1
    if parts <= 0 or not counts.sum():
        return float("nan")
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * counts).sum()) / (parts * float(counts.sum()))


def equality(sums: Sums, *, over: Over = "catalogue", divisor: Divisor = "n") -> float:
    """One minus the Gini index, ``1 − Gini``: elliot's Gini; arguments as of Gini.

    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> equality(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.625
    """
    return 1 - gini(sums, over=over, divisor=divisor)


def entropy(
    sums: Sums, *, base: Annotated[float, Range(1.000001)] = 2.0, per: Per = "all"
) -> float:
    """Entropy of items over places: −Σ_i pᵢ · log_b pᵢ, p being the share of all places.

    Args:
        sums: of the lists.
        base: b; 2 gives bits (elliot, recommenders), e nats.
        per: as it is, or over the number of items shown (`item`: RecBole, in nats).

    Returns:
        0 where one item is shown everywhere; NaN where nothing is.

    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> entropy(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    1.5
    """
    counts = sums.counts[sums.counts > 0]
    if not len(counts):
        return float("nan")
    shares = counts / counts.sum()
    value = float(-(shares * np.log(shares)).sum() / np.log(base)) + 0.0
    return value if per == "all" else value / len(counts)


def evenness(sums: Sums) -> float:
    """Entropy over the greatest that the catalogue allows: −Σ_i pᵢ · log pᵢ / log I.

    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> evenness(Listed(np.array([[0, 1], [2, 3]]), 4).sums())
    1.0
    """
    return entropy(sums, base=len(sums.counts)) if len(sums.counts) > 1 else float("nan")


Gini = ListMetric(
    "Gini",
    gini,  # type: ignore[arg-type]
    title="How unevenly items are shown; 0 if all are shown equally often.",
    formula="Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending",
    aliases=("gini_index",),
    higher_is_better=False,
    merge="items",
    source=f"{_ADOMAVICIUS}; RecBole, LensKit (the defaults), elliot, ClayRS, evidently",
    sees="how often each item is shown",
)
ExposureGini = ListMetric(
    "ExposureGini",
    exposure_gini,  # type: ignore[arg-type]
    title="How unevenly items are exposed; 0 if all are exposed equally.",
    formula="ExposureGini = Σ_i (2i − n − 1) · εᵢ / (n · Σ ε),   ε ascending",
    aliases=("exposure_gini",),
    higher_is_better=False,
    merge="items",
    look=attention_weights,
    source="Gini of exposure: LensKit (weight geometric, patience 0.85)",
    sees="how often and at which ranks each item is shown",
)
Equality = ListMetric(
    "Equality",
    equality,  # type: ignore[arg-type]
    title="How evenly items are shown; 1 if all are shown equally often.",
    formula="Equality = 1 − Gini",
    merge="items",
    source=f"{_ADOMAVICIUS}; elliot's Gini (divisor n − 1)",
    sees="how often each item is shown",
)
Entropy = ListMetric(
    "Entropy",
    entropy,  # type: ignore[arg-type]
    title="How evenly items are shown, in bits.",
    formula="Entropy = −Σ_i pᵢ · log₂ pᵢ",
    aliases=("shannon_entropy", "distributional_coverage"),
    high=None,
    merge="items",
    source=f"{_ADOMAVICIUS}; elliot, recommenders (the default), RecBole",
    sees="how often each item is shown",
)
Evenness = ListMetric(
    "Evenness",
    evenness,  # type: ignore[arg-type]
    title="Entropy over the greatest that the catalogue allows.",
    formula="Evenness = −Σ_i pᵢ · log pᵢ / log I",
    merge="items",
    source="Pielou, J. Theoretical Biology 13, 1966, doi:10.1016/0022-5193(66)90013-0",
    sees="how often each item is shown",
)
