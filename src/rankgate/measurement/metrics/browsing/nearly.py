"""Nearly expected reciprocal rank: four metrics of the C/W/L framework close to ERR."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.browsing.browsed import Browsed
from rankgate.measurement.metrics.browsing.declare import user_model
from rankgate.measurement.metrics.judged import Floats

_SOURCE = "Azzopardi, Mackenzie & Moffat, ICTIR 2021, doi:10.1145/3471158.3472239; cwl_eval"


def truncated(browsed: Browsed, *, cutoff: Cutoff) -> Floats:
    """Users whom a document satisfies as likely as it gains, down to rank k.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
    """
    return np.where(browsed.rank < cutoff, 1 - browsed.gain, 0)


def discounted(browsed: Browsed, *, cutoff: Cutoff) -> Floats:
    """The same, who also give up the less the deeper they are.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
    """
    return np.where(
        browsed.rank < cutoff, browsed.rank / (browsed.rank + 1) * (1 - browsed.gain), 0
    )


def persistent(browsed: Browsed, *, p: Annotated[float, Range(0, 1)] = 0.9) -> Floats:
    """Users whom a document satisfies as likely as it gains, and who go on with probability p.

    Args:
        browsed: gains and costs by rank.
        p: the persistence.
    """
    return p * (1 - browsed.gain)


def aiming(browsed: Browsed, *, T: Annotated[float, Range(0)] = 1.0) -> Floats:
    """Users whom a document satisfies as likely as it gains, and who want T as of INSQ.

    Args:
        browsed: gains and costs by rank.
        T: the gain that users want.
    """
    return ((browsed.rank + 2 * T - 1) / (browsed.rank + 2 * T)) ** 2 * (1 - browsed.gain)


NERR8 = user_model(
    "NERR8",
    truncated,
    title="Nearly ERR: users stop where a document satisfies them, or at rank k.",
    formula="C(i) = 1 − g(i) for i < k, else 0",
    source=f"{_SOURCE}, equation 8",
)
NERR9 = user_model(
    "NERR9",
    discounted,
    title="Nearly ERR: the same with a discount by rank.",
    formula="C(i) = i/(i + 1) · (1 − g(i)) for i < k, else 0",
    source=f"{_SOURCE}, equation 9",
)
NERR10 = user_model(
    "NERR10",
    persistent,
    title="Nearly ERR: users stop where a document satisfies them, or with probability 1 − p.",
    formula="C(i) = p · (1 − g(i))",
    source=f"{_SOURCE}, equation 10",
)
NERR11 = user_model(
    "NERR11",
    aiming,
    title="Nearly ERR: users stop where a document satisfies them, or as of INSQ.",
    formula="C(i) = ((i + 2T − 1) / (i + 2T))² · (1 − g(i))",
    source=f"{_SOURCE}, equation 11",
)
