"""Libraries for recommender systems: users are queries, items are documents."""

from __future__ import annotations

from math import e

from rankgate.measurement.scoring.convention import Convention

_OUT = {"no_judgments": None, "nothing_retrieved": None}
_TAIL = {"head": "seen", "share": 0.9}
_HEAD = {"head": "interactions", "share": 0.8}
_COMMON = {"missing": "leave_out", "forced": _OUT}
_GAINS = {"binary": "judged", "raw": "linear", "exp": "exp"}
_GAIN_WORDS = ("", *(f", discfun_type='{log}'" for log in ("loge", "log2")))

RECOMMENDERS = Convention(
    "recommenders",
    "recommenders (Microsoft, recommenders-team): its Python ranking metrics",
    source="recommenders 1.2.1, evaluation/python_evaluation.py",
    versions="1.2.1",
    defects=(
        "a rating below 0 is relevant there too; here such an item is in the pool and unjudged",
        "relevancy_method='by_threshold' takes the threshold as a number of items, as depth does",
        "an item that is ranked twice, and counts twice, brings a value above 1",
        "items that are not in training can bring coverage above 1; here they do not count",
        "novelty is a mean over places; here over lists first, the same where all are full",
    ),
    ties="file_order",
    duplicates="each",
    without_relevant=None,
    nothing_retrieved=None,
    nothing_judged=None,
    no_hits=0.0,
    parameters={
        "*": {"rel": 0},
        "nDCG": {"gain": "judged"},
        "AP": {"denominator": "relevant"},
        "Coverage": {"over": "training"},
        "Novelty": {"of": "interactions", "unknown": "zero"},
        "Unexpectedness": {"relevance": "use"},
    },
    special={
        "P": _COMMON,
        "R": _COMMON,
        "AP": _COMMON,
        "Rprec": {"missing": "leave_out", "forced": {**_OUT, "zero": None}},
        "nDCG": {"forced": {"no_judgments": None}},
    },
    spellings={
        "precision_at_k(k={k})": "P@{k}",
        "recall_at_k(k={k})": "R@{k}",
        "r_precision_at_k(k={k})": "Rprec(cutoff={k})",
        "map(k={k})": "AP@{k}",
        "map_at_k(k={k})": "AP(denominator='reachable')@{k}",
        "ndcg_at_k(k={k})": "nDCG@{k}",
        "catalog_coverage": "Coverage",
        "distributional_coverage": "Entropy",
        "novelty": "Novelty",
        "diversity": "ILD",
        "serendipity": "Unexpectedness",
    }
    | {
        f"ndcg_at_k(k={{k}}, score_type='{tool_gain}'{log})": f"nDCG(gain='{gain}')@{{k}}"
        for tool_gain, gain in _GAINS.items()
        for log in _GAIN_WORDS
    },
)
RECBOLE = Convention(
    "recbole",
    "RecBole: its top-k metrics, before their mean is rounded to four decimals",
    source="RecBole 1.2.1, recbole/evaluator/metrics.py",
    versions="1.2.1",
    defects=(
        "equal scores are in the order that torch.topk leaves, which differs by device",
        "the last rounding, metric_decimal_place, is of the mean and not of the values",
        "of items equally rare, which are of the tail goes by its own numbers of items",
    ),
    ties="file_order",
    without_relevant=None,
    forced={"without_relevant": None},
    parameters={
        "AP": {"denominator": "reachable"},
        "nDCG": {"gain": "binary"},
        "Entropy": {"base": e, "per": "item"},
        "Popularity": {"unknown": "zero"},
        "APLT": _TAIL,
        "TailShare": _TAIL,
    },
    spellings={
        "Hit@{k}": "Success@{k}",
        "MRR@{k}": "RR@{k}",
        "MAP@{k}": "AP@{k}",
        "Recall@{k}": "R@{k}",
        "NDCG@{k}": "nDCG@{k}",
        "Precision@{k}": "P@{k}",
        "ItemCoverage@{k}": "Coverage@{k}",
        "AveragePopularity@{k}": "Popularity@{k}",
        "ShannonEntropy@{k}": "Entropy@{k}",
        "GiniIndex@{k}": "Gini@{k}",
        "TailPercentage@{k}": "APLT@{k}",
    },
)
RECMETRICS = Convention(
    "recmetrics",
    "recmetrics: precision and recall of whole lists, and the averages up to k",
    source="recmetrics 0.1.5, metrics.py",
    versions="0.1.5",
    defects=(
        "an item ranked twice is one hit of average precision, but two of P at later ranks",
        "whether it can be imported depends on the versions of seaborn and matplotlib",
        "coverage is given in percent there, and catalog_coverage of a random sample",
    ),
    order="file",
    duplicates="each",
    parameters={"AP": {"denominator": "found"}},
    special={
        "AP(denominator='relevant')": {"duplicates": "place"},
        "SetP": {"digits": 4, "rounding": "even"},
        "SetR": {"digits": 4, "rounding": "even"},
    },
    spellings={
        "_apk(k={k})": "AP@{k}",
        "mapk(k={k})": "AP@{k}",
        "_ark(k={k})": "AP(denominator='relevant')@{k}",
        "mark(k={k})": "AP(denominator='relevant')@{k}",
        "_pk(k={k})": "P(denominator='returned')@{k}",
        "recommender_precision": "SetP",
        "recommender_recall": "SetR",
        "prediction_coverage": "Coverage",
        "novelty": "Novelty",
        "personalization": "Personalization",
    },
)
REXMEX = Convention(
    "rexmex",
    "rexmex: its ranking metrics",
    source="rexmex 0.1.3, rexmex/metrics/ranking.py",
    versions="0.1.3",
    defects=(
        "average precision of a user without a relevant item divides by zero",
        "a relevant item that is not in the ranking is a ValueError; here its reciprocal rank is 0",
        "hits_at_k is over the items returned; in the repository, after the release, over R",
    ),
    order="file",
    duplicates="place",
    parameters={"AP": {"denominator": "reachable"}, "P": {"denominator": "returned"}},
    special={"P": {"duplicates": "each"}},
    spellings={
        "average_precision_at_k(k={k})": "AP@{k}",
        "average_recall_at_k(k={k})": "AP(denominator='relevant')@{k}",
        "hits_at_k(k={k})": "P@{k}",
        "hits_at_k(k={k}) [repository head]": "R@{k}",
        "mean_reciprocal_rank": "ARR",
        "reciprocal_rank": "RR",
        "item_coverage": "Coverage",
        "user_coverage": "ListCoverage",
        "novelty": "Novelty",
        "personalization": "Personalization",
    },
)
ELLIOT = Convention(
    "elliot",
    "elliot: its accuracy metrics at a relevance_threshold of 1",
    source="elliot 1.0.0, elliot/evaluation/metrics/accuracy and elliot/evaluation/relevance",
    versions="1.0.0",
    defects=(
        "gains are 2^(s − t + 1) − 1 from the threshold t; other ones than 1 need a map of gains",
        "UserCoverage and UserCoverageAtN are numbers of users; here they are shares",
    ),
    ties="file_order",
    missing="leave_out",
    without_relevant=None,
    nothing_retrieved=None,
    nothing_judged=None,
    forced={"without_relevant": None},
    parameters={
        "AP": {"denominator": "ranks"},
        "nDCG": {"gain": "exp"},
        "EPC": {"relevance": "use"},
        "EFD": {"relevance": "use"},
        "Popularity": {"unknown": "zero"},
        **dict.fromkeys(("ACLT", "APLT", "TailShare", "PopREO", "PopRSP"), _HEAD),
    },
    spellings={
        "Precision@{k}": "P@{k}",
        "Recall@{k}": "R@{k}",
        "HR@{k}": "Success@{k}",
        "MRR@{k}": "RR@{k}",
        "MAP@{k}": "AP@{k}",
        "MAR@{k}": "AR@{k}",
        "nDCG@{k}": "nDCG@{k}",
        "Gini@{k}": "Equality(divisor='n-1')@{k}",
        "SEntropy@{k}": "Entropy@{k}",
        "ItemCoverage@{k}": "ItemsShown@{k}",
        "NumRetrieved@{k}": "ListLength@{k}",
        "ARP@{k}": "Popularity@{k}",
    },
)
RECPACK = Convention(
    "recpack",
    "RecPack: its top-k metrics, on matrices in which 0 is nothing",
    source="RecPack 0.3.6, recpack/metrics",
    versions="0.3.6",
    defects=(
        "equal scores are in an order that is not defined",
        "it expects grades of 0 and 1: R is the sum of grades, in recall too, where it is not here",
    ),
    ties="file_order",
    absent=0.0,
    forced={"without_relevant": None},
    without_relevant=None,
    parameters={
        "DCG": {"discount": "graded"},
        "nDCG": {"discount": "graded", "ideal": "counted"},
        "ILD": {"similarity": "jaccard", "single": "zero"},
    },
    spellings={
        "HitK({k})": "CG(gain='binary')@{k}",
        "PrecisionK({k})": "P@{k}",
        "RecallK({k})": "R@{k}",
        "CalibratedRecallK({k})": "R(denominator='reachable')@{k}",
        "ReciprocalRankK({k})": "RR@{k}",
        "DCGK({k})": "DCG@{k}",
        "NDCGK({k})": "nDCG@{k}",
        "CoverageK({k})": "Coverage@{k}",
        "IntraListDiversityK({k})": "ILD@{k}",
        "IPSHitRateK({k})": "IPSHits@{k}",
        "SNIPSHitRateK({k})": "IPSHits(normalised=True)@{k}",
    },
)
EVIDENTLY = Convention(
    "evidently",
    "Evidently: its ranking metrics over the rows of one table, users without feedback left out",
    source="evidently, legacy/metrics/recsys, by reading; metrics on lists by 0.7.23 itself",
    versions="0.7.23, metrics on lists",
    defects=(
        "equal scores get the mean of their ranks, cut to a whole number",
        "at a k behind the end of a list, average precision and recall count its last item again",
        "coverage of PopularityBias looks at all rows, those behind k too",
    ),
    ties="file_order",
    missing="leave_out",
    without_relevant=None,
    nothing_retrieved=None,
    nothing_judged=None,
    forced={"no_hit": None},
    parameters={
        "P": {"denominator": "returned"},
        "R": {"denominator": "retrieved"},
        "AP": {"denominator": "retrieved"},
        "AR": {"over": "relevant"},
        "nDCG": {"ideal": "retrieved"},
        "Coverage": {"over": "training"},
        "Gini": {"over": "shown", "divisor": "n-1"},
        "ILD": {"divisor": "items", "single": "zero"},
        "Personalization": {"similarity": "overlap"},
        "Unexpectedness": {"relevance": "only"},
    },
    spellings={
        "PrecisionTopKMetric(k={k})": "P@{k}",
        "RecallTopKMetric(k={k})": "R@{k}",
        "MAPKMetric(k={k})": "AP@{k}",
        "MARKMetric(k={k})": "AR@{k}",
        "NDCGKMetric(k={k})": "nDCG@{k}",
        "MRRKMetric(k={k})": "RR@{k}",
        "HitRateKMetric(k={k})": "Success@{k}",
        "DiversityMetric(k={k})": "ILD@{k}",
        "NoveltyMetric(k={k})": "Novelty@{k}",
        "PersonalizationMetric(k={k})": "Personalization@{k}",
        "SerendipityMetric(k={k})": "Unexpectedness@{k}",
        "PopularityBias(k={k}).current_apr": "Popularity@{k}",
        "PopularityBias(k={k}).current_coverage": "Coverage",
        "PopularityBias(k={k}).current_gini": "Gini@{k}",
    },
)
