"""A model's judgments corrected by people's, and weighted queries, in eval, compare and gate."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import rankgate
from rankgate import compare, evaluate, gate
from rankgate.data.collection import Collection, Predicted
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.saved.saved_baselines import save
from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.weighted_means import Population, estimate_population
from support.command import assert_refused
from support.wording import raises

RNG = np.random.default_rng(12)
QUERIES, DOCS, PEOPLE = 240, 12, 40
GRADES = RNG.choice(4, (QUERIES, DOCS), p=[0.55, 0.25, 0.15, 0.05])


def _judged(grades, queries=range(QUERIES)):
    return {f"q{q}": {f"d{d}": int(grades[q, d]) for d in range(DOCS)} for q in queries}


def _run(noise, rng):
    return {
        f"q{q}": {f"d{d}": float(GRADES[q, d] + rng.normal(0, noise)) for d in range(DOCS)}
        for q in range(QUERIES)
    }


MODEL = _judged(np.clip(np.rint(GRADES + RNG.normal(0.4, 0.5, GRADES.shape)), 0, 3))
DRAWN = sorted(RNG.choice(QUERIES, PEOPLE, replace=False))
JUDGED, ALL = _judged(GRADES, DRAWN), _judged(GRADES)
OLD, NEW = _run(2.0, RNG), _run(1.6, RNG)
TAGS = pl.DataFrame(
    {
        "query_id": [f"q{q}" for q in range(QUERIES)],
        "kind": ["head" if q % 2 else "tail" for q in range(QUERIES)],
    }
)


def predicted(
    qrels=JUDGED, model=MODEL, metrics=("nDCG@5", "P@5"), *, saw="unknown", test="t", slices=(), **facts
):
    collection = Collection(qrels, predicted=Predicted(model, saw), **{"sample": "random"} | facts)
    runs = {"old": OLD}, {"new": NEW}
    return compare(collection, *runs, list(metrics), test=test, slices=slices)


def test_the_estimate_is_of_all_queries_and_shorter_than_that_of_people():
    result, truth = predicted().only, compare(ALL, OLD, NEW, ["nDCG@5", "P@5"])
    row, full_row = result.metrics.row(0, named=True), truth.metrics.row(0, named=True)
    represented = result.represented.row(0, named=True)
    assert row["low"] <= full_row["delta"] <= row["high"]
    assert row["candidate"] - row["baseline"] == pytest.approx(row["delta"])
    assert row["high"] - row["low"] < 0.85 * (represented["people_high"] - represented["people_low"])
    assert (represented["queries"], represented["population"], row["n"]) == (PEOPLE, QUERIES, PEOPLE)
    people = compare(JUDGED, OLD, NEW, ["nDCG@5"]).metrics.row(0, named=True)
    assert (represented["people"], represented["people_low"]) == pytest.approx(
        (people["delta"], people["low"])
    )
    assert (row["wins"], row["losses"]) == (people["wins"], people["losses"])
    model = compare(MODEL, OLD, NEW, ["nDCG@5"]).metrics["delta"][0]
    assert represented["model"] == pytest.approx(model)


def test_it_is_the_estimate_of_the_values_of_both():
    people, model = (compare(judgments, OLD, NEW, ["P@5"]).only.queries for judgments in (JUDGED, MODEL))
    merged = people.join(model.select("query_id", x="delta"), on="query_id")
    population = Population(model["delta"].to_numpy(), np.ones(QUERIES))
    estimate = estimate_population(
        merged["delta"].to_numpy(), predicted=merged["x"].to_numpy(), population=population
    )
    ends = t_interval(estimate.values)
    row = predicted(metrics=["P@5"]).metrics.row(0, named=True)
    assert (row["delta"], row["low"]) == pytest.approx((estimate.mean, ends.low[0]))


def test_slices_are_of_their_own_queries():
    result = predicted(tags=TAGS, slices=["kind"]).only
    slice_result = predicted(
        {q: docs for q, docs in JUDGED.items() if int(q[1:]) % 2},
        {q: docs for q, docs in MODEL.items() if int(q[1:]) % 2},
    ).only
    (head_row,) = result.slices.filter(value="head", metric="P@5").iter_rows(named=True)
    assert head_row["delta"] == pytest.approx(slice_result.metrics["delta"][1])
    assert head_row["n"] == sum(q % 2 for q in DRAWN)


def test_single_queries_have_conformal_intervals():
    result, truth = predicted(metrics=["P@5"]).only, compare(ALL, OLD, NEW, ["P@5"]).queries
    joined = result.predictions.join(truth.select("query_id", own="delta"), on="query_id")
    assert len(joined) == QUERIES - PEOPLE
    covered = (joined["low"] - 1e-9 <= joined["own"]) & (joined["own"] <= joined["high"] + 1e-9)
    assert covered.mean() >= 0.9


def test_it_makes_the_round_trip_and_shows_what_it_is_made_of():
    result = predicted()
    restored = Comparisons.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.only.represented.equals(result.only.represented)
    assert restored.only.predictions.equals(result.only.predictions)
    assert "people's judgments correct those of the model" in str(result)


def test_too_few_people_have_no_interval_and_decide_nothing():
    judgments = {f"q{q}": JUDGED[f"q{q}"] for q in DRAWN[:12]}
    result = predicted(judgments).only
    assert result.metrics["low"].null_count() == 2
    assert any("below 20" in warning for warning in result.warnings)
    verdict = gate(Collection(judgments, sample="random", predicted=MODEL), OLD, NEW, log=False)
    assert verdict.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"sample": None}, "missing-input"),
        ({"test": "randomization"}, "conflicting-options"),
        ({"test": Test(interval="bca")}, "conflicting-options"),
        ({"test": Test(relative=True)}, "conflicting-options"),
        ({"model": JUDGED}, "model-saw-judgments"),
        ({"model": {q: docs for q, docs in MODEL.items() if q != f"q{DRAWN[0]}"}}, "sample-not-subset"),
        (
            {"model": {q: {d: g for d, g in docs.items() if d != "d3"} for q, docs in MODEL.items()}},
            "sample-not-subset",
        ),
        (
            {"sample": pl.DataFrame({"query_id": list(JUDGED), "stratum": "a", "stratum_share": 1.0})},
            "conflicting-options",
        ),
    ],
)
def test_refused(options, code):
    with raises(code):
        predicted(**options)


def test_queries_chosen_by_their_results_are_refused():
    delta = compare(MODEL, OLD, NEW, ["nDCG@5"]).queries.sort("delta", descending=True)
    best_queries = delta["query_id"].head(PEOPLE).to_list()
    with raises("sample-not-random"):
        predicted({query: ALL[query] for query in best_queries})


def test_queries_chosen_by_their_results_are_refused_with_chances_too():
    delta = compare(MODEL, OLD, NEW, ["nDCG@5"]).queries.sort("delta", descending=True)
    best_queries = delta["query_id"].head(PEOPLE).to_list()
    sample = pl.DataFrame({"query_id": best_queries, "query_inclusion": PEOPLE / QUERIES})
    with raises("sample-not-random"):
        predicted({query: ALL[query] for query in best_queries}, sample=sample)


def test_queries_drawn_with_unequal_chances_are_taken():
    rng = np.random.default_rng(2)
    chance = np.where(np.arange(QUERIES) % 3 == 0, 0.5, 0.15)
    sampled = np.flatnonzero(rng.random(QUERIES) < chance)
    sample = pl.DataFrame({"query_id": [f"q{q}" for q in sampled], "query_inclusion": chance[sampled]})
    row = predicted(_judged(GRADES, sampled), sample=sample).metrics.row(0, named=True)
    truth = compare(ALL, OLD, NEW, ["nDCG@5"]).metrics["delta"][0]
    assert row["low"] <= truth <= row["high"]


def test_a_model_that_judges_less_where_people_did_not_is_refused():
    easy = {q: docs if q in JUDGED else {d: g for d, g in docs.items() if g > 1} for q, docs in MODEL.items()}
    with raises("sample-not-random"):
        predicted(model={q: docs for q, docs in easy.items() if docs})


# what the model saw


def _repeats(queries, share=0.05, seed=3):
    """A model that repeats most of people's grades of these queries, and errs elsewhere."""
    rng = np.random.default_rng(seed)
    repeated = np.where(rng.random(GRADES.shape) < share, rng.integers(0, 4, GRADES.shape), GRADES)
    saw = np.isin(np.arange(QUERIES), list(queries))[:, None]
    errs = np.clip(np.rint(GRADES + rng.normal(0.5, 0.8, GRADES.shape)), 0, 3)
    return _judged(np.where(saw, repeated, errs))


