"""Libraries for learning to rank and recommend, whose metrics take arrays of scores.

All but LensKit see one list a query and nothing else: the judged documents that a run lacks
are, for them, either not there at all or at the end with the lowest scores. Give them in the
run where the tool was given them; here they count as relevant documents that were missed.
"""

from __future__ import annotations

from rankgate.measurement.scoring.convention import Convention

_WHOLE = 10**9
"""A cutoff behind every document, for metrics that need one."""

SKLEARN = Convention(
    "sklearn",
    "scikit-learn: nDCG and DCG averaged over the orders of tied scores",
    source="scikit-learn 1.9.1, sklearn/metrics/_ranking.py, executed",
    versions="1.9.1",
    defects=("with ignore_ties=True, equal scores are in an order that no rule fixes",),
    ties="file_order",
    missing="leave_out",
    parameters={
        "DCG": {"gain": "signed", "ties": "averaged"},
        "nDCG": {"ties": "averaged", "negative": "refused", "single": "refused"},
    },
    special={"LRAP": {"without_relevant": 1.0}},
    spellings={
        "ndcg_score": "nDCG",
        "ndcg_score(k={k})": "nDCG@{k}",
        "ndcg_score(ignore_ties=True)": "nDCG(ties='broken')",
        "ndcg_score(k={k}, ignore_ties=True)": "nDCG(ties='broken')@{k}",
        "dcg_score": "DCG",
        "dcg_score(k={k})": "DCG@{k}",
        "dcg_score(log_base={base})": "DCG(base={base})",
        "dcg_score(k={k}, log_base={base})": "DCG(base={base})@{k}",
        "dcg_score(ignore_ties=True)": "DCG(ties='broken')",
        "dcg_score(k={k}, ignore_ties=True)": "DCG(ties='broken')@{k}",
        "label_ranking_average_precision_score": "LRAP",
    },
)
TORCHMETRICS = Convention(
    "torchmetrics",
    "torchmetrics' retrieval metrics; a score of 0 or less is not retrieved, for some of them",
    source="torchmetrics 1.9.0, torchmetrics/functional/retrieval, executed",
    versions="1.9.0",
    defects=(
        "equal scores are in an order that depends on the length of the list and the device",
        (
            "precision without top_k, or with adaptive_k, divides by the whole list, scores of 0 "
            "or less included; here those are not part of it"
        ),
    ),
    ties="file_order",
    precision="float32",
    missing="leave_out",
    parameters={
        "AP": {"denominator": "found"},
        "nDCG": {"gain": "signed", "ideal": "known", "ties": "averaged"},
    },
    special={name: {"above": 0.0} for name in ("AP", "RR", "P", "R", "SetP", "SetR")},
    spellings={
        "retrieval_average_precision": "AP",
        "retrieval_average_precision(top_k={k})": "AP@{k}",
        "retrieval_fall_out": "FallOut",
        "retrieval_fall_out(top_k={k})": "FallOut@{k}",
        "retrieval_hit_rate": f"Success@{_WHOLE}",
        "retrieval_hit_rate(top_k={k})": "Success@{k}",
        "retrieval_normalized_dcg": "nDCG",
        "retrieval_normalized_dcg(top_k={k})": "nDCG@{k}",
        "retrieval_precision": "SetP",
        "retrieval_precision(top_k={k})": "P@{k}",
        "retrieval_precision(top_k={k}, adaptive_k=True)": "P(denominator='returned')@{k}",
        "retrieval_r_precision": "Rprec",
        "retrieval_recall": "SetR",
        "retrieval_recall(top_k={k})": "R@{k}",
        "retrieval_reciprocal_rank": "RR",
        "retrieval_reciprocal_rank(top_k={k})": "RR@{k}",
        "RetrievalMAP": "AP",
        "RetrievalMRR": "RR",
        "RetrievalNormalizedDCG": "nDCG",
        "RetrievalRPrecision": "Rprec",
    },
)
RAX = Convention(
    "rax",
    "rax: gains of 2 to the grade less 1, relevant from grade 1",
    source="rax 0.4.0 on jax, rax/_src/metrics.py, executed",
    versions="0.4.0",
    defects=("grades below 0 have gains below 0; here they are worth nothing",),
    ties="file_order",
    precision="float32",
    missing="leave_out",
    parameters={
        "P": {"denominator": "returned"},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp"},
    },
    spellings={
        "mrr_metric()": "RR",
        "mrr_metric(topn={n})": "RR@{n}",
        "recall_metric()": "SetR",
        "recall_metric(topn={n})": "R@{n}",
        "precision_metric()": "SetP",
        "precision_metric(topn={n})": "P@{n}",
        "ap_metric()": "AP",
        "ap_metric(topn={n})": "AP@{n}",
        "dcg_metric()": "DCG",
        "dcg_metric(topn={n})": "DCG@{n}",
        "ndcg_metric()": "nDCG",
        "ndcg_metric(topn={n})": "nDCG@{n}",
        "opa_metric()": "OPA",
    },
)
ALLRANK = Convention(
    "allrank",
    "allRank: a query without a relevant document counts 1; RR seeks the highest grade",
    source="allegro/allRank 1.4.3, allrank/models/metrics.py, executed",
    versions="1.4.3",
    defects=(
        "RR is 0, not 1, for queries without a relevant document if no query of the batch has one",
        "a grade of -1 is padding, and other grades below 0 have gains below 0",
    ),
    ties="file_order",
    precision="float32",
    missing="leave_out",
    parameters={"RR": {"target": "best"}, "DCG": {"gain": "exp"}, "nDCG": {"gain": "exp"}},
    special={"RR": {"without_relevant": 1.0}, "nDCG": {"without_relevant": 1.0}},
    spellings={
        "mrr()": "RR",
        "mrr(ats=[{k}])": "RR@{k}",
        "dcg()": "DCG",
        "dcg(ats=[{k}])": "DCG@{k}",
        "ndcg()": "nDCG",
        "ndcg(ats=[{k}])": "nDCG@{k}",
    },
)
LENSKIT = Convention(
    "lenskit",
    "LensKit: lists as they are, shared denominators, queries without relevant items left out",
    source="lenskit 2025.8.1, lenskit/metrics/ranking, executed",
    versions="2025.8.1",
    defects=(
        "AveragePrecision stops with a division by 0 where nothing is relevant",
        (
            "every item of the test list is relevant, rated or not; here, one with a grade of 1 "
            "or more, and for NDCG above 0"
        ),
    ),
    order="file",
    without_relevant=None,
    nothing_retrieved=None,
    nothing_judged=None,
    parameters={
        "P": {"denominator": "returned"},
        "R": {"denominator": "reachable"},
        "AP": {"denominator": "returned"},
        "RBP": {"p": 0.85},
        "CategoryEntropy": {"smoothing": 1e-6},
        "ExposureGini": {"weight": "geometric", "patience": 0.85},
        "DCG": {"gain": "binary", "discount": "original"},
        "nDCG": {"gain": "binary", "discount": "original"},
    },
    special={
        "AP": {"forced": {"nothing_retrieved": None}},
        "RBP": {"forced": {"without_relevant": None}},
    },
    spellings={
        "ListGini(n={n})": "Gini@{n}",
        "ExposureGini(n={n})": "ExposureGini@{n}",
        "MeanPopRank(n={n})": "PopularityRank@{n}",
        "entropy(n={n})": "CategoryEntropy@{n}",
        "rank_biased_entropy(n={n})": "CategoryEntropy(weight='geometric')@{n}",
        "Precision()": "SetP",
        "Precision({n})": "P@{n}",
        "Recall()": "SetR",
        "Recall({n})": "R@{n}",
        "RecipRank()": "RR",
        "RecipRank({n})": "RR@{n}",
        "AveragePrecision()": "AP",
        "AveragePrecision({n})": "AP@{n}",
        "Hit()": f"Success@{_WHOLE}",
        "Hit({n})": "Success@{n}",
        "NDCG()": "nDCG",
        "NDCG({n})": "nDCG@{n}",
        "NDCG(gain='rating')": "nDCG(gain='signed')",
        "NDCG({n}, gain='rating')": "nDCG(gain='signed')@{n}",
        "DCG()": "DCG",
        "DCG({n})": "DCG@{n}",
        "DCG(gain='rating')": "DCG(gain='signed')",
        "DCG({n}, gain='rating')": "DCG(gain='signed')@{n}",
        "RBP()": "RBP",
        "RBP({n})": "RBP@{n}",
        "RBP(patience={p})": "RBP(p={p})",
        "RBP({n}, patience={p})": "RBP(p={p})@{n}",
    },
)
XGBOOST = Convention(
    "xgboost",
    "XGBoost's ranking metrics named without a minus: without a relevant document they are 1",
    source="XGBoost 2 and 3, src/metric/rank_metric.cc and the parameter page, read",
    versions="2 and 3",
    defects=("with a name that ends in a minus such queries are 0; set without_relevant=0",),
    ties="file_order",
    precision="float32",
    missing="leave_out",
    parameters={
        "P": {"denominator": "returned"},
        "AP": {"denominator": "reachable"},
        "nDCG": {"gain": "exp"},
    },
    special={"AP": {"without_relevant": 1.0}, "nDCG": {"without_relevant": 1.0}},
    spellings={
        "ndcg": "nDCG",
        "ndcg@{k}": "nDCG@{k}",
        "map": "AP",
        "map@{k}": "AP@{k}",
        "pre": "SetP",
        "pre@{k}": "P@{k}",
    },
)
RANKEVAL = Convention(
    "rankeval",
    "rankeval: its metrics query by query, every document of the data set being ranked",
    source="rankeval 0.8.2, rankeval/metrics",
    versions="0.8.2",
    defects=(
        "equal scores are in the order of an unstable sort, turned round",
        "over a whole data set the ideal of nDCG is kept as a 32-bit float",
        "average precision is 1 also where relevant documents exist and none is in the first k",
    ),
    ties="file_order",
    parameters={
        "AP": {"denominator": "returned"},
        "P": {"denominator": "returned"},
        "nDCG": {"gain": "exp"},
        "ERR": {"scale": "query"},
        "RBP": {"p": 0.5},
    },
    special={
        "AP": {"without_relevant": 1.0, "forced": {"zero": 1.0}},
        "nDCG": {"without_relevant": 1.0},
    },
    spellings={
        "MAP()": "AP",
        "MAP(cutoff={k})": "AP@{k}",
        "MRR()": "RR",
        "MRR(cutoff={k})": "RR@{k}",
        "NDCG()": "nDCG",
        "NDCG(cutoff={k})": "nDCG@{k}",
        "NDCG(cutoff={k}, implementation='flat')": "nDCG(gain='linear')@{k}",
        "DCG(cutoff={k})": "DCG@{k}",
        "Precision(cutoff={k})": "P@{k}",
        "Recall(cutoff={k})": "R@{k}",
        "ERR()": "ERR",
        "ERR(cutoff={k})": "ERR@{k}",
        "RBP()": "RBP",
        "RBP(cutoff={k})": "RBP@{k}",
    },
)

PRESETS = (RANKEVAL, SKLEARN, TORCHMETRICS, RAX, ALLRANK, LENSKIT, XGBOOST)
