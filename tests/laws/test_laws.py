"""What may change a number, and what may not."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.evaluation.evaluate import evaluate
from support.strategies import QUERIES, collections

METRICS = [
    "nDCG@3",
    "nDCG(gain='exp')",
    "AP",
    "AP(rel=2)",
    "RR",
    "P@2",
    "R@3",
    "Bpref",
    "infAP",
    "Rprec",
    "IPrec@0.3",
    "IPrec11",
    "RBP(p=0.8)",
    "ERR@5",
    "G",
    "BinG",
    "RnDCG",
    "nDCGRel",
    "SetF",
    "Judged@2",
    "Unjudged@2",
    "NumRet",
    "NumRel",
    "nDCG(judged_only=True)@2",
]


def of(qrels, run, metrics=METRICS):
    return evaluate(qrels, run, metrics).runs[0]


def per_query(scores):
    """Values as bytes, so that equal means equal to the last bit."""
    return {
        (query, metric): scores.values[metric][i].tobytes()
        for metric in scores.values
        for i, query in enumerate(scores.query_ids.to_list())
    }


def as_lines(run, seed=None, digits="{!r}"):
    lines = [
        f"{query} Q0 {document} 0 {digits.format(score)} tag"
        for query, ranking in run.items()
        for document, score in ranking.items()
    ]
    if seed is not None:
        random.Random(seed).shuffle(lines)
    return lines


@given(collections(), st.integers(0, 99))
def test_the_order_of_lines_changes_nothing(tmp_path_factory, collection, seed):
    qrels, run = collection
    folder = tmp_path_factory.mktemp("lines")
    plain, mixed = folder / "a.run", folder / "b.run"
    plain.write_text("\n".join(as_lines(run)))
    mixed.write_text("\r\n".join(as_lines(run, seed)).replace(" ", " \t ") + "\r\n\r\n")
    assert per_query(of(qrels, plain)) == per_query(of(qrels, mixed)) == per_query(of(qrels, run))


@given(collections())
def test_other_ways_to_write_a_number_change_nothing(tmp_path_factory, collection):
    qrels, run = collection
    path = tmp_path_factory.mktemp("numbers") / "a.run"
    path.write_text("\n".join(as_lines(run, digits="{:+.17E}")))
    assert per_query(of(qrels, path)) == per_query(of(qrels, run))


@given(collections(), st.lists(st.sampled_from(QUERIES)))
def test_parts_equal_the_whole_to_the_last_bit(collection, chosen):
    qrels, run = collection
    all_values = per_query(of(qrels, run))
    parts = {}
    for membership in (True, False):
        judged = {q: d for q, d in qrels.items() if (q in chosen) == membership}
        ranked = {q: d for q, d in run.items() if (q in chosen) == membership}
        if set(judged) & set(ranked):
            parts |= per_query(of(judged, ranked))
        else:  # nothing in common is refused; such queries are only missing ones
            parts |= {k: v for k, v in all_values.items() if k[0] in judged}
    assert parts == all_values


@given(collections())
def test_renaming_in_the_same_byte_order_changes_nothing(collection):
    qrels, run = collection

    def renamed(table):
        return {q: {f"x-{d}-y": n for d, n in row.items()} for q, row in table.items()}

    def longer(table):
        return {f"a rather long query id: {q}": row for q, row in table.items()}

    original_values = list(per_query(of(qrels, run)).values())
    renamed_values = list(per_query(of(longer(renamed(qrels)), longer(renamed(run)))).values())
    assert renamed_values == original_values


@given(collections())
def test_an_unjudged_tail_changes_only_what_counts_documents(collection):
    qrels, run = collection
    low = -1e301
    tail = {q: {**row, "tail-1": low, "tail-2": low * 2} for q, row in run.items()}
    counting = {"SetF", "NumRet", "Judged@2", "Unjudged@2", "RnDCG", "nDCGRel"}
    metrics = [m for m in METRICS if m not in counting]
    longer, shorter = of(qrels, tail, metrics), of(qrels, run, metrics)
    assert per_query(longer) == per_query(shorter)


@given(collections())
def test_a_better_document_first_never_hurts(collection):
    qrels, run = collection
    better = {}
    for query, ranking in run.items():
        judged = qrels.get(query, {})
        best_document = max(ranking, key=lambda d: judged.get(d, 0))
        better[query] = {**ranking, best_document: 1e302}
    original_scores, better_scores = of(qrels, run), of(qrels, better)
    for metric in ("nDCG@3", "AP", "RR", "P@2", "R@3", "Rprec", "RBP(p=0.8)"):
        gains = better_scores.values[metric] - original_scores.values[metric]
        assert (gains >= -1e-12).all(), metric
