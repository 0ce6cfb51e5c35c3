"""Conventions of trec_eval, other retrieval tools, and five documents on measuring."""

from __future__ import annotations

from dataclasses import replace
from math import e, ulp

from rankgate.measurement.scoring.convention import Convention

_NAN = float("nan")

TREC = Convention(
    "trec",
    "trec_eval 10, averaged over all judged queries (its -c)",
    versions="10.0-rc3",
    unrated="left_out",
    parameters={"nDCG": {"levels": "truncated"}, "RBP": {"gain": "scaled"}},
    special={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
TREC9 = Convention(
    "trec9",
    "trec_eval 9: scores as 32-bit floats, recall points by adding 0.9",
    versions="9.0.8",
    precision="float32",
    missing="leave_out",
    unrated="left_out",
    parameters={
        "nDCG": {"levels": "truncated"},
        "RBP": {"gain": "scaled"},
        "IPrec": {"points": "ceil9"},
        "IPrec11": {"points": "ceil9"},
    },
    special={name: {"nothing_retrieved": _NAN} for name in ("IPrec", "IPrec11")},
)
PYTREC_EVAL = replace(
    TREC9,
    name="pytrec_eval",
    title="pytrec_eval and pytrec_eval-terrier: trec_eval 9 called from Python",
    versions="pytrec_eval 0.5, pytrec_eval-terrier 0.5.11",
)


_ABOVE_ZERO = 5e-324  # the least number above 0: any grade above 0 is relevant

_GDEVAL = {"precision": "float64", "duplicates": "each", "digits": 5}
_CWL = {"ties": "file_order", "precision": "float64", "duplicates": "each", "depth": 1000}
_SORTED_BY_ID = {"ties": "doc_id_asc", "precision": "float64"}
_USERS = ("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "RBP", "SDCG")
_NDEVAL = (
    *("AP_IA", "ERR_IA", "NRBP", "P_IA", "StRecall", "alpha_DCG", "alpha_nDCG", "nERR_IA"),
    "nNRBP",
)  # of a query without a relevant document it has no nNRBP

IR_MEASURES = Convention(
    "ir_measures",
    "ir_measures 0.4.3 with its default providers, one for each metric",
    source="https://github.com/terrierteam/ir_measures: providers/*.py, bin/gdeval.pl; most metrics go to "
    "pytrec_eval, RR@k to msmarco_eval, ERR and nDCG(dcg='exp-log2') to gdeval, RBP to cwl_eval",
    versions="0.4.3",
    defects=(
        "Accuracy fails where all that was retrieved is relevant; here the query is left out",
        "gdeval refuses grades above 4 for nDCG as for ERR, and topics that are not numbers",
        "alpha_nDCG with two values of alpha at once gives 0 for the second",
        "C/W/L gives two values for a query if its lines are not together",
        "Compat puts documents of equal grade and score into the order of the judgments",
        "an empty run scores 0 on everything; here it is an error",
        "of two judgments of one document the later counts; here they are an error",
        (
            "NumQ and NumRel are 0 for a single query that the run lacks, though it has relevant documents; "
            "here they have no value for it, and their sums are the same"
        ),
        (
            "IPrec(judged_only=True) and its mean are NaN where a query has nothing relevant and nothing "
            "judged was retrieved; here such a query counts 0"
        ),
    ),
    precision="float32",
    duplicates="last",
    parameters={
        "ERR": {"max_grade": 4},
        "IPrec": {"points": "ceil9"},
        "IPrec11": {"points": "ceil9"},
        "Judged": {"negative": "judged"},
        "RBP": {"horizon": 1000},
        "SetF": {"weighing": "plain"},
    },
    special={
        "Accuracy": {
            "ties": "file_order",
            "precision": "float64",
            "missing": "leave_out",
            "without_relevant": None,
            "nothing_retrieved": None,
            "nothing_judged": None,
        },
        "Compat": _SORTED_BY_ID,
        "ERR": _GDEVAL,
        "Judged": _SORTED_BY_ID,
        "NumQ": {"missing": "leave_out"},
        "NumRel": {"missing": "leave_out"},
        "RR@": _SORTED_BY_ID,
        **dict.fromkeys(_USERS, _CWL),
        **dict.fromkeys(_NDEVAL, _SORTED_BY_ID),
        "nNRBP": {**_SORTED_BY_ID, "without_relevant": None},
        "nDCG(gain='exp')": _GDEVAL,
    },
)
GDEVAL = Convention(
    "gdeval",
    "gdeval, the script of the TREC web track",
    source="gdeval.pl as in https://github.com/terrierteam/ir_measures, bin/gdeval.pl",
    versions="gdeval.pl of ir_measures 0.4.3",
    defects=(
        "topics that are not numbers are refused",
        "each value is printed with five decimals and their mean is formed before they are cut",
    ),
    missing="leave_out",
    duplicates="each",
    without_relevant=None,
    digits=5,
    forced={"without_relevant": None},
    parameters={"ERR": {"max_grade": 4}, "nDCG": {"gain": "exp", "highest": 4}},
    spellings={"ndcg@{k}": "nDCG@{k}", "err@{k}": "ERR@{k}"},
)
CWL = Convention(
    "cwl",
    "cwl_eval 1.0.12 as ir_measures calls it: sorted, missing queries count 0",
    source="https://github.com/ireval/cwl: cwl/ruler; https://github.com/terrierteam/ir_measures: "
    "providers/cwl_eval.py",
    versions="1.0.12",
    defects=(
        (
            "called by itself it reads the run in file order (order='file'), leaves out missing queries "
            "(missing='leave_out') and scores unknown ones 0 (unknown='zero')"
        ),
        "a query with lines in several groups is scored once for each group of lines",
    ),
    ties="file_order",
    duplicates="each",
    depth=1000,
    parameters={"AP": {"denominator": "found"}, "RBP": {"horizon": 1000}},
    spellings={"NDCG-k@{k}": "SDCG(max_grade=1)@{k}"},
)


def _at_level(tool_name: str, metric: str, uncut_metric: str) -> dict[str, str]:
    """A name of ranx with a cutoff, with a level of relevance, with both, with none."""
    return {
        f"{tool_name}@{{k}}-l{{rel}}": f"{metric}(rel={{rel}})@{{k}}",
        f"{tool_name}-l{{rel}}": f"{uncut_metric}(rel={{rel}})",
        f"{tool_name}@{{k}}": f"{metric}@{{k}}",
        tool_name: uncut_metric,
    }


RANX = Convention(
    "ranx",
    "ranx 0.3.21: missing and unknown queries are errors",
    source="https://github.com/AmenRa/ranx: ranx/metrics, ranx/meta/evaluate.py",
    versions="0.3.21",
    defects=(
        (
            "equal scores are sorted by an unstable algorithm, so that their order depends on the length of "
            "the list; here they keep their order"
        ),
        "grades with fractions are cut to whole numbers; here they stay",
        "a run with only empty lists, or empty judgments, fails; here the value is 0",
        "ids are compared by 53 bits of a hash",
        "of two judgments of one document the later counts; here they are an error",
    ),
    ties="file_order",
    duplicates="last",
    missing="error",
    unknown="error",
    parameters={
        "Bpref": {"negative": "nonrelevant", "unopposed": "undefined"},
        "IPrec": {"points": "ceil9"},
        "RBP": {"gain": "linear"},
        "nDCG": {"least": 1},
    },
    special={"Bpref": {"nothing_judged": _NAN}},
    spellings={
        "ndcg@{k}-l{level}": "nDCG(least={level})@{k}",
        "ndcg-l{level}": "nDCG(least={level})",
        "ndcg_burges@{k}-l{level}": "nDCG(gain='exp',least={level})@{k}",
        "ndcg_burges-l{level}": "nDCG(gain='exp',least={level})",
        "ndcg_burges@{k}": "nDCG(gain='exp')@{k}",
        "ndcg_burges": "nDCG(gain='exp')",
        "dcg_burges@{k}-l{level}": "DCG(gain='exp',least={level})@{k}",
        "dcg_burges-l{level}": "DCG(gain='exp',least={level})",
        "dcg_burges@{k}": "DCG(gain='exp')@{k}",
        "dcg_burges": "DCG(gain='exp')",
        "ndcg@{k}": "nDCG@{k}",
        "ndcg": "nDCG",
        "dcg@{k}-l{level}": "DCG(least={level})@{k}",
        "dcg-l{level}": "DCG(least={level})",
        "dcg@{k}": "DCG@{k}",
        "dcg": "DCG",
        "hits@{k}-l{rel}": "Hits(rel={rel})@{k}",
        "hits-l{rel}": "Hits(rel={rel})",
        "hits@{k}": "CG(gain='binary')@{k}",
        "hits": "CG(gain='binary')",
        "interpolated_precision_at_recall {r}": "IPrec@{r}",
        **_at_level("map", "AP", "AP"),
        **_at_level("mrr", "RR", "RR"),
        **_at_level("precision", "P", "SetP"),
        **_at_level("recall", "R", "SetR"),
        **_at_level("f1", "F", "SetF"),
        "hit_rate@{k}-l{rel}": "Success(rel={rel})@{k}",
        "hit_rate@{k}": "Success@{k}",
        "r-precision-l{rel}": "Rprec(rel={rel})",
        "r-precision": "Rprec",
        "bpref-l{rel}": "Bpref(rel={rel})",
        "bpref": "Bpref",
        "rbp.{p}-l2": "RBP(p=0.{p},gain={{1: 0}})",
        "rbp.{p}-l3": "RBP(p=0.{p},gain={{1: 0, 2: 0}})",
        "rbp.{p}": "RBP(p=0.{p})",
    },
)
TRECTOOLS = Convention(
    "trectools",
    "trectools 0.0.50: unknown queries count 0, missing ones not at all",
    source="https://github.com/joaopalotti/trectools: trectools/trec_eval.py",
    versions="0.0.50",
    defects=(
        "RBP averages ties across the border of two queries",
        (
            "the residual of RBP has a gap between the end of the list and rank 1000, and falls below 0 with "
            "graded gains; RBPResid does neither"
        ),
        "every metric is NaN for an empty run; here that is an error",
        "ids are read as numbers where they look so, so that 7 and 007 are one or two",
        "a line with more than six columns shifts the others, so that no document matches",
        "a document judged twice counts twice; here that is an error",
    ),
    missing="leave_out",
    unknown="zero",
    depth=1000,
    unrated="left_out",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "Bpref": {"negative": "relevant", "unopposed": "lost"},
        "RBP": {"ties": "averaged"},
    },
    special={
        "Bpref": {"depth": None},
        "nDCG": {"ties": "doc_id_asc"},
        "RBP": {"ties": "doc_id_asc", "no_hits": _NAN},
    },
    spellings={
        "get_map()": "AP",
        "get_map(depth={k})": "AP@{k}",
        "get_geometric_map()": "GMAP",
        "get_ndcg()": "nDCG@1000",
        "get_ndcg(depth={k})": "nDCG@{k}",
        "get_ndcg(depth={k}, trec_eval=True)": "nDCG@{k}",
        "get_ndcg(depth={k}, trec_eval=False)": "nDCG(gain='exp')@{k}",
        "get_precision(depth={k})": "P@{k}",
        "get_precision(depth={k}, removeUnjudged=True)": "P(judged_only=True)@{k}",
        "get_recall(depth={k})": "R@{k}",
        "get_reciprocal_rank()": "RR",
        "get_reciprocal_rank(removeUnjudged=True)": "RR",
        "get_rprec()": "Rprec",
        "get_bpref()": "Bpref",
        "get_rbp()": "RBP",
        "get_rbp(p={p})": "RBP(p={p})",
        "get_rbp(p={p}, average_ties=False)": "RBP(p={p},ties='broken')",
        "get_rbp(p={p}, binary_topical_relevance=False)": "RBP(p={p},gain='linear')",
        "get_unjudged(depth={k})": "Unjudged@{k}",
    },
)
NTCIR = Convention(
    "ntcir",
    "pyNTCIREVAL 0.0.3 with gains 1, 3 and 7 for grades 1, 2 and 3",
    source="https://github.com/mpkato/pyNTCIREVAL: pyNTCIREVAL/metrics; Sakai's NTCIREVAL",
    versions="0.0.3",
    defects=(
        "nDCG and MSnDCG fail if no document is relevant; here the value is 0",
        "nERR is undefined there, and with it the mean",
    ),
    order="file",
    missing="leave_out",
    parameters={
        "*": {"rel": _ABOVE_ZERO},
        "AP": {"denominator": "reachable"},
        "ERR": {"max_grade": 3},
        **{name: {"gain": "exp"} for name in ("Q", "O", "PMeasure", "PPlus", "NCUrbBR")},
        "NCUguBR": {"gain": "exp", "stops": "exp"},
        "NCUguP": {"stops": "exp"},
        "RBP": {"gain": "exp", "max_grade": 3, "p": 0.95},
        "nDCG": {"gain": "exp", "discount": "original"},
        "nERR": {"max_grade": 3},
    },
    special={"nERR": {"without_relevant": _NAN}},
    spellings={
        "AP(cutoff={k})": "AP@{k}",
        "MSnDCG(cutoff={k})": "nDCG(discount='shifted')@{k}",
        "nDCG(logb=2.0, cutoff={k})": "nDCG@{k}",
        "nDCG(logb={b}, cutoff={k})": "nDCG(base={b})@{k}",
        "nERR(cutoff={k})": "nERR@{k}",
        "QMeasure(beta={beta}, cutoff={k})": "Q(beta={beta})@{k}",
        "QMeasure(beta={beta})": "Q(beta={beta})",
        "OMeasure(beta={beta})": "O(beta={beta})",
        "PMeasure(beta={beta})": "PMeasure(beta={beta})",
        "PPlusMeasure(beta={beta})": "PPlus(beta={beta})",
        "NCUguP(stops=grades)": "NCUguP",
        "NCUguBR(stops=grades, beta={beta})": "NCUguBR(beta={beta})",
        "NCUrbP(gamma={gamma})": "NCUrbP(gamma={gamma})",
        "NCUrbBR(gamma={gamma}, beta={beta})": "NCUrbBR(gamma={gamma},beta={beta})",
    },
)
_BY_PYTHON = {"ties": "file_order", "precision": "float64"}
_SCORED = {"missing": "leave_out"}

BEIR = Convention(
    "beir",
    "BEIR 2.2.0: some metrics average over the judged queries, some over the scored",
    source="https://github.com/beir-cellar/beir: beir/retrieval/evaluation.py, custom_metrics.py",
    versions="2.2.0",
    defects=(
        "documents that have the id of their query leave the caller's results as well",
        (
            "Hole@k counts a document as judged if it is judged for any query; Unjudged@k needs a judgment "
            "for the query itself"
        ),
        "means are rounded to five decimals",
    ),
    precision="float32",
    own_id="dropped",
    special={
        **dict.fromkeys(("AP", "P", "R", "nDCG"), _SCORED),
        "R(denominator='reachable')": {**_SCORED, **_BY_PYTHON},
        "RR": _BY_PYTHON,
        "Success": _BY_PYTHON,
    },
    spellings={
        "NDCG@{k}": "nDCG@{k}",
        "MAP@{k}": "AP@{k}",
        "Recall@{k}": "R@{k}",
        "MRR@{k}": "RR@{k}",
        "R_cap@{k}": "R(denominator='reachable')@{k}",
        "Accuracy@{k}": "Success@{k}",
    },
)


_SMALLEST_GRADE = ulp(0.0)  # the least number above 0: any worth at all is relevant

GUIDE = Convention(
    "guide",
    "A technical guide to evaluating search and recommendation: the values of its code",
    source="S. Srivastava, Beyond Accuracy: A Technical Guide to Evaluating Search and Recommendation "
    "Systems, 2025-03-24",
    defects=(
        "MRR@k takes the rank of the first query's hit for every query; here each has its own",
        "DCG of an empty list raises IndexError; here it is 0",
        "MRR@0 means no cutoff; here a cutoff is at least 1",
        "its text divides AP by all relevant documents, its code by those in the first k",
    ),
    ties="file_order",
    duplicates="each",
    parameters={
        "*": {"rel": _SMALLEST_GRADE},
        "AP": {"denominator": "found"},
        "DCG": {"gain": "signed"},
        "nDCG": {"gain": "signed"},
    },
)
ESCI = Convention(
    "esci",
    "A product search benchmark's page on its metrics: the definitions in its text",
    source="Evaluation Metrics of a search ranking stack on the Shopping Queries data; its code is esci-code",
    parameters={
        "*": {"rel": _SMALLEST_GRADE},
        "DCG": {"gain": "exp"},
        "nDCG": {"gain": "exp"},
        "RR": {"cutoff": 10},
    },
)
ESCI_CODE = replace(
    PYTREC_EVAL,
    name="esci-code",
    title="The same benchmark: its code's computation, linear gain and an uncut reciprocal rank",
    source="the pytrec_eval measures that it names: ndcg_cut_10, recip_rank, recall_100",
    versions="pytrec_eval-terrier 0.5.11",
    defects=("its MRR@10 is recip_rank, which has no cutoff: use RR; here MRR@k ends at k, as written",),
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
        "*": {"rel": _SMALLEST_GRADE},
        "AP": {"denominator": "ranks"},
        "DCG": {"gain": "exp", "base": e},
        "nDCG": {"gain": "exp"},
        "RR": {"offset": 1},
    },
    special={"AP": {"without_relevant": 0.0}},
)
LEAF = Convention(
    "leaf",
    "A chapter on relevance evaluation for a search migration: the values of its code",
    source="Relevance Evaluation, with judgments as {query: {document: gain}}",
    ties="file_order",
    duplicates="each",
    parameters={"*": {"rel": _SMALLEST_GRADE}, "DCG": {"gain": "signed"}, "nDCG": {"gain": "signed"}},
)
