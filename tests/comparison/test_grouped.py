"""Saved evaluations with sums over groups of queries, into ``compare`` and ``gate``."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import compare, evaluate, gate
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.codec import decode, encode
from rankgate.data.run_scores import GROUPS, GroupSums, hash_queries
from rankgate.decisions.comparison.reported_systems import read_scores
from rankgate.decisions.gating.policy import parse_policy as read
from rankgate.measurement.stats.mean_intervals import t_interval
from support.wording import raises

RNG = np.random.default_rng(8)
QRELS = {f"q{i}": {f"d{j}": int(RNG.integers(0, 3)) for j in range(6)} for i in range(1500)}
RUNS = {
    name: {
        query: {doc: grade + float(RNG.normal(0, noise)) for doc, grade in docs.items()}
        for query, docs in QRELS.items()
    }
    for name, noise in (("old", 1.8), ("new", 1.5))
}
METRICS = ["nDCG@5", "RR"]


def policy_of(text):
    return read(text, "policy")


def grouped(runs, qrels=QRELS, convention="trec"):
    """An evaluation without values of single queries."""
    evaluation = evaluate(qrels, runs, METRICS, convention)
    return replace(
        evaluation,
        runs=tuple(
            replace(
                run,
                groups={
                    m: GroupSums.from_queries(hash_queries(run.query_ids), run.values[m]) for m in METRICS
                },
            )
            for run in evaluation.runs
        ),
    )


def written(folder, name, evaluation):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(evaluation.to_dict()))
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    return [written(folder, name, grouped({name: run})) for name, run in RUNS.items()]


def test_sums_of_parts_are_the_sums_of_all():
    ids, values = hash_queries(pl.Series([f"u{i}" for i in range(999)])), np.random.default_rng(1).random(999)
    values[3] = np.nan
    all_sums = GroupSums.from_queries(ids, values)
    parts = GroupSums.from_queries(ids[:400], values[:400]) + GroupSums.from_queries(ids[400:], values[400:])
    assert (parts.queries, parts.total) == (all_sums.queries, 998)
    np.testing.assert_allclose(parts.sums, all_sums.sums, rtol=1e-14)
    stored = encode(all_sums)
    assert encode(GroupSums.from_packed(all_sums.packed())) == stored
    assert GroupSums(**decode(GroupSums, stored)).sums.tolist() == all_sums.sums.tolist()
    assert len(all_sums.values()) == GROUPS == len(np.flatnonzero(all_sums.n))
    assert np.mean([*all_sums.values().values()]) == pytest.approx(np.nanmean(values), rel=1e-13)


def test_two_saved_evaluations_are_compared_in_pairs(saved):
    single = compare(QRELS, RUNS["old"], RUNS["new"], METRICS).metrics
    groups = compare(read_scores(*saved), metrics=METRICS).metrics
    assert groups["n"].to_list() == [1500, 1500]
    assert groups["wins"].to_list() == [None, None]
    for name in ("baseline", "candidate", "delta"):
        np.testing.assert_allclose(groups[name], single[name], rtol=1e-12)
    for name in ("sd", "effect", "mde"):  # estimates of the same, from 128 groups: ±6 %
        np.testing.assert_allclose(groups[name], single[name], rtol=0.2)
    width, single_width = ((table["high"] - table["low"]).to_numpy() for table in (groups, single))
    np.testing.assert_allclose(width, single_width, rtol=0.2)


def test_intervals_of_groups_cover():
    rng = np.random.default_rng(2)
    covered, ids = 0, hash_queries(pl.Series([f"user{i}" for i in range(700)]))
    for _ in range(400):
        delta = rng.exponential(1.0, 700) - 1.0  # true mean 0
        interval = t_interval(np.array([*GroupSums.from_queries(ids, delta).values().values()]))
        covered += bool(interval.low[0] <= 0 <= interval.high[0])
    assert covered / 400 == pytest.approx(0.95, abs=0.033)  # three standard errors


def test_a_gate_decides_by_what_groups_show(saved):
    rules = """
    [[rules]]
    id = "a"
    kind = "noninferiority"
    metric = "nDCG@5"
    relative = 0.02
    [[rules]]
    id = "b"
    kind = "per_query"
    metric = "RR"
    max_drop = 0.5
    tier = "warn"
    [[rules]]
    id = "c"
    kind = "improvement"
    metric = "RR"
    slice = "kind=rare"
    tier = "warn"
    [[rules]]
    id = "d"
    kind = "floor"
    metric = "RR"
    at_least = 0.1
    """
    verdict = gate(read_scores(*saved), policy=policy_of(rules))
    assert [rule.outcome.status for rule in verdict.rules] == ["pass", "inconclusive", "inconclusive", "pass"]
    assert verdict.passed
    assert verdict.rules[0].outcome.n == 1500
    assert not verdict.rules[0].outcome.queries
    blocking = gate(read_scores(*saved), policy=policy_of(rules.replace('tier = "warn"', "", 1)))
    assert blocking.verdict == "inconclusive"
    strict = policy_of(rules.replace("0.02", "0.001"))
    assert gate(read_scores(*saved[::-1]), policy=strict).verdict == "fail"


def test_more_queries_are_counted_in_queries(saved):
    rules = "[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = {}\n"
    reversed_paths, delta = (saved[::-1], compare(read_scores(*saved), metrics=["RR"]).metrics["delta"][0])
    open_ = gate(read_scores(*reversed_paths), policy=policy_of(rules.format(delta * 1.02)))
    assert open_.verdict == "inconclusive"
    assert int(open_.rules[0].outcome.next.split("about ")[1].split()[0].replace(",", "")) > 1500


def test_what_groups_cannot_say_is_refused(saved, tmp_path):
    tags = pl.DataFrame({"query_id": list(QRELS), "kind": "a"})
    with raises("missing-part", UsageError):
        compare(read_scores(*saved, tags=tags), slices=["kind"])
    with raises("missing-part", UsageError):
        gate(
            read_scores(*saved),
            policy=policy_of("""[gate]
interval = "guaranteed"
[[rules]]
kind = "improvement"
metric = "RR"
"""),
        )
    fewer = {query: QRELS[query] for query in list(QRELS)[:-1]}
    other_path = written(tmp_path, "other", grouped({"other": RUNS["new"]}, fewer))
    with raises("values-differ", UsageError):
        compare(read_scores(saved[0], other_path))
    single = tmp_path / "single.json"
    evaluation = evaluate(QRELS, {"single": RUNS["new"]}, METRICS)
    single.write_text(json.dumps(evaluation.to_dict(per_query=True)))
    with raises("not-comparable", UsageError):
        compare(read_scores(saved[0], single))
    beir = written(tmp_path, "third", grouped({"third": RUNS["new"]}, convention="beir"))
    with raises("not-comparable", UsageError):
        compare(read_scores(saved[0], beir))
    damaged = tmp_path / "damaged.json"
    values = json.loads(saved[0].read_text())
    values["runs"][0]["groups"]["RR"]["n"] = [1, 2]
    damaged.write_text(json.dumps(values))
    with raises("damaged-result", InputError):
        compare(read_scores(damaged, saved[1]))


def test_other_saved_results_have_no_values(saved, tmp_path):
    card = rankgate.scorecard(QRELS, RUNS, ["RR", "Coverage@2"], resamples=2)
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card.to_dict()))
    with raises("no-values", InputError):
        compare(read_scores(saved[0], path))


def test_a_saved_evaluation_is_read_again(saved):
    values = json.loads(saved[0].read_text())
    scores = rankgate.Scores.from_dict(values)
    assert json.loads(json.dumps(scores.to_dict())) == values
