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


def _run(noise):
    return {
        f"q{q}": {f"d{d}": float(GRADES[q, d] + RNG.normal(0, noise)) for d in range(DOCS)}
        for q in range(QUERIES)
    }


MODEL = _judged(np.clip(np.rint(GRADES + RNG.normal(0.4, 0.5, GRADES.shape)), 0, 3))
DRAWN = sorted(RNG.choice(QUERIES, PEOPLE, replace=False))
JUDGED, ALL = _judged(GRADES, DRAWN), _judged(GRADES)
OLD, NEW = _run(2.0), _run(1.6)
TAGS = pl.DataFrame({"query_id": [f"q{q}" for q in range(QUERIES)],
                     "kind": ["head" if q % 2 else "tail" for q in range(QUERIES)]})  # fmt: skip


def predicted(
    qrels=JUDGED, model=MODEL, metrics=("nDCG@5", "P@5"), *, saw="unknown", test="t", slices=(),
    **facts,
):  # fmt: skip
    collection = Collection(qrels, predicted=Predicted(model, saw), **{"sample": "random"} | facts)
    runs = {"old": OLD}, {"new": NEW}
    return compare(collection, *runs, list(metrics), test=test, slices=slices)


def test_the_estimate_is_of_all_queries_and_shorter_than_that_of_people():
    result, truth = predicted().only, compare(ALL, OLD, NEW, ["nDCG@5", "P@5"])
    row, whole = result.metrics.row(0, named=True), truth.metrics.row(0, named=True)
    of = result.represented.row(0, named=True)
    assert row["low"] <= whole["delta"] <= row["high"]
    assert row["candidate"] - row["baseline"] == pytest.approx(row["delta"])
    assert row["high"] - row["low"] < 0.85 * (of["people_high"] - of["people_low"])
    assert (of["queries"], of["population"], row["n"]) == (PEOPLE, QUERIES, PEOPLE)
    people = compare(JUDGED, OLD, NEW, ["nDCG@5"]).metrics.row(0, named=True)
    assert (of["people"], of["people_low"]) == pytest.approx((people["delta"], people["low"]))
    assert (row["wins"], row["losses"]) == (people["wins"], people["losses"])
    model = compare(MODEL, OLD, NEW, ["nDCG@5"]).metrics["delta"][0]
    assert of["model"] == pytest.approx(model)


def test_it_is_the_estimate_of_the_values_of_both():
    people, model = (compare(each, OLD, NEW, ["P@5"]).only.queries for each in (JUDGED, MODEL))
    both = people.join(model.select("query_id", x="delta"), on="query_id")
    population = Population(model["delta"].to_numpy(), np.ones(QUERIES))
    found = estimate_population(both["delta"].to_numpy(), predicted=both["x"].to_numpy(),
                        population=population)  # fmt: skip
    ends = t_interval(found.values)
    row = predicted(metrics=["P@5"]).metrics.row(0, named=True)
    assert (row["delta"], row["low"]) == pytest.approx((found.mean, ends.low[0]))


def test_slices_are_of_their_own_queries():
    result = predicted(tags=TAGS, slices=["kind"]).only
    own = predicted(
        {q: docs for q, docs in JUDGED.items() if int(q[1:]) % 2},
        {q: docs for q, docs in MODEL.items() if int(q[1:]) % 2},
    ).only  # fmt: skip
    (head,) = result.slices.filter(value="head", metric="P@5").iter_rows(named=True)
    assert head["delta"] == pytest.approx(own.metrics["delta"][1])
    assert head["n"] == sum(q % 2 for q in DRAWN)


def test_single_queries_have_conformal_intervals():
    result, truth = predicted(metrics=["P@5"]).only, compare(ALL, OLD, NEW, ["P@5"]).queries
    both = result.predictions.join(truth.select("query_id", own="delta"), on="query_id")
    assert len(both) == QUERIES - PEOPLE
    inside = (both["low"] - 1e-9 <= both["own"]) & (both["own"] <= both["high"] + 1e-9)
    assert inside.mean() >= 0.9


