"""Documents drawn with known probabilities: estimates of sums over documents, and refusals."""

import itertools

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import compare, evaluate, gate
from rankgate.data.collection import Collection
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.stats.sampling_design import documents_needed
from support.wording import raises

RNG = np.random.default_rng(5)
QUERIES, DOCS = 40, 3
GRADES = RNG.integers(0, 4, (QUERIES, DOCS))
MODEL = np.clip(GRADES + RNG.integers(-1, 2, GRADES.shape), 0, 3)
CHANCE = np.tile([0.5, 0.25, 0.8], (QUERIES, 1))
METRICS = ["DCG@3", "P@2", "RBP(gain='binary')", "SDCG(max_grade=3)@3", "CG@2"]


def _table(grades, kept=None):
    judgments = {
        f"q{q}": {f"d{d}": int(grades[q, d]) for d in range(DOCS) if kept is None or kept[q, d]}
        for q in range(QUERIES)
    }
    return {query: docs for query, docs in judgments.items() if docs}


def _sample(kept, chance=CHANCE, **columns):
    rows = [
        {"query_id": f"q{q}", "doc_id": f"d{d}", "inclusion": float(chance[q, d])}
        for q in range(QUERIES)
        for d in np.flatnonzero(kept[q])
    ]
    rows += [{"query_id": f"q{q}"} for q in range(QUERIES) if not kept[q].any()]
    return pl.DataFrame(rows).with_columns(**columns)


RUNS = [
    {f"q{q}": {f"d{d}": float(x) for d, x in enumerate(RNG.random(DOCS))} for q in range(QUERIES)}
    for _ in range(2)
]
KEPT = RNG.random(GRADES.shape) < CHANCE


def compared(kept=KEPT, metrics=METRICS, people=None, **facts):
    facts = {"predicted": _table(MODEL), "sample": _sample(kept)} | facts
    people = _table(GRADES, kept) if people is None else people
    return compare(Collection(people, **facts), {"old": RUNS[0]}, {"new": RUNS[1]}, list(metrics))


def test_the_mean_over_all_samples_is_what_people_would_find():
    total = np.zeros((len(METRICS), QUERIES))
    masks = list(itertools.product([False, True], repeat=DOCS))
    for shift in range(len(masks)):  # each query goes through all samples
        sampled_mask = np.array([masks[(q + shift) % len(masks)] for q in range(QUERIES)])
        sample = _sample(sampled_mask, np.full_like(CHANCE, 0.5))
        per_query = compared(sampled_mask, sample=sample).only.queries.sort("metric", "query_id")
        total += per_query["candidate"].to_numpy().reshape(len(METRICS), QUERIES) / len(masks)
    truth = compare(_table(GRADES), *RUNS, METRICS).only.queries.sort("metric", "query_id")
    assert total.ravel() == pytest.approx(truth["candidate"].to_numpy())


def test_each_document_weighs_by_the_inverse_of_its_chance():
    estimates = compared(metrics=["DCG@3"]).only.queries.sort("query_id")
    model = compare(_table(MODEL), *RUNS, ["DCG@3"]).only.queries.sort("query_id")
    assert len(estimates) == QUERIES
    for row, plain in zip(estimates.iter_rows(named=True), model.iter_rows(named=True), strict=True):
        q = int(row["query_id"][1:])
        scores = RUNS[1][row["query_id"]]
        ranked = sorted(scores, key=scores.__getitem__, reverse=True)[:3]
        value = plain["candidate"]
        for rank, name in enumerate(ranked, 1):
            d = int(name[1:])
            change = (GRADES[q, d] - MODEL[q, d]) / np.log2(rank + 1)
            value += KEPT[q, d] * change / CHANCE[q, d]
        assert row["candidate"] == pytest.approx(value)


def test_all_documents_drawn_are_the_judgments_of_people():
    full_mask = np.ones_like(KEPT)
    comparison = compared(full_mask, sample=_sample(full_mask, np.full_like(CHANCE, 0.999999)))
    truth = compare(_table(GRADES), *RUNS, METRICS)
    assert comparison.metrics["delta"].to_list() == pytest.approx(truth.metrics["delta"].to_list(), abs=1e-4)


def test_the_table_says_how_many_documents_more():
    row = compared(metrics=["DCG@3"]).only.represented.row(0, named=True)
    assert (row["queries"], row["population"]) == (QUERIES, QUERIES)
    assert row["documents"] == KEPT.sum()
    assert "documents" in str(compared())


