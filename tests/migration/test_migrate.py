"""Verdicts on migrations are right as often as they say, and name what an index lost."""

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.decisions.migration.moved_documents import join_lists, pair_documents
from rankgate.measurement.stats.mean_intervals import spacing_low
from rankgate.measurement.stats.special_functions import betaincinv
from support.wording import raises

GRADES = (0, 0, 0, 1, 2, 3)


def lists_of(queries=60, documents=30):
    return {f"q{i}": {f"d{i}-{j}": float(documents - j) for j in range(documents)} for i in range(queries)}


def without(run, share, seed=0):
    """The run of an index that misses a share of the documents."""
    random = np.random.default_rng(seed)
    return {query: {d: s for d, s in docs.items() if random.random() >= share} for query, docs in run.items()}


def judgments(run, seed=1):
    random = np.random.default_rng(seed)
    return {query: {doc: int(random.choice(GRADES)) for doc in docs} for query, docs in run.items()}


def answered(old, new, grades, answers=None, **options):
    """The result after all documents of the pools have been judged, and the number of rounds."""
    answers = answers or {}
    result = rankgate.migrate(old, new, **options)
    rounds = 0
    while len(result.pool):
        for query, doc in result.pool.iter_rows():
            answers.setdefault(query, {})[doc] = grades[query][doc]
        result = rankgate.migrate(old, new, answers=answers, **options)
        rounds += 1
    return result, rounds


def difference(old, new, grades, k=10):
    """The difference of nDCG@k with the ideal of the documents that either list shows."""
    tops = [{q: dict(list(docs.items())[:k]) for q, docs in run.items()} for run in (old, new)]
    shown = {q: {d: grades[q][d] for top in tops for d in top.get(q, ())} for q in old}
    scores = rankgate.evaluate(shown, {"old": old, "new": new}, [f"nDCG@{k}"])
    values = dict(scores.means.select("run", f"nDCG@{k}").iter_rows())
    return values["new"] - values["old"]


@pytest.mark.parametrize("gain", ["linear", "exp"])
def test_all_judged_is_the_difference_that_eval_measures(gain):
    old = lists_of(12, 14)
    new = {**without(old, 0.2), "q3": {}, "q4": dict(list(old["q4"].items())[:4])}
    new.pop("q3")
    grades = judgments(old)
    metric = f"nDCG(gain='{gain}')@10"
    tops = {q: {d: grades[q][d] for r in (old, new) for d in list(r.get(q, {}))[:10]} for q in old}
    result = rankgate.migrate(old, new, tops, metric)
    scores = rankgate.evaluate(tops, {"old": old, "new": new}, [metric])
    old_mean, new_mean = scores.means.sort("run", descending=True)[metric].to_list()
    assert result.certain_low == pytest.approx(new_mean - old_mean)
    assert result.certain_high == pytest.approx(new_mean - old_mean)
    assert result.judged == 0
    assert result.pool.is_empty()


def test_pairs_add_up_to_the_difference_of_dcg():
    random = np.random.default_rng(3)
    rows = []
    for query in range(40):
        for run in ("old", "new"):
            docs = random.permutation(14)[: random.integers(0, 11)]
            rows += [(run, f"q{query}", f"d{doc}", rank) for rank, doc in enumerate(docs, 1)]
    table = pl.DataFrame(rows, ["run", "query_id", "doc_id", "rank"], orient="row")
    documents = join_lists(*(table.filter(run=run).drop("run") for run in ("old", "new")))
    gains = documents.select("query_id", "doc_id", "weight", gain=pl.Series(random.random(len(documents))))
    pairs = pair_documents(documents)
    both = pairs
    for side in ("lost", "gained"):
        gain = gains.select("query_id", pl.col("doc_id").alias(side), pl.col("gain").alias(f"gain_{side}"))
        both = both.join(gain, on=["query_id", side], how="left")
    by_pairs = both.group_by("query_id").agg(
        (pl.col("mass") * (pl.col("gain_gained").fill_null(0) - pl.col("gain_lost").fill_null(0))).sum()
    )
    by_documents = gains.group_by("query_id").agg(dcg=(pl.col("weight") * pl.col("gain")).sum())
    joined = by_documents.join(by_pairs, on="query_id", how="left").fill_null(0)
    assert np.allclose(joined["dcg"], joined["mass"], atol=1e-7)
    assert (pairs["mass"] > 0).all()


@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_the_bound_of_values_of_two_sizes_is_that_of_clopper_and_pearson(count):
    n = 20
    values = np.repeat([0.0, 1.0], [n - count, count])
    exact = betaincinv(count, n - count + 1, 0.05) if count else 0.0
    assert spacing_low(values, 0.0, 0.05) == pytest.approx(exact, abs=0.005)


def test_the_bound_rises_with_each_value():
    random = np.random.default_rng(0)
    values = random.random(30)
    larger = np.minimum(values + random.random(30) * 0.2, 1)
    assert spacing_low(values, 0.0, 0.05) <= spacing_low(larger, 0.0, 0.05)


def test_equal_lists_pass_without_a_judgment():
    result = rankgate.migrate(lists_of(), lists_of())
    assert (result.outcome, result.low, result.changed, len(result.pool)) == ("pass", 0.0, 0, 0)