def test_a_model_that_repeats_peoples_grades_is_refused_unless_it_saw_none():
    model = _repeats(range(QUERIES))
    with raises("model-saw-judgments"):
        predicted(model=model)
    stated = predicted(model=model, saw="none").only
    assert stated.predicted_saw == "none"
    assert stated.represented["agreement"][0] > 0.9
    assert any("none of people's judgments" in warning for warning in stated.warnings)


@pytest.mark.parametrize("saw", ["unknown", "none"])
def test_a_model_that_grades_judged_queries_otherwise_is_refused(saw):
    with raises("model-saw-judgments"):
        predicted(model=_repeats(DRAWN, share=0.1), saw=saw)


def test_queries_whose_judgments_the_model_saw_are_left_out():
    seen_queries = DRAWN[:15]
    model = _repeats(seen_queries)
    result = predicted(model=model, saw=_judged(GRADES, seen_queries)).only
    unseen_queries = [q for q in range(QUERIES) if q not in seen_queries]
    unseen = {f"q{q}": model[f"q{q}"] for q in unseen_queries}
    unseen_result = predicted(_judged(GRADES, DRAWN[15:]), unseen, saw="none").only
    assert result.metrics.equals(unseen_result.metrics)
    assert result.represented["seen"].to_list() == [15, 15]
    assert result.represented["population"].to_list() == [QUERIES - 15] * 2
    assert any("15 queries" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("options", "code"), [({"saw": JUDGED}, "model-saw-judgments"), ({"saw": ALL}, "model-saw-judgments")]
)
def test_a_model_that_saw_all_that_people_judged_is_not_corrected(options, code):
    with raises(code):
        predicted(**options)


