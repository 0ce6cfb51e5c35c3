"""trec_eval's numbers worked out one document at a time, straight from the definitions."""

from __future__ import annotations

from math import log2

import numpy as np


def ranking(run, precision=float):
    """Document ids, best score first, equal scores by id downwards in bytes."""
    return sorted(run, key=lambda d: (precision(run[d]), d.encode()), reverse=True)


def dcg(grades):
    return sum(max(grade, 0) / log2(i + 1) for i, grade in enumerate(grades, 1))


def values(qrels, run, rel=1):
    """Metrics of one query; undefined ones are 0, as trec_eval has them."""
    ranked = ranking(run)
    hits = [i for i, d in enumerate(ranked, 1) if qrels.get(d, 0) >= rel]
    R = sum(grade >= rel for grade in qrels.values())
    N = sum(0 <= grade < rel for grade in qrels.values())
    ideal = sorted((g for g in qrels.values() if g > 0), reverse=True)
    gains = [qrels.get(d, 0) for d in ranked]
    nonrelevant_above = [sum(0 <= qrels.get(d, -9) < rel for d in ranked[: i - 1]) for i in hits]
    bpref = sum(1 - min(n, R) / min(N, R) if n else 1 for n in nonrelevant_above)
    return {
        "P@3": sum(i <= 3 for i in hits) / 3,
        "R@3": sum(i <= 3 for i in hits) / R if R else 0,
        "RR": 1 / hits[0] if hits else 0,
        "AP": sum(j / i for j, i in enumerate(hits, 1)) / R if R else 0,
        "AP@3": sum(j / i for j, i in enumerate(hits, 1) if i <= 3) / R if R else 0,
        "Rprec": sum(i <= R for i in hits) / R if R else 0,
        "nDCG": dcg(gains) / dcg(ideal) if ideal else 0,
        "nDCG@3": dcg(gains[:3]) / dcg(ideal[:3]) if ideal else 0,
        "Bpref": bpref / R if R else 0,
        "NumRet": len(ranked),
        "NumRel": R,
        "NumRelRet": len(hits),
    }


METRICS = [*values({}, {})]
FLOAT32 = np.float32