def test_it_makes_the_round_trip_and_shows_what_it_is_made_of():
    result = predicted()
    again = Comparisons.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.only.represented.equals(result.only.represented)
    assert again.only.predictions.equals(result.only.predictions)
    assert "people's judgments correct those of the model" in str(result)


def test_too_few_people_have_no_interval_and_decide_nothing():
    some = {f"q{q}": JUDGED[f"q{q}"] for q in DRAWN[:12]}
    result = predicted(some).only
    assert result.metrics["low"].null_count() == 2
    assert any("below 20" in words for words in result.warnings)
    verdict = gate(Collection(some, sample="random", predicted=MODEL), OLD, NEW, log=False)
    assert verdict.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"sample": None}, "missing-input"),
        ({"test": "randomization"}, "conflicting-options"),
        ({"test": Test(interval="bca")}, "conflicting-options"),
        ({"test": Test(relative=True)}, "conflicting-options"),
        ({"model": JUDGED}, "model-saw-judgments"),
        ({"model": {q: docs for q, docs in MODEL.items() if q != f"q{DRAWN[0]}"}},
         "sample-not-subset"),
        ({"model": {q: {d: g for d, g in docs.items() if d != "d3"} for q, docs in MODEL.items()}},
         "sample-not-subset"),
        ({"sample": pl.DataFrame({"query_id": list(JUDGED), "stratum": "a", "stratum_share": 1.0})},
         "conflicting-options"),
    ],
)  # fmt: skip
def test_refused(options, code):
    with raises(code):
        predicted(**options)


def test_queries_chosen_by_their_results_are_refused():
    delta = compare(MODEL, OLD, NEW, ["nDCG@5"]).queries.sort("delta", descending=True)
    best = delta["query_id"].head(PEOPLE).to_list()
    with raises("sample-not-random"):
        predicted({query: ALL[query] for query in best})


def test_queries_chosen_by_their_results_are_refused_with_chances_too():
    delta = compare(MODEL, OLD, NEW, ["nDCG@5"]).queries.sort("delta", descending=True)
    best = delta["query_id"].head(PEOPLE).to_list()
    sample = pl.DataFrame({"query_id": best, "query_inclusion": PEOPLE / QUERIES})
    with raises("sample-not-random"):
        predicted({query: ALL[query] for query in best}, sample=sample)


def test_queries_drawn_with_unequal_chances_are_taken():
    rng = np.random.default_rng(2)
    chance = np.where(np.arange(QUERIES) % 3 == 0, 0.5, 0.15)
    some = np.flatnonzero(rng.random(QUERIES) < chance)
    sample = pl.DataFrame({"query_id": [f"q{q}" for q in some], "query_inclusion": chance[some]})
    row = predicted(_judged(GRADES, some), sample=sample).metrics.row(0, named=True)
    truth = compare(ALL, OLD, NEW, ["nDCG@5"]).metrics["delta"][0]
    assert row["low"] <= truth <= row["high"]


def test_a_model_that_judges_less_where_people_did_not_is_refused():
    easy = {
        q: docs if q in JUDGED else {d: g for d, g in docs.items() if g > 1}
        for q, docs in MODEL.items()
    }
    with raises("sample-not-random"):
        predicted(model={q: docs for q, docs in easy.items() if docs})


# what the model saw


def _repeats(queries, share=0.05, seed=3):
    """A model that repeats people's grades of these queries but for a share, and errs elsewhere."""
    rng = np.random.default_rng(seed)
    again = np.where(rng.random(GRADES.shape) < share, rng.integers(0, 4, GRADES.shape), GRADES)
    saw = np.isin(np.arange(QUERIES), list(queries))[:, None]
    errs = np.clip(np.rint(GRADES + rng.normal(0.5, 0.8, GRADES.shape)), 0, 3)
    return _judged(np.where(saw, again, errs))


