"""Metrics of browsing users by their continuation functions: the C/W/L framework."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.measurement.metrics.browsing.browsing_model import (
    Browsed,
    ContinuationModel,
    from_weights,
    user_model,
)

_CWL = "Moffat, Bailey, Scholer & Thomas, ACM TOIS 35(3), 2017, doi:10.1145/3052768; cwl_eval"


def time_biased(browsed: Browsed, *, halflife: Annotated[float, Range(0, exclusive=True)] = 224) -> Floats:
    """Users who stop with time: half of them are gone after the half-life.

    Args:
        browsed: gains and costs by rank.
        halflife: h, in units of cost, such as seconds.
    """
    cost_above = browsed.total_cost - browsed.cost
    return from_weights(np.exp2(-cost_above / halflife))


def u_measure(browsed: Browsed, *, L: Annotated[float, Range(0, exclusive=True)] = 1000) -> Floats:
    """Users who stop with the text read: all of them are gone after L characters.

    Args:
        browsed: gains and costs by rank.
        L: the amount of text after which users stop, in units of cost.
    """
    cost_above = browsed.total_cost - browsed.cost
    weights = np.maximum(0, 1 - cost_above / L)
    weights[:, -1] = 0
    return from_weights(weights)


def truncated_ap(
    browsed: Browsed, *, weights: Literal["ahead", "precision"] = "ahead"
) -> Floats | ContinuationModel:
    """Users of average precision over the documents retrieved, who know what is ahead.

    Args:
        browsed: gains and costs by rank.
        weights: as the gain over rank still ahead (`ahead`), or the precision over the number
            of relevant documents (`precision`, TrAPCWLMetric of cwl_eval).
    """
    if weights == "precision":
        total_gain = np.where(browsed.total_gain == 0, 1, browsed.total_gain)
        total_gain[:, -1] = browsed.total_gain[:, -1]
        share = total_gain / browsed.total_cost / np.where(browsed.relevant > 0, browsed.relevant, 1)[:, None]
        return ContinuationModel(from_weights(share), share)
    gain_below = np.cumsum((browsed.gain / browsed.rank)[:, ::-1], axis=1)[:, ::-1]
    return from_weights(gain_below)


def precision(browsed: Browsed, *, cutoff: Cutoff) -> Floats:
    """Users who see k documents.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
    """
    return np.broadcast_to((browsed.rank < cutoff).astype(np.float64), browsed.gain.shape)


def rank_biased(browsed: Browsed, *, p: Annotated[float, Range(0, 1)] = 0.9) -> Floats:
    """Users who go on with probability p.

    Args:
        browsed: gains and costs by rank.
        p: the persistence.
    """
    return np.full(browsed.gain.shape, p)


def reciprocal_rank(browsed: Browsed) -> Floats:
    """Users who stop at the first document that gains anything."""
    return np.where(browsed.total_gain == 0, 1.0, 0.0)


def scaled_dcg(browsed: Browsed, *, cutoff: Cutoff) -> Floats:
    """Users who continue by the logarithmic discount, down to rank k.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
    """
    continuation = np.where(browsed.rank < cutoff, np.log2(browsed.rank + 1) / np.log2(browsed.rank + 2), 0)
    return np.broadcast_to(continuation, browsed.gain.shape)


def net_present_value(browsed: Browsed, *, rate: Annotated[float, Range(0)] = 0.1) -> Floats:
    """Users to whom the next document is worth 1/(1 + rate) of this one.

    Args:
        browsed: gains and costs by rank.
        rate: the cost of waiting for one document, as a share.
    """
    return np.full(browsed.gain.shape, 1 / (1 + rate))


def economic(browsed: Browsed, *, cutoff: Cutoff, beta: Annotated[float, Range(0, 1)] = 0.5) -> Floats:
    """Users to whom k documents are worth k^β.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
        beta: the discount of each further document; 1 is precision.
    """
    weight = (browsed.rank + 1) ** beta - browsed.rank**beta
    next_weight = (browsed.rank + 2) ** beta - (browsed.rank + 1) ** beta
    continuation = np.divide(next_weight, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.broadcast_to(np.where(browsed.rank < cutoff, continuation, 0), browsed.gain.shape)


TBG = user_model(
    "TBG",
    time_biased,
    title="Expected gain a document for users who stop with time.",
    formula="W(i) ∝ 2^(−t(i)/h),   t(i) the cost of the documents above rank i",
    aliases=("time_biased_gain",),
    source="Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300; cwl_eval",
)
UMeasure = user_model(
    "U",
    u_measure,
    title="Expected gain a document for users who stop with the text they have read.",
    formula="W(i) ∝ max(0, 1 − t(i)/L),   t(i) the cost of the documents above rank i",
    aliases=("UMeasure", "U_measure"),
    source="Sakai & Dou, SIGIR 2013, doi:10.1145/2484028.2484031; cwl_eval",
)
TrAP = user_model(
    "TrAP",
    truncated_ap,
    title="Average precision over the relevant documents retrieved, as a model of users.",
    formula="W(i) ∝ Σ_{j≥i} g(j)/j",
    source=_CWL,
)
CWL_P = user_model(
    "CWL_P",
    precision,
    title="Precision as a model of users: they see k documents.",
    formula="C(i) = 1 for i < k, else 0",
    source=_CWL,
)
CWL_RBP = user_model(
    "CWL_RBP",
    rank_biased,
    title="RBP as a model of users: they go on with probability p.",
    formula="C(i) = p",
    source=_CWL,
)
CWL_RR = user_model(
    "CWL_RR",
    reciprocal_rank,
    title="Reciprocal rank as a model of users: they stop at the first gain.",
    formula="C(i) = 1 if the gain down to i is 0, else 0",
    source=_CWL,
)
CWL_SDCG = user_model(
    "CWL_SDCG",
    scaled_dcg,
    title=("Scaled DCG as a model of users: the probability that they go on is given by its discount."),
    formula="C(i) = log₂(i + 1)/log₂(i + 2) for i < k, else 0",
    source=_CWL,
)
NPV = user_model(
    "NPV",
    net_present_value,
    title="Net present value: users to whom waiting costs a rate.",
    formula="C(i) = 1/(1 + rate)",
    source="Azzopardi, Thomas & Moffat, SIGIR 2019, doi:10.1145/3331184.3331398; cwl_eval",
)
SET = user_model(
    "SET",
    economic,
    title="Search economics: users to whom k documents are worth k^β.",
    formula="C(i) = w(i + 1)/w(i) for i < k, w(i) = (i + 1)^β − i^β",
    source="Azzopardi, SIGIR 2014, doi:10.1145/2600428.2609574; cwl_eval",
)


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
    return np.where(browsed.rank < cutoff, browsed.rank / (browsed.rank + 1) * (1 - browsed.gain), 0)


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
        hb: the change of T by a gain above the median; cwl_eval's dynamic model has hc=0.
        hc: the change of K by a gain above the median.
        median: the gain that changes nothing.
    """
    change = np.cumsum(browsed.gain - median, axis=1) - (browsed.gain - median)  # of the ranks above
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
        b1: the probability of stopping without evidence, for the goal.
        R1: the strictness of the goal; 0 ignores it.
        A: the rate of gain that users expect.
        b2: the probability of stopping without evidence, for the rate.
        R2: the strictness of the rate; 0 ignores it.
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
    title="BPM with T and K that grow when users find more than they expect.",
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
