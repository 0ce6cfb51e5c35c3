"""Five documents that say how to measure a ranking, each under its own numbers."""

from __future__ import annotations

from dataclasses import replace
from math import e, ulp

from rankgate.measurement.scoring.convention import Convention
from rankgate.measurement.scoring.presets.trec import PYTREC_EVAL

_ABOVE_ZERO = ulp(0.0)  # the least number above 0: any worth at all is relevant

GUIDE = Convention(
    "guide",
    "A technical guide to evaluating search and recommendation: what its code computes",
    source="S. Srivastava, Beyond Accuracy: A Technical Guide to Evaluating Search and "
    "Recommendation Systems, 2025-03-24",
    defects=(
        "MRR@k takes the rank of the first query's hit for every query; here each has its own",
        "DCG of an empty list raises IndexError; here it is 0",
        "MRR@0 means no cutoff; here a cutoff is at least 1",
        "its text divides AP by all relevant documents, its code by those in the first k",
    ),
    ties="file_order",
    duplicates="each",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "AP": {"denominator": "found"},
        "DCG": {"gain": "signed"},
        "nDCG": {"gain": "signed"},
    },
)
ESCI = Convention(
    "esci",
    "A product search benchmark's page on its metrics: what its text says",
    source="Evaluation Metrics of a search ranking stack on the Shopping Queries data; "
    "its code is esci-code",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp"},
        "RR": {"cutoff": 10},
    },
)
ESCI_CODE = replace(
    PYTREC_EVAL,
    name="esci-code",
    title="The same benchmark: what its code computes, linear gain and an uncut reciprocal rank",
    source="the pytrec_eval measures that it names: ndcg_cut_10, recip_rank, recall_100",
    versions="pytrec_eval-terrier 0.5.11",
    defects=(
        "its MRR@10 is recip_rank, which has no cutoff: say RR; here MRR@k ends at k, as written",
    ),
    spellings={"MRR@{k}": "RR@{k}", "NDCG@{k}": "nDCG@{k}", "Recall@{k}": "R@{k}"},
)
NOTE = Convention(
    "note",
    "A note on evaluating recommender models: its formulas, taken at their word",
    source="Evaluating Recommender Model, 2025-08-02; ranks counted from 1",
    defects=(
        "it prints one formula for DCG and IDCG; here the ideal is the best order of all judged",
        "AP is the mean of P@1 to P@K, whether or not there is a hit, and seldom reaches 1",
        "RR is 1 / (1 + rank) and stays at a half or below",
    ),
    ties="file_order",
    without_relevant=None,
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "AP": {"denominator": "ranks"},
        "DCG": {"gain": "exp", "base": e},
        "nDCG": {"gain": "exp"},
        "RR": {"offset": 1},
    },
    special={"AP": {"without_relevant": 0.0}},
)
LEAF = Convention(
    "leaf",
    "A chapter on relevance evaluation for a search migration: what its code computes",
    source="Relevance Evaluation, with judgments as {query: {document: gain}}",
    ties="file_order",
    duplicates="each",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "DCG": {"gain": "signed"},
        "nDCG": {"gain": "signed"},
    },
)

PRESETS = (GUIDE, ESCI, ESCI_CODE, NOTE, LEAF)
