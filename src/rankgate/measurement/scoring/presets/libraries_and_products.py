"""Conventions of learning-to-rank and recommender libraries, and of search products.

Libraries take arrays of scores. All but LensKit see one list a query and nothing else: the judged
documents that a run lacks are, for them, either not there at all or at the end with the lowest
scores. Give them in the run where the tool was given them; here they count as relevant documents
that were missed.
"""

from __future__ import annotations

from dataclasses import replace
from math import e, nan, ulp

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
            "precision without top_k, or with adaptive_k, divides by the whole list, scores of 0 or less "
            "included; here those are not part of it"
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
    parameters={"P": {"denominator": "returned"}, "DCG": {"gain": "exp"}, "nDCG": {"gain": "exp"}},
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
    "LensKit: lists as they are, shared denominators, the mean of RunAnalysis.list_summary()",
    source="lenskit 2025.8.1, lenskit/metrics/ranking and RunAnalysis, executed",
    versions="2025.8.1",
    defects=(
        "AveragePrecision stops with a division by 0 if no document is relevant; here it is 0",
        "a list without a value, NaN of measure_list, is 0 in list_metrics() and in means; here too",
        "a test user whom the run lacks is not in its mean; here one counts as an empty list",
        (
            "every item of the test list is relevant, rated or not; here, one with a grade of 1 or more, and "
            "for NDCG above 0"
        ),
    ),
    order="file",
    unknown="zero",
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
    special={"AP": {"without_relevant": 1.0, "forced": {"zero": 1.0}}, "nDCG": {"without_relevant": 1.0}},
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


_ABOVE_ZERO = ulp(0.0)  # the least number above 0: any rating above it is relevant