def test_a_model_that_repeats_peoples_grades_is_refused_unless_it_saw_none():
    model = _repeats(range(QUERIES))
    with raises("model-saw-judgments"):
        predicted(model=model)
    stated = predicted(model=model, saw="none").only
    assert stated.predicted_saw == "none"
    assert stated.represented["agreement"][0] > 0.9
    assert any("none of people's judgments" in words for words in stated.warnings)


@pytest.mark.parametrize("saw", ["unknown", "none"])
def test_a_model_that_grades_judged_queries_otherwise_is_refused(saw):
    with raises("model-saw-judgments"):
        predicted(model=_repeats(DRAWN, share=0.1), saw=saw)


def test_queries_whose_judgments_the_model_saw_are_left_out():
    seen = DRAWN[:15]
    model = _repeats(seen)
    result = predicted(model=model, saw=_judged(GRADES, seen)).only
    left = [q for q in range(QUERIES) if q not in seen]
    unseen = {f"q{q}": model[f"q{q}"] for q in left}
    alone = predicted(_judged(GRADES, DRAWN[15:]), unseen, saw="none").only
    assert result.metrics.equals(alone.metrics)
    assert result.represented["seen"].to_list() == [15, 15]
    assert result.represented["population"].to_list() == [QUERIES - 15] * 2
    assert any("15 queries" in words for words in result.warnings)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"saw": JUDGED}, "model-saw-judgments"), ({"saw": ALL}, "model-saw-judgments")],
)
def test_a_model_that_saw_all_that_people_judged_is_not_corrected(options, code):
    with raises(code):
        predicted(**options)


def test_a_slice_that_was_never_drawn_is_refused_or_named():
    rare = TAGS.with_columns(
        language=pl.Series(
            ["fr" if q not in DRAWN and q % 3 == 0 else "en" for q in range(QUERIES)]
        )
    )
    with raises("sample-not-random"):
        predicted(tags=rare)
    few = [q for q in range(QUERIES) if q not in DRAWN][:6]
    rare = TAGS.with_columns(
        language=pl.Series(["fr" if q in few else "en" for q in range(QUERIES)])
    )
    assert any("language=fr (2%" in words for words in predicted(tags=rare).only.warnings)


def test_queries_that_only_the_model_judged_may_differ():
    same = {q: OLD[q] for q in JUDGED} | {q: NEW[q] for q in ALL if q not in JUDGED}
    verdict = gate(Collection(JUDGED, sample="random", predicted=MODEL), OLD, same, log=False)
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
        lines = [f"{q} Q0 {d} 1 {score} x\n" for q, docs in scores.items()
                 for d, score in docs.items()]  # fmt: skip
        (folder / name).write_text("".join(lines))


def test_the_gate_decides_by_both(policy):
    sampled = Collection(JUDGED, sample="random", predicted=MODEL)
    verdict = gate(sampled, OLD, NEW, policy(), log=False)
    alone = gate(JUDGED, OLD, NEW, policy(), log=False)
    ours, theirs = ({r.rule.id: r.outcome for r in each.rules} for each in (verdict, alone))
    assert ours["gain"].high - ours["gain"].low < theirs["gain"].high - theirs["gain"].low
    assert ours["gain"].delta == pytest.approx(predicted().metrics["delta"][0])
    assert ours["share"].delta == pytest.approx(ours["gain"].delta, abs=0.01)
    truth = evaluate(ALL, {"new": NEW}, ["P@5"])["new", "P@5"]
    assert ours["level"].low < truth < ours["level"].high
    assert gate(sampled, OLD, NEW, policy(0.99), log=False).verdict == "fail"


def test_an_open_verdict_says_how_many_more_people_settle_it(policy):
    some = {f"q{q}": JUDGED[f"q{q}"] for q in DRAWN[:22]}
    verdict = gate(
        Collection(some, sample="random", predicted=MODEL), OLD, _run(1.95), policy(), log=False
    )
    (gain,) = (each.outcome for each in verdict.rules if each.rule.id == "gain")
    assert gain.status == "inconclusive"
    assert "people" in gain.next


