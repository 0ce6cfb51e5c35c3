"""Users of classical metrics as continuation functions, and those who mind time and text."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.browsing.browsed import Browsed, ContinuationModel, from_weights
from rankgate.measurement.metrics.browsing.declare import user_model
from rankgate.measurement.metrics.judged import Floats

_CWL = "Moffat, Bailey, Scholer & Thomas, ACM TOIS 35(3), 2017, doi:10.1145/3052768; cwl_eval"


def time_biased(
    browsed: Browsed, *, halflife: Annotated[float, Range(0, exclusive=True)] = 224
) -> Floats:
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
        L: the text after which nobody reads on, in units of cost.
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
        share = (
            total_gain
            / browsed.total_cost
            / np.where(browsed.relevant > 0, browsed.relevant, 1)[:, None]
        )
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
    """Users who go on as the logarithmic discount says, down to rank k.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
    """
    continuation = np.where(
        browsed.rank < cutoff, np.log2(browsed.rank + 1) / np.log2(browsed.rank + 2), 0
    )
    return np.broadcast_to(continuation, browsed.gain.shape)


def net_present_value(browsed: Browsed, *, rate: Annotated[float, Range(0)] = 0.1) -> Floats:
    """Users to whom the next document is worth 1/(1 + rate) of this one.

    Args:
        browsed: gains and costs by rank.
        rate: what waiting for one document costs, as a share.
    """
    return np.full(browsed.gain.shape, 1 / (1 + rate))


def economic(
    browsed: Browsed, *, cutoff: Cutoff, beta: Annotated[float, Range(0, 1)] = 0.5
) -> Floats:
    """Users to whom k documents are worth k^β.

    Args:
        browsed: gains and costs by rank.
        cutoff: k.
        beta: how little less the next document is worth; 1 is precision.
    """
    weight = (browsed.rank + 1) ** beta - browsed.rank**beta
    next_weight = (browsed.rank + 2) ** beta - (browsed.rank + 1) ** beta
    continuation = np.divide(next_weight, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.broadcast_to(np.where(browsed.rank < cutoff, continuation, 0), browsed.gain.shape)


TBG = user_model(
    "TBG",
    time_biased,
    title="Expected gain a document for users who stop with time.",
    formula="W(i) ∝ 2^(−t(i)/h),   t(i) the cost of what is above rank i",
    aliases=("time_biased_gain",),
    source="Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300; cwl_eval",
)
UMeasure = user_model(
    "U",
    u_measure,
    title="Expected gain a document for users who stop with the text they have read.",
    formula="W(i) ∝ max(0, 1 − t(i)/L),   t(i) the cost of what is above rank i",
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
    formula="C(i) = 1 if nothing is gained down to i, else 0",
    source=_CWL,
)
CWL_SDCG = user_model(
    "CWL_SDCG",
    scaled_dcg,
    title="Scaled DCG as a model of users: they go on as its discount says.",
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