def test_a_slice_that_was_never_drawn_is_refused_or_named():
    rare = TAGS.with_columns(
        language=pl.Series(["fr" if q not in DRAWN and q % 3 == 0 else "en" for q in range(QUERIES)])
    )
    with raises("sample-not-random"):
        predicted(tags=rare)
    rare_queries = [q for q in range(QUERIES) if q not in DRAWN][:6]
    rare = TAGS.with_columns(
        language=pl.Series(["fr" if q in rare_queries else "en" for q in range(QUERIES)])
    )
    assert any("language=fr (2%" in warning for warning in predicted(tags=rare).only.warnings)


def test_queries_that_only_the_model_judged_may_differ():
    mixed_run = {q: OLD[q] for q in JUDGED} | {q: NEW[q] for q in ALL if q not in JUDGED}
    verdict = gate(Collection(JUDGED, sample="random", predicted=MODEL), OLD, mixed_run, log=False)
    assert verdict.verdict == "inconclusive"


POLICY = """
[[rules]]
id = "gain"
kind = "improvement"
metric = "nDCG@5"
[[rules]]
id = "share"
kind = "noninferiority"
metric = "nDCG@5"
relative = 0.05
[[rules]]
id = "level"
kind = "floor"
metric = "P@5"
at_least = {floor}
"""


@pytest.fixture
def policy(tmp_path):
    def written(floor=0.2):
        path = tmp_path / "rules.toml"
        path.write_text(POLICY.format(floor=floor))
        return path

    return written


def _write_runs(folder):
    for name, qrels in (("people.qrels", JUDGED), ("model.qrels", MODEL)):
        lines = [f"{q} 0 {d} {grade}\n" for q, docs in qrels.items() for d, grade in docs.items()]
        (folder / name).write_text("".join(lines))
    for name, scores in (("old.run", OLD), ("new.run", NEW)):
        lines = [f"{q} Q0 {d} 1 {score} x\n" for q, docs in scores.items() for d, score in docs.items()]
        (folder / name).write_text("".join(lines))


def test_the_gate_decides_by_both(policy):
    sampled = Collection(JUDGED, sample="random", predicted=MODEL)
    verdict = gate(sampled, OLD, NEW, policy(), log=False)
    people_verdict = gate(JUDGED, OLD, NEW, policy(), log=False)
    predicted_outcomes, people_outcomes = (
        {r.rule.id: r.outcome for r in gate_result.rules} for gate_result in (verdict, people_verdict)
    )
    assert (
        predicted_outcomes["gain"].high - predicted_outcomes["gain"].low
        < people_outcomes["gain"].high - people_outcomes["gain"].low
    )
    assert predicted_outcomes["gain"].delta == pytest.approx(predicted().metrics["delta"][0])
    assert predicted_outcomes["share"].delta == pytest.approx(predicted_outcomes["gain"].delta, abs=0.01)
    truth = evaluate(ALL, {"new": NEW}, ["P@5"])["new", "P@5"]
    assert predicted_outcomes["level"].low < truth < predicted_outcomes["level"].high
    assert gate(sampled, OLD, NEW, policy(0.99), log=False).verdict == "fail"