@pytest.mark.parametrize(
    ("words", "code"), [('interval = "bca"', "conflicting-options"),
                        ('interval = "guaranteed"', "conflicting-options")],
)  # fmt: skip
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
    assert (row["delta"], row["low"], row["high"]) == pytest.approx(
        (mean, mean - reach, mean + reach)
    )
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
    one, two = (compare(Collection(JUDGED, sample=each), OLD, NEW, ["P@5"]).metrics
                for each in (by_chance, by_share))  # fmt: skip
    assert one["delta"][0] == pytest.approx(two["delta"][0])
    assert one["low"][0] == pytest.approx(two["low"][0])


@pytest.mark.parametrize("share", [False, True])
def test_slices_are_weighted_in_eval_as_in_compare(share):
    strata = ["head" if i < 25 else "tail" for i in range(PEOPLE)]
    chance = {"query_inclusion": [25 / 50] * 25 + [15 / 450] * 15}
    sizes = {"stratum_share": [0.1] * 25 + [0.9] * 15}
    sample = _sample(query_stratum=strata, **(sizes if share else chance))
    weighted = Collection(JUDGED, tags=TAGS, sample=sample)
    found = evaluate(weighted, {"new": NEW}, ["P@5"], slices=["kind"]).slices.filter(value="head")
    result = compare(weighted, OLD, NEW, ["P@5"], slices=["kind"])
    row = result.only.slices.filter(value="head")
    weights = dict(zip(JUDGED, [2.0] * 25 + [30.0] * 15, strict=True))
    plain = evaluate(JUDGED, {"new": NEW}, ["P@5"]).values.to_dicts()
    some = {each["query_id"]: each["value"] for each in plain if int(each["query_id"][1:]) % 2}
    total = sum(weights[query] for query in some)
    expected = sum(weights[query] * value for query, value in some.items()) / total
    assert found["mean"][0] == pytest.approx(expected)
    assert row["candidate"][0] == pytest.approx(expected)


def test_the_size_of_the_population_is_not_that_of_a_slice():
    sample = _sample(probability=0.1, population=float(10 * PEOPLE))
    one, two = (
        compare(Collection(JUDGED, sample=way, tags=TAGS), OLD, NEW, ["P@5"], slices=["kind"])
        for way in (sample, "random")
    )
    means = [result.only.slices["candidate"].to_list() for result in (one, two)]
    assert means[0] == pytest.approx(means[1])


def test_a_pool_says_how_its_queries_were_drawn(tmp_path):
    sizes = {f"q{q}": 1.0 + q for q in range(QUERIES)}
    pool = rankgate.pool(
        [OLD, NEW], rankgate.PoolDesign(queries=PEOPLE, query_sampling="pps", sizes=sizes)
    )
    path = tmp_path / "pool.csv"
    pool.to_polars().write_csv(path)
    drawn = pool.to_polars().select("query_id", "query_inclusion").unique()
    people = {query: ALL[query] for query in drawn["query_id"]}
    found = evaluate(Collection(people, sample=path), {"new": NEW}, ["P@5"]).weighted.row(
        0, named=True
    )
    plain = evaluate(people, {"new": NEW}, ["P@5"]).values.join(drawn, on="query_id")
    v = 1 / plain["query_inclusion"]
    assert found["mean"] == pytest.approx((v * plain["value"]).sum() / v.sum())


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"title": "x"}, "missing-column"),
        ({"stratum": "a"}, "missing-column"),
        ({"probability": 0.0}, "out-of-range"),
        ({"probability": 1.5}, "out-of-range"),
        ({"probability": None}, "out-of-range"),
        ({"weight": -1}, "out-of-range"),
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
    ended = run("compare", *files, "-m", "P@5", "--predicted", "model.qrels")
    assert ended.code == 0
    assert f"{PEOPLE} of {QUERIES}" in ended.out
    assert run("gate", *files, "--predicted", "model.qrels").code in {0, 3}
    assert run("eval", *files, "-m", "P@5").code == 0
    assert run("compare", *files[:3], "--predicted", "model.qrels").code == 2
    assert_refused(run("compare", *files, "--predicted-saw", "none"), "missing-input")
