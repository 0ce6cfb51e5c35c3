"""Conventions of evaluators for agents' memory, embeddings and retrieval-augmented generation."""

from __future__ import annotations

from dataclasses import replace

from rankgate.measurement.scoring.convention import Convention
from rankgate.measurement.scoring.presets.retrieval_tools import PYTREC_EVAL

_ABOVE_ZERO = 5e-324  # the least number above 0: any grade above 0 is relevant
_AZURE_LABELS = range(1, 5)  # those above the lowest, 0, by default
_XDCG_GAINS = ", ".join(f"{label}: {25 * label}" for label in _AZURE_LABELS)
_FIDELITY_GAINS = ", ".join(f"{label}: {2 ** (label + 1) - 1}" for label in _AZURE_LABELS)

LONGMEMEVAL = Convention(
    "longmemeval",
    "LongMemEval: any or all evidence sessions in the first k, and DCG with no discount at rank 2",
    source="xiaowu0162/LongMemEval, src/retrieval/eval_utils.py: evaluate_retrieval, re-implemented",
    versions="sources of 2025; no release is recorded",
    defects=(
        "its script leaves out questions of abstention, which have no evidence; here they are scored",
        "evidence that is not among the sessions searched is not in its ideal; here it is",
    ),
    ties="file_order",
    parameters={"*": {"rel": _ABOVE_ZERO}, "nDCG": {"gain": "binary", "discount": "original"}},
    special={"FullRecall": {"without_relevant": 1.0}},
    spellings={
        "recall_any@{k}": "Success@{k}",
        "recall_all@{k}": "FullRecall@{k}",
        "ndcg_any@{k}": "nDCG@{k}",
    },
)
MTEB = replace(
    PYTREC_EVAL,
    name="mteb",
    title="MTEB's retrieval tasks: trec_eval 9, averaged over the queries that have results",
    source="mteb 2.26.24, mteb/_evaluators/retrieval_metrics.py, executed",
    versions="2.26.24 with pytrec_eval-terrier 0.5.11",
    defects=(
        "MRR compares scores as 64-bit floats, the other metrics as 32-bit floats; here all as 32-bit floats",
        "a document with the id of its query counts unless the task says otherwise (own_id = dropped)",
    ),
    spellings={
        "ndcg_at_{k}": "nDCG@{k}",
        "map_at_{k}": "AP@{k}",
        "recall_at_{k}": "R@{k}",
        "precision_at_{k}": "P@{k}",
        "mrr_at_{k}": "RR@{k}",
        "hit_rate_at_{k}": "Success@{k}",
    },
)
AZURE = Convention(
    "azure",
    "Azure AI Evaluation: DocumentRetrievalEvaluator, with labels from 0 to 4",
    source="azure-ai-evaluation 1.18.10, _evaluators/_document_retrieval/_document_retrieval.py, executed",
    versions="1.18.10",
    defects=(
        "a query without judgments is an error; here it is not scored",
        "top1_relevance and top3_max_relevance have no name here; holes are NumUnjudged",
    ),
    ties="file_order",
    parameters={"*": {"rel": _ABOVE_ZERO}, "nDCG": {"gain": "exp"}},
    spellings={
        "ndcg@{k}": "nDCG@{k}",
        "xdcg@3": f"RBP(p=0.6,gain={{{{{_XDCG_GAINS}}}}},horizon=3)@3",
        "fidelity": f"NCG(gain={{{{{_FIDELITY_GAINS}}}}})",
        "holes": "NumUnjudged",
    },
)
LLAMA_INDEX = Convention(
    "llama_index",
    "LlamaIndex's RetrieverEvaluator: a document is expected or not; nDCG over all that is expected",
    source="llama-index-core 0.14.25, evaluation/retrieval/metrics.py, executed",
    versions="0.14.25",
    defects=(
        "a question with an empty list, or without expected ids, is an error; here an empty list counts 0",
        "a document retrieved twice counts twice in ap and ndcg; here it is an error",
    ),
    ties="file_order",
    nothing_retrieved=0.0,
    no_relevant="error",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "P": {"denominator": "returned"},
        "nDCG": {"gain": "binary", "depth": "all"},
    },
    spellings={
        "hit_rate@{k}": "Success@{k}",
        "mrr@{k}": "RR@{k}",
        "precision@{k}": "P@{k}",
        "recall@{k}": "R@{k}",
        "ap@{k}": "AP@{k}",
        "ndcg@{k}": "nDCG@{k}",
    },
)