def test_an_open_verdict_says_how_many_more_people_settle_it(policy):
    judgments = {f"q{q}": JUDGED[f"q{q}"] for q in DRAWN[:22]}
    verdict = gate(
        Collection(judgments, sample="random", predicted=MODEL),
        OLD,
        _run(1.95, np.random.default_rng(1)),
        policy(),
        log=False,
    )
    (gain,) = (rule_result.outcome for rule_result in verdict.rules if rule_result.rule.id == "gain")
    assert gain.status == "inconclusive"
    assert "people" in gain.next


@pytest.mark.parametrize(
    ("words", "code"),
    [('interval = "bca"', "conflicting-options"), ('interval = "guaranteed"', "conflicting-options")],
)
def test_policies_that_need_each_value_are_refused(tmp_path, words, code):
    path = tmp_path / "rules.toml"
    path.write_text(f"[gate]\n{words}\n{POLICY.format(floor=0.2)}")
    with raises(code):
        gate(Collection(JUDGED, sample="random", predicted=MODEL), OLD, NEW, path, log=False)


def test_a_saved_baseline_has_no_lists_for_a_model_to_judge(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write_runs(tmp_path)
    save("main", "people.qrels", "old.run")
    with raises("baseline-lacks"):
        gate(Collection("people.qrels", sample="random", predicted=MODEL), "main", NEW)


# weights


def _sample(**columns):
    return pl.DataFrame({"query_id": list(JUDGED), **columns})


WEIGHTS = np.linspace(0.5, 4, PEOPLE)


def test_compare_eval_and_gate_weigh_alike():
    sample = _sample(weight=WEIGHTS)
    row = compare(Collection(JUDGED, sample=sample), OLD, NEW, ["P@5"]).metrics.row(0, named=True)
    delta = compare(JUDGED, OLD, NEW, ["P@5"]).queries
    order = [list(JUDGED).index(query) for query in delta["query_id"]]
    values, v = delta["delta"].to_numpy(), WEIGHTS[order]
    mean = np.average(values, weights=v)
    jackknife = v * (values - mean) / (v.sum() - v)
    error = np.sqrt((PEOPLE - 1) / PEOPLE * jackknife @ jackknife)
    reach = stdtrit((v @ v) ** 2 / (v**4).sum() - 1, 0.975) * error
    assert (row["delta"], row["low"], row["high"]) == pytest.approx((mean, mean - reach, mean + reach))
    means = evaluate(Collection(JUDGED, sample=sample), {"old": OLD, "new": NEW}, ["P@5"])
    assert means["new", "P@5"] - means["old", "P@5"] == pytest.approx(row["delta"])
    assert means.weighted["effective"][0] == pytest.approx(WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum())
    verdict = gate(Collection(JUDGED, sample=sample), OLD, NEW, log=False)
    assert verdict.comparison.metrics["delta"][0] != pytest.approx(
        compare(JUDGED, OLD, NEW, ["nDCG@10"]).metrics["delta"][0], abs=1e-6
    )


def test_chances_and_shares_of_strata_say_the_same():
    strata = ["head" if i < 25 else "tail" for i in range(PEOPLE)]
    by_chance = _sample(query_stratum=strata, query_inclusion=[25 / 50] * 25 + [15 / 450] * 15)
    by_share = _sample(stratum=strata, stratum_share=[0.1] * 25 + [0.9] * 15)
    chance_metrics, share_metrics = (
        compare(Collection(JUDGED, sample=sample), OLD, NEW, ["P@5"]).metrics
        for sample in (by_chance, by_share)
    )
    assert chance_metrics["delta"][0] == pytest.approx(share_metrics["delta"][0])
    assert chance_metrics["low"][0] == pytest.approx(share_metrics["low"][0])


@pytest.mark.parametrize("share", [False, True])
def test_slices_are_weighted_in_eval_as_in_compare(share):
    strata = ["head" if i < 25 else "tail" for i in range(PEOPLE)]
    chance = {"query_inclusion": [25 / 50] * 25 + [15 / 450] * 15}
    sizes = {"stratum_share": [0.1] * 25 + [0.9] * 15}
    sample = _sample(query_stratum=strata, **(sizes if share else chance))
    weighted = Collection(JUDGED, tags=TAGS, sample=sample)
    head_slice = evaluate(weighted, {"new": NEW}, ["P@5"], slices=["kind"]).slices.filter(value="head")
    result = compare(weighted, OLD, NEW, ["P@5"], slices=["kind"])
    row = result.only.slices.filter(value="head")
    weights = dict(zip(JUDGED, [2.0] * 25 + [30.0] * 15, strict=True))
    plain = evaluate(JUDGED, {"new": NEW}, ["P@5"]).values.to_dicts()
    head_values = {record["query_id"]: record["value"] for record in plain if int(record["query_id"][1:]) % 2}
    total = sum(weights[query] for query in head_values)
    expected = sum(weights[query] * value for query, value in head_values.items()) / total
    assert head_slice["mean"][0] == pytest.approx(expected)
    assert row["candidate"][0] == pytest.approx(expected)


def test_the_size_of_the_population_is_not_that_of_a_slice():
    sample = _sample(probability=0.1, population=float(10 * PEOPLE))
    first, second = (
        compare(Collection(JUDGED, sample=design, tags=TAGS), OLD, NEW, ["P@5"], slices=["kind"])
        for design in (sample, "random")
    )
    means = [result.only.slices["candidate"].to_list() for result in (first, second)]
    assert means[0] == pytest.approx(means[1])


def test_a_pool_says_how_its_queries_were_drawn(tmp_path):
    sizes = {f"q{q}": 1.0 + q for q in range(QUERIES)}
    pool = rankgate.pool([OLD, NEW], rankgate.PoolDesign(queries=PEOPLE, query_sampling="pps", sizes=sizes))
    path = tmp_path / "pool.csv"
    pool.to_polars().write_csv(path)
    sampled_queries = pool.to_polars().select("query_id", "query_inclusion").unique()
    people = {query: ALL[query] for query in sampled_queries["query_id"]}
    weighted_row = evaluate(Collection(people, sample=path), {"new": NEW}, ["P@5"]).weighted.row(
        0, named=True
    )
    plain = evaluate(people, {"new": NEW}, ["P@5"]).values.join(sampled_queries, on="query_id")
    v = 1 / plain["query_inclusion"]
    assert weighted_row["mean"] == pytest.approx((v * plain["value"]).sum() / v.sum())


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"title": "x"}, "missing-column"),
        ({"stratum": "a"}, "missing-column"),
        ({"probability": 0.0}, "out-of-range"),
        ({"probability": 1.5}, "out-of-range"),
        ({"probability": None}, "out-of-range"),
        ({"weight": -1}, "out-of-range"),
        ({"weight": float("inf")}, "out-of-range"),
        ({"weight": 1, "population": 0}, "out-of-range"),
    ],
)
def test_samples_that_say_nothing_are_refused(columns, code):
    with raises(code):
        evaluate(Collection(JUDGED, sample=_sample(**columns)), {"new": NEW}, ["P@5"])


def test_a_judged_query_that_the_sample_lacks_is_named():
    with raises("sample-lacks-query"):
        evaluate(Collection(JUDGED, sample=_sample(weight=1.0).head(5)), {"new": NEW}, ["P@5"])


@pytest.mark.parametrize("metric", ["GMAP", "num_ret", "Coverage@10"])
def test_what_is_no_mean_is_not_weighted(metric):
    with raises("unsupported-metric"):
        evaluate(Collection(JUDGED, sample="random"), {"new": NEW}, [metric])


def test_at_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write_runs(tmp_path)
    files = ("people.qrels", "old.run", "new.run", "--sample", "random")
    result = run("compare", *files, "-m", "P@5", "--predicted", "model.qrels")
    assert result.code == 0
    assert f"{PEOPLE} of {QUERIES}" in result.out
    assert run("gate", *files, "--predicted", "model.qrels").code in {0, 3}
    assert run("eval", *files, "-m", "P@5").code == 0
    assert run("compare", *files[:3], "--predicted", "model.qrels").code == 2
    assert_refused(run("compare", *files, "--predicted-saw", "none"), "missing-input")