QUEPID = Convention(
    "quepid",
    "Quepid's scorers in the browser, ratings 0 to 3",
    source="o19s/quepid, db/scorers/*.js at f80322f3, executed",
    versions="commit f80322f3",
    defects=("the server's copy of the scorers rounds to two decimals and may meet no rating",),
    ties="file_order",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "P": {"denominator": "returned"},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp", "depth": "all"},
        "ERR": {"max_grade": 3.0},
    },
    special={"AP": {"without_relevant": nan, "nothing_retrieved": nan}},
    spellings={
        "p@{k}": "P@{k}",
        "ap@{k}": "AP@{k}",
        "rr@{k}": "RR@{k}",
        "cg@{k}": "CG@{k}",
        "dcg@{k}": "DCG@{k}",
        "ndcg@{k}": "nDCG@{k}",
        "ndcg_cut@{k}": "nDCG(depth='cutoff')@{k}",
        "err@{k}": "ERR@{k}",
    },
)
SEARCHTWEAK = Convention(
    "searchtweak",
    "SearchTweak: keywords with nothing graded in the first k have no value",
    source="SearchTweak, app/Services/Scorers at 637b8890, and its page Evaluation Metrics",
    versions="commit 637b8890",
    defects=("the ideal is the list itself, sorted: a list of equally bad results has nDCG 1",),
    ties="file_order",
    missing="leave_out",
    nothing_retrieved=None,
    nothing_judged=None,
    forced={"nothing_judged": None},
    parameters={
        "P": {"denominator": "judged"},
        "AP": {"denominator": "found"},
        "nDCG": {"ideal": "shown"},
        "ERR": {"max_grade": 3.0},
    },
    spellings={
        "MP@{k}": "P@{k}",
        "ERR-0.18@{k}": "ERR(decay=0.18)@{k}",
        "CG(d)@{k}": "CG@{k}",
        "DCG(d)@{k}": "DCG@{k}",
        "nDCG(d)@{k}": "nDCG@{k}",
    },
)
ELASTICSEARCH = Convention(
    "elasticsearch",
    "Ranking evaluation API of Elasticsearch and of OpenSearch, _rank_eval",
    source="elastic/elasticsearch, modules/rank-eval, re-implemented",
    versions="sources of 2026; no release is recorded",
    defects=("a query that fails is left out of the mean, and the score does not show it",),
    ties="file_order",
    parameters={
        "P": {"denominator": "returned"},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp", "depth": "returned"},
    },
    spellings={
        "precision(k={k})": "P@{k}",
        "precision(k={k},ignore_unlabeled)": "P(denominator='judged')@{k}",
        "recall(k={k})": "R@{k}",
        "mean_reciprocal_rank(k={k})": "RR@{k}",
        "dcg(k={k})": "DCG@{k}",
        "dcg(k={k},normalize)": "nDCG@{k}",
        "expected_reciprocal_rank(k={k},maximum_relevance={top})": "ERR(max_grade={top})@{k}",
        "unrated_docs": "NumUnjudged",
        "unrated_docs(k={k})": "NumUnjudged@{k}",
    },
)
OPENSEARCH = Convention(
    "opensearch",
    "OpenSearch Search Relevance Workbench 3.1, not _rank_eval: values to two decimals",
    source="opensearch-project/search-relevance, Evaluation.java at d8be5d1b, executed",
    versions="3.1, commit d8be5d1b",
    defects=("later versions set the threshold by the ratings: one more judgment moves old values",),
    ties="file_order",
    digits=2,
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "P": {"denominator": "returned"},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp"},
    },
)
RRE = Convention(
    "rre",
    "Rated Ranking Evaluator: gains and results cut to two decimals",
    source="SeaseLtd/rated-ranking-evaluator, rre-core at e478aa7d",
    versions="commit e478aa7d",
    defects=(
        "ERR rounds every term to 8 decimals, AP and R round theirs up to 4; here they keep all",
        "DCG does not cut the gain of the first rank, which matters only to fractional gains",
        "an empty result has an ERR of 1, though there were documents to find",
    ),
    ties="file_order",
    forced={"nothing": 1.0, "no_judgments": 0.0},
    parameters={
        "*": {"rel": 0},
        "P": {"denominator": "returned"},
        "nDCG": {"gain": "exp", "term_digits": 2},
        "RR": {"rel": _ABOVE_ZERO, "target": "highest"},
        "ERR": {"max_grade": 3.0, "unjudged": 2.0},
    },
    special={
        "nDCG": {"digits": 2, "rounding": "down"},
        "P": {"digits": 2},
        "RR": {"digits": 2},
        "ERR": {"forced": {"nothing_retrieved": 1.0, "nothing_judged": 0.0}},
    },
)
PYVESPA = Convention(
    "pyvespa",
    "pyvespa's VespaEvaluator",
    source="vespa-engine/pyvespa, vespa/evaluation/_base.py, re-implemented",
    versions="1.2.9",
    defects=(
        "queries that have no judgments at all are not run; here they count 0",
        "graded judgments are refused by all metrics but nDCG",
    ),
    ties="file_order",
    parameters={"*": {"rel": _ABOVE_ZERO}, "AP": {"denominator": "reachable"}},
    spellings={"accuracy@{k}": "Success@{k}"},
)
HAYSTACK = Convention(
    "haystack",
    "Haystack's document evaluators, over whole lists",
    source=("deepset-ai/haystack 3.1 to 3.4, haystack/components/evaluators/document_*.py, re-implemented"),
    versions="3.1 to 3.4",
    ties="file_order",
    duplicates="place",
    parameters={"*": {"rel": _ABOVE_ZERO}, "nDCG": {"depth": "all"}},
    spellings={
        "DocumentNDCG": "nDCG",
        "DocumentMRR": "RR",
        "DocumentMAP": "AP",
        "DocumentRecall(multi_hit)": "SetR",
    },
)
HAYSTACK_3_0 = replace(
    HAYSTACK,
    name="haystack-3.0",
    title=(
        "Haystack's document evaluators before version 3.1, with MAP divided by the relevant documents found"
    ),
    source=("deepset-ai/haystack up to 3.0, haystack/components/evaluators/document_*.py, re-implemented"),
    versions="3.0",
    defects=("before pull request 11959 nDCG credited a document retrieved twice both times",),
    parameters={**HAYSTACK.parameters, "AP": {"denominator": "found"}},
    special={"AP": {"duplicates": "each"}},
)
MLFLOW = Convention(
    "mlflow",
    "MLflow's retriever metrics: a document is in the targets or not",
    source="mlflow/mlflow, mlflow/metrics/metric_definitions.py, re-implemented",
    versions="3.17.2",
    defects=("a document retrieved twice becomes two targets of nDCG; here it is an error",),
    ties="file_order",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "P": {"denominator": "returned"},
        "nDCG": {"gain": "binary", "depth": "returned"},
    },
    special={"nDCG": {"nothing_retrieved": 1.0}, "R": {"nothing_retrieved": 1.0}},
    spellings={"ndcg_at_k({k})": "nDCG@{k}", "precision_at_k({k})": "P@{k}", "recall_at_k({k})": "R@{k}"},
)
PHOENIX = Convention(
    "phoenix",
    "Arize Phoenix: scikit-learn's nDCG over the documents retrieved",
    source="Arize-ai/phoenix, retrieval metrics, re-implemented",
    versions="20.26.1",
    defects=("a list with a document that has no judgment has no value; here that counts 0",),
    ties="file_order",
    parameters={"*": {"rel": _ABOVE_ZERO}, "nDCG": {"ideal": "retrieved"}},
    spellings={"ndcg({k})": "nDCG@{k}"},
)
RANKQUEST = Convention(
    "rankquest",
    "RankQuest Studio, ratings 0 to 5",
    source="jillesvangurp/rankquest-core, metrics.kt, re-implemented",
    versions="sources of 2026; no release is recorded",
    defects=("ERR lowers ratings above its maximum to it; here they are an error",),
    ties="file_order",
    parameters={
        "R": {"denominator": "reachable"},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp", "depth": "returned"},
        "ERR": {"max_grade": 5.0},
    },
    spellings={
        "recall@{k}": "R@{k}",
        "DCG(exp)@{k}": "DCG@{k}",
        "DCG(linear)@{k}": f"DCG(gain='linear',base={e})@{{k}}",
        "nDCG(exp)@{k}": "nDCG@{k}",
        "nDCG(linear)@{k}": "nDCG(gain='linear')@{k}",
    },
)
