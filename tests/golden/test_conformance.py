"""Twelve rankings, and what each product says of them: the products' conformance table.

The table is not part of the repository: it is sought beside it, and the tests are skipped
where it is missing.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rankgate.evaluation.evaluate import evaluate

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "products"
TABLE = FOLDER / "metric_conformance.json"

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason="the table is not beside us")

CONVENTION = {
    "quepid": "quepid",
    "opensearch_srw_3.1": "opensearch",
    "searchtweak": "searchtweak",
    "elasticsearch_rank_eval": "elasticsearch",
    "rre": "rre",
}
VARIANT = {
    "trec_eval ndcg_cut_10": ("trec", "ndcg_cut_10"),
    "ndcg@10 exp gain": ("esci", "nDCG@10"),
    "pyvespa ndcg@10": ("pyvespa", "ndcg@10"),
    "haystack DocumentNDCG": ("haystack", "DocumentNDCG"),
    "mlflow ndcg_at_k(10)": ("mlflow", "ndcg_at_k(10)"),
    "phoenix ndcg(10)": ("phoenix", "ndcg(10)"),
    "rankquest nDCG exp k=10": ("rankquest", "nDCG(exp)@10"),
    "rankquest recall@10": ("rankquest", "recall@10"),
    "recall@10 (denominator R)": ("trec", "recall_10"),
    "AP@10 denominator R": ("trec", "map_cut_10"),
    "AP@10 denominator min(R,k)": ("pyvespa", "map@10"),
    "AP@10 denominator relevant retrieved": ("guide", "AP@10"),
}


def cases():
    return json.loads(TABLE.read_text())["cases"] if TABLE.is_file() else []


def values():
    """Every value of the table: the case, the convention, its metric, and the number."""
    for case in cases():
        for product, expected in case["expected"].items():
            for label, value in expected.items():
                told = (CONVENTION.get(product), label)
                if product == "variants":
                    (told,) = (VARIANT[start] for start in VARIANT if label.startswith(start))
                yield pytest.param(case, *told, value, id=f"{case['id']}-{product}-{label[:40]}")


@pytest.mark.parametrize(("case", "convention", "metric", "value"), list(values()))
def test_a_product_says_what_it_says(case, convention, metric, value):
    place = {doc: float(-rank) for rank, doc in enumerate(case["ranking"])}
    scores = evaluate({"1": case["ratings"]}, {"1": place}, metric, convention).runs[0]
    want = math.nan if value is None else float(value)
    assert scores.means[metric] == pytest.approx(want, rel=0, abs=1e-12, nan_ok=True)


def test_no_value_is_missing():
    assert (len(cases()), len(list(values()))) == (12, 516)
