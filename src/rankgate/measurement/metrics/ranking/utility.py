"""Utility: linear gain and cost of each shown document."""

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged


def utility(
    judged: Judged,
    *,
    found: float = 1.0,
    noise: float = -1.0,
    missed: float = 0.0,
    avoided: float = 0.0,
    documents: float = 0.0,
    rel: float = 1,
) -> Floats:
    """Worth of the result set, so much for each document of four kinds.

        Utility = a·hits + b·(n − hits) + c·(R − hits) + d·(N + hits − n − R)

    Args:
        judged: the block.
        found: a, the worth of a relevant document retrieved.
        noise: b, of another document retrieved.
        missed: c, of a relevant document left out.
        avoided: d, of another document left out.
        documents: N, how many documents the collection has.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)`` in the unit of the four worths.

    >>> from rankgate.measurement.metrics.judged import block
    >>> utility(block([[1, 0, None]]))  # one found, two of noise
    array([-1.])
    """
    judged = judged.at_level(rel)
    hits, retrieved, relevant = judged.relevant_retrieved, judged.retrieved, judged.relevant
    value: Floats = (
        found * hits
        + noise * (retrieved - hits)
        + missed * (relevant - hits)
        + avoided * (documents + hits - retrieved - relevant)
    )
    return value


Utility = Metric(
    "Utility",
    utility,
    title="The worth of the result set, so much for each document found, shown or missed.",
    formula="Utility = a·hits + b·(n − hits) + c·(R − hits) + d·(N + hits − n − R)",
    trec=("utility",),
    at=None,
    low=float("-inf"),
    high=None,
    source="Lewis, The TREC-4 filtering track, TREC-4, NIST SP 500-236, 1995; trec_eval",
    sees="what a filter lets through and what it keeps out",
    blind_to="the order of the list, grades above rel, and that queries differ in how much "
    "there is to win: the largest dominate a mean",
)