def test_queries_can_be_sampled_too():
    sampled_mask = KEPT.copy()
    sampled_mask[24:] = False
    sampled_mask[:24, 0] = True
    sample = _sample(sampled_mask).filter(pl.col("doc_id").is_not_null())
    row = compared(sampled_mask, ["DCG@3"], sample=sample).only.represented.row(0, named=True)
    assert (row["queries"], row["population"]) == (24, QUERIES)


@pytest.mark.parametrize("metric", METRICS)
def test_sums_over_documents_say_so(metric):
    name = metric.partition("@")[0].partition("(")[0]
    (declared,) = (entry for entry in CATALOGUE if entry.name == name)
    assert declared.additive


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"metrics": ["nDCG@3"]}, "unsupported-metric"),
        ({"metrics": ["RR"]}, "unsupported-metric"),
        ({"metrics": ["RBP"]}, "unsupported-metric"),  # trec_eval scales grades by the best
        ({"predicted": None}, "sampled-documents"),
        ({"sample": _sample(KEPT, np.where(CHANCE > 0.7, 1.5, CHANCE))}, "out-of-range"),
        ({"sample": _sample(KEPT, np.zeros_like(CHANCE))}, "out-of-range"),
        ({"sample": _sample(KEPT).filter(pl.col("doc_id").ne_missing("d1"))}, "not-in-sample"),
        ({"people": _table(GRADES, KEPT & (np.arange(DOCS) != 1))}, "sample-not-judged"),
        ({"sample": _sample(KEPT, np.full_like(CHANCE, 0.05))}, "sample-not-random"),
        ({"sample": pl.concat([_sample(KEPT), _sample(KEPT).head(1)])}, "duplicate-document"),
    ],
)
def test_refused(options, code):
    with raises(code):
        compared(**options)


def test_documents_chosen_by_their_grades_are_refused():
    high = MODEL >= 2
    with raises("sample-not-random"):
        compared(high, sample=_sample(high, np.full_like(CHANCE, high.mean())))


def test_eval_has_no_model_to_correct():
    with raises("sampled-documents"):
        evaluate(Collection(_table(GRADES, KEPT), sample=_sample(KEPT)), {"new": RUNS[1]}, ["P@2"])


def test_the_gate_says_how_many_more_documents_settle_it(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[rules]]\nid = "gain"\nkind = "improvement"\nmetric = "DCG@3"\n')
    collection = Collection(_table(GRADES, KEPT), predicted=_table(MODEL), sample=_sample(KEPT))
    verdict = gate(collection, *RUNS, path, log=False)
    (gain,) = (rule.outcome for rule in verdict.rules)
    assert gain.status == "inconclusive"
    assert "documents" in gain.next
    assert gain.delta == pytest.approx(compared(metrics=["DCG@3"]).metrics["delta"][0])


def test_a_pool_of_strata_is_such_a_sample(tmp_path):
    pool = rankgate.pool(RUNS, rankgate.PoolDesign(depth=3, strata="1:1,3:0.5"))
    path = tmp_path / "pool.csv"
    pool.to_polars().write_csv(path)
    pairs = set(pool.to_polars().select("query_id", "doc_id").iter_rows())
    sampled_mask = np.array([[(f"q{q}", f"d{d}") in pairs for d in range(DOCS)] for q in range(QUERIES)])
    row = compared(sampled_mask, ["DCG@3"], sample=path).only.represented.row(0, named=True)
    assert row["documents"] == len(pairs)


def test_more_documents_lower_the_part_of_the_variance_that_is_theirs():
    rng = np.random.default_rng(0)
    parts, chance = rng.normal(0, 0.01, 400), np.full(400, 0.2)
    variance = ((1 - chance) * (parts / chance) ** 2).sum()
    extra_documents = documents_needed(parts, chance, chance, variance + 0.5, variance / 4 + 0.5)
    assert extra_documents == pytest.approx(600, abs=1)  # (1 − π)/π falls from 4 to 1: π = .5 instead of .2
    assert documents_needed(parts, chance, chance, variance + 0.5, 0.49) is None
    assert documents_needed(parts, chance, chance, 0.1, 0.2) == 0


def test_a_part_of_the_documents_without_their_chances_is_refused():
    with raises("sampled-documents"):
        compared(sample="random")
