"""Users who have a goal: INST, INSQ, BPM, information foraging."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.measurement.metrics.browsing.browsed import Browsed
from rankgate.measurement.metrics.browsing.declare import user_model
from rankgate.measurement.metrics.judged import Floats

Goal = Annotated[float, Range(0)]


def inst(browsed: Browsed, *, T: Goal = 1.0) -> Floats:
    """Users who want T of gain, and go on the less, the more of it they have.

    Args:
        browsed: gains and costs by rank.
        T: the gain that users want.
    """
    remaining_gain = T - browsed.total_gain
    return ((browsed.rank + T + remaining_gain - 1) / (browsed.rank + T + remaining_gain)) ** 2


def insq(browsed: Browsed, *, T: Goal = 1.0) -> Floats:
    """Users who want T of gain, and go on the more, the deeper they are.

    Args:
        browsed: gains and costs by rank.
        T: the gain that users want.
    """
    continuation = ((browsed.rank + 2 * T - 1) / (browsed.rank + 2 * T)) ** 2
    return np.broadcast_to(continuation, browsed.gain.shape)


def bejewelled(browsed: Browsed, *, cutoff: Cutoff, T: Goal = 1.0) -> Floats:
    """Users who stop when they have T of gain, or have spent K.

    Args:
        browsed: gains and costs by rank.
        cutoff: K, the cost that users spend; with a cost of 1 the ranks they see.
        T: the gain that users want.
    """
    return ((browsed.total_gain < T) & (browsed.total_cost < cutoff)).astype(np.float64)


def dynamic_bejewelled(
    browsed: Browsed,
    *,
    cutoff: Cutoff,
    T: Goal = 1.0,
    hb: Annotated[float, Range(0)] = 1.0,
    hc: Annotated[float, Range(0)] = 1.0,
    median: Annotated[float, Range(0, 1)] = 0.5,
) -> Floats:
    """Users as of BPM whose T and K grow with what they find: good documents make them want more.

    Args:
        browsed: gains and costs by rank.
        cutoff: K at the beginning.
        T: the gain that users want at the beginning.
        hb: how much T changes with a gain above the median; cwl_eval's dynamic model has hc=0.
        hc: how much K changes with it.
        median: the gain that changes nothing.
    """
    change = np.cumsum(browsed.gain - median, axis=1) - (
        browsed.gain - median
    )  # of the ranks above
    wants = browsed.total_gain < T + hb * change
    affords = browsed.total_cost < cutoff + hc * change
    continues = [np.logical_and.accumulate(condition, axis=1) for condition in (wants, affords)]
    return (continues[0] & continues[1]).astype(np.float64)


def foraging(
    browsed: Browsed,
    *,
    by: Literal["goal", "rate", "both"] = "both",
    T: Annotated[float, Range(0), OnlyWith("by", "goal", "both")] = 2.0,
    b1: Annotated[float, Range(0), OnlyWith("by", "goal", "both")] = 0.9,
    R1: Annotated[float, Range(0), OnlyWith("by", "goal", "both")] = 10.0,
    A: Annotated[float, Range(0), OnlyWith("by", "rate", "both")] = 0.2,
    b2: Annotated[float, Range(0), OnlyWith("by", "rate", "both")] = 0.9,
    R2: Annotated[float, Range(0), OnlyWith("by", "rate", "both")] = 10.0,
) -> Floats:
    """Users who stop near a goal of gain, or where the rate of gain is low.

    Args:
        browsed: gains and costs by rank.
        by: the `goal`, the `rate`, or `both`.
        T: the gain that users want.
        b1: how likely they stop with nothing to decide by, for the goal.
        R1: how strictly they follow the goal; 0 not at all.
        A: the rate of gain that users expect.
        b2: how likely they stop with nothing to decide by, for the rate.
        R2: how strictly they follow the rate; 0 not at all.
    """
    continuation = np.ones(browsed.gain.shape)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if by != "rate":
            continuation = continuation * (1 - 1 / (1 + b1 * np.exp((T - browsed.total_gain) * R1)))
        if by != "goal":
            rate = browsed.total_gain / browsed.total_cost
            continuation = continuation / (1 + b2 * np.exp((A - rate) * R2))
    return continuation


INST = user_model(
    "INST",
    inst,
    title="Expected gain a document for users who want T, and stop the sooner the more they have.",
    formula="C(i) = ((i + 2T − G(i) − 1) / (i + 2T − G(i)))²,   G(i) gained down to rank i",
    source="Moffat, Bailey, Scholer & Thomas, ADCS 2015, doi:10.1145/2838931.2838938; cwl_eval",
)
INSQ = user_model(
    "INSQ",
    insq,
    title="Expected gain a document for users who want T, and go on the more the deeper they are.",
    formula="C(i) = ((i + 2T − 1) / (i + 2T))²",
    source="Moffat, Scholer & Thomas, ADCS 2012, doi:10.1145/2407085.2407092; cwl_eval",
)
BPM = user_model(
    "BPM",
    bejewelled,
    title="Expected gain a document for users who stop when they have T or have spent K.",
    formula="C(i) = 1 if G(i) < T and cost(i) < K, else 0",
    aliases=("bejewelled_player_model",),
    source="Zhang et al., SIGIR 2017, doi:10.1145/3077136.3080841; cwl_eval (static)",
)
BPMD = user_model(
    "BPMD",
    dynamic_bejewelled,
    title="BPM whose T and K grow when users find more than they expect.",
    formula="C(i) as of BPM, with T + hb·Σ_{j<i} (g(j) − m) and K + hc·Σ_{j<i} (g(j) − m)",
    source="Zhang et al., SIGIR 2017, doi:10.1145/3077136.3080841",
)
IFT = user_model(
    "IFT",
    foraging,
    title="Expected gain a document for users who forage: stop at a goal, or at a low rate.",
    formula="C(i) = (1 − 1/(1 + b1·e^((T − G(i))·R1))) · 1/(1 + b2·e^((A − G(i)/cost(i))·R2))",
    aliases=("information_foraging",),
    source="Azzopardi, Thomas & Craswell, SIGIR 2018, doi:10.1145/3209978.3210027; cwl_eval",
)
