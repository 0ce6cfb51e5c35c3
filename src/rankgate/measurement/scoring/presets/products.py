"""Products that measure search relevance: one ranking, and a number from each of them."""

from __future__ import annotations

from dataclasses import replace
from math import e, nan, ulp

from rankgate.measurement.scoring.convention import Convention

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
    defects=("a query that fails is left out of the mean without a word in the score",),
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
    defects=(
        "later versions set the threshold by the ratings: one more judgment moves old values",
    ),
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
    source=(
        "deepset-ai/haystack 3.1 to 3.4, haystack/components/evaluators/document_*.py, "
        "re-implemented"
    ),
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
    title="Haystack's document evaluators before version 3.1, whose MAP divides by what was found",
    source=(
        "deepset-ai/haystack up to 3.0, haystack/components/evaluators/document_*.py, "
        "re-implemented"
    ),
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
    spellings={
        "ndcg_at_k({k})": "nDCG@{k}",
        "precision_at_k({k})": "P@{k}",
        "recall_at_k({k})": "R@{k}",
    },
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

PRESETS = (
    QUEPID,
    SEARCHTWEAK,
    ELASTICSEARCH,
    OPENSEARCH,
    RRE,
    PYVESPA,
    HAYSTACK,
    HAYSTACK_3_0,
    MLFLOW,
    PHOENIX,
    RANKQUEST,
)