def test_a_harmless_migration_passes_within_its_budget():
    old = lists_of(200)
    grades = judgments(old)
    before = {q: dict(list(docs.items())[:10]) for q, docs in grades.items()}
    outcomes = []
    for seed in range(10):
        new = without(old, 0.02, seed)
        result, rounds = answered(old, new, grades, collection=before, test=rankgate.Test(seed=seed))
        assert result.judged <= 100
        assert rounds <= 3
        outcomes.append(result.outcome)
    assert outcomes.count("pass") >= 6


def test_an_index_that_loses_is_not_passed():
    """Adverse: few queries lose all that they have; the others are the same."""
    old = lists_of(200)
    grades = judgments(old)
    lost = {f"q{i}": {f"x{j}": 30.0 - j for j in range(30)} for i in range(5)}
    new = {**old, **lost}
    wrong = {q: {**docs, **{f"x{j}": 0 for j in range(30)}} for q, docs in grades.items()}
    outcomes = [answered(old, new, wrong, test=rankgate.Test(seed=seed))[0].outcome for seed in range(40)]
    assert difference(old, new, wrong) < -0.01
    assert outcomes.count("pass") <= 4


@pytest.mark.parametrize("source", ["old", "exact"])
def test_an_index_whose_recall_is_0_fails_whatever_judgments_say(source):
    old = lists_of(20)
    new = {q: {f"x{j}": 30.0 - j for j in range(30)} for q in old}
    grades = {q: {**dict.fromkeys(docs, 0), **dict.fromkeys(new[q], 3)} for q, docs in old.items()}
    other = {q: dict(old[q] if source == "exact" else new[q]) for q in old}
    result = rankgate.migrate(old if source == "old" else new, new, grades, exact=other)
    assert result.outcome == "fail"
    assert result.status == 1
    assert "its recall is 0" in result.blockers[0]


def test_losses_by_quantisation_and_by_the_graph_are_apart():
    exact = lists_of(40)
    quantised = without(exact, 0.1, 1)
    new = without(quantised, 0.3, 2)
    steps = rankgate.migrate(exact, new, exact=exact, quantised=quantised).steps
    kept = dict(steps.select("step", "kept").iter_rows())

    def share(reference, run):
        return np.mean([len({*list(reference[q])[:10]} & {*list(run[q])[:10]}) / 10 for q in reference])

    assert kept["quantisation"] == pytest.approx(share(exact, quantised))
    assert kept["graph"] == pytest.approx(share(quantised, new))
    assert kept["exact search to new index"] == pytest.approx(share(exact, new))


def test_documents_that_vanished_or_doubled_and_scores_on_another_scale_are_named(tmp_path):
    old = lists_of(20)
    (tmp_path / "new.run").write_text(
        "".join(
            f"{q} Q0 {d} {rank} {1 - rank / 100} new\n"
            for q, docs in old.items()
            for rank, d in enumerate([*list(docs)[1:], list(docs)[1]])
        )
    )
    result = rankgate.migrate(old, tmp_path / "new.run")
    assert (result.vanished, result.shown, result.doubled) == (20, 200, 20)
    assert {notice.code for notice in result.notices} == {"doubled-documents", "another-scale"}


def test_rounds_ask_for_new_documents_and_keep_to_the_budget():
    old = lists_of(100)
    grades = judgments(old)
    result, _ = answered(old, without(old, 0.05), grades, budget=40)
    assert result.judged <= 40
    assert result.pool.is_empty()
    again = rankgate.migrate(old, without(old, 0.05), budget=40)
    assert again.pool.equals(rankgate.migrate(old, without(old, 0.05), budget=40).pool)


def test_what_cannot_pass_says_how_many_judgments_it_takes():
    old = lists_of(100)
    result = rankgate.migrate(old, without(old, 0.3))
    assert result.outcome == "inconclusive"
    assert result.needed > result.budget
    assert "more than the budget of 100" in " ".join(str(result).split())


def test_errors():
    old = lists_of(20)
    with raises("unsupported-metric"):
        rankgate.migrate(old, old, metric="RR@10")
    with raises("unsupported-metric"):
        rankgate.migrate(old, old, metric="nDCG")
    with raises("grade-above-highest"):
        rankgate.migrate(old, old, {"q1": {"d1-1": 4}})
    with raises("judged-twice"):
        rankgate.migrate(old, old, {"q1": {"d1-1": 2}}, answers={"q1": {"d1-1": 1}})
    with raises("queries-differ"):
        rankgate.migrate(old, old, exact={"other": {"d": 1.0}})


def test_the_command_writes_the_pool_and_exits_by_the_outcome(tmp_path, run):
    old = lists_of(100)
    for name, lists in (("old", old), ("new", without(old, 0.01))):
        rows = (f"{q} Q0 {d} 0 {s} {name}\n" for q, docs in lists.items() for d, s in docs.items())
        (tmp_path / f"{name}.run").write_text("".join(rows))
    paths = [str(tmp_path / name) for name in ("old.run", "new.run")]
    pool = tmp_path / "pool.csv"
    done = run("migrate", *paths, "--save-pool", str(pool), "--format", "json")
    assert done.code == 3
    result = json.loads(done.out)
    assert result["kind"] == "migration"
    assert len(pool.read_text().splitlines()) == len(result["pool"]) + 1
    assert run("migrate", paths[0], paths[0]).code == 0
