"""The documents to judge next: growing samples, verdicts, costs and refusals."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import ndtri

import rankgate
from rankgate import Test as HowTested
from rankgate import compare
from rankgate.data.collection import Collection
from rankgate.decisions.advice.settle import estimate_from_model
from rankgate.decisions.advice.settlement import random_order
from rankgate.decisions.advice.settlement_plan import Plan, Prices, look_levels
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.stats.sampling_design import (
    SamplingPlan,
    TwoStage,
    inclusion_probabilities,
    permanent_numbers,
)
from support.wording import raises

RNG = np.random.default_rng(8)
QUERIES, DOCS = 40, 12
GRADES = RNG.choice(4, (QUERIES, DOCS), p=[0.5, 0.25, 0.15, 0.1])
MODEL = np.clip(np.rint(GRADES + RNG.normal(0.3, 0.7, GRADES.shape)), 0, 3)


def settle(baseline, candidate, predicted=None, people=None, sample=None, **options):
    """The next documents, from the judgments of a model and of people."""
    test = {name: options.pop(name) for name in ("margin", "level", "seed") if name in options}
    saw = options.pop("saw", "unknown")
    model = None if predicted is None else rankgate.Predicted(predicted, saw)
    collection = Collection(people, sample=sample, predicted=model)
    return rankgate.settle(collection, baseline, candidate, test=HowTested(**test), **options)


def _table(grades):
    return {f"q{q}": {f"d{d}": float(grades[q, d]) for d in range(DOCS)} for q in range(QUERIES)}


OLD, NEW = (_table(GRADES + RNG.normal(0, noise, GRADES.shape)) for noise in (3.0, 0.7))
PREDICTED, TRUTH = _table(MODEL), _table(GRADES)


def people(sample):
    judgments = {}
    for query, doc in sample.drop_nulls("doc_id").select("query_id", "doc_id").iter_rows():
        judgments.setdefault(query, {})[doc] = TRUTH[query][doc]
    return judgments


def steps(old=OLD, new=NEW, **options):
    result = settle(old, new, PREDICTED, **options)
    yield result
    while result.new:
        result = settle(old, new, PREDICTED, people(result.sample), result.sample, **options)
        yield result


def test_it_settles_what_all_judgments_decide_with_a_part_of_them():
    *_, last = steps()
    full_result = compare(TRUTH, OLD, NEW, ["DCG@10"]).metrics.row(0, named=True)
    assert full_result["low"] > 0
    assert last.state == "better"
    assert last.judged < 0.5 * last.documents
    assert last.low <= full_result["delta"] <= last.high
    assert last.new == 0


def test_the_other_way_round_it_is_worse():
    *_, last = steps(NEW, OLD)
    assert last.state == "worse"


def test_each_sample_holds_the_one_before_with_larger_chances():
    close = _table(GRADES + np.random.default_rng(1).normal(0, 3.0, GRADES.shape))
    samples = [step.sample.drop_nulls("doc_id") for step in steps(OLD, close)]
    assert len(samples) > 2
    for earlier, later in pairwise(samples):
        joined = earlier.join(later, on=["query_id", "doc_id"])
        assert len(joined) == len(earlier)
        assert (joined["inclusion_right"] >= joined["inclusion"] - 1e-12).all()
        assert (joined["batch_right"] == joined["batch"]).all()


def test_compare_takes_the_sample():
    first, second = list(steps(looks=3))[:2]
    collection = Collection(people(first.sample), predicted=PREDICTED, sample=first.sample)
    row = compare(collection, OLD, NEW, ["DCG@10"]).metrics.row(0, named=True)
    assert row["delta"] == pytest.approx(second.delta)


def test_the_last_look_has_all_documents_and_the_whole_level():
    close = _table(GRADES + np.random.default_rng(3).normal(0, 3.0, GRADES.shape))
    *_, last = steps(OLD, close, looks=2)
    assert (last.judged, last.level, last.look) == (last.documents, 0.95, 2)


def test_a_margin_asks_whether_it_is_not_worse():
    *_, last = steps(margin=0.3)
    assert last.state == "not-worse"


def test_prices_decide_what_is_next():
    def chosen(*prices):
        first = settle(OLD, NEW, PREDICTED, prices=["budget=60"])
        result = settle(
            OLD, NEW, PREDICTED, people(first.sample), first.sample, prices=prices, level=0.999, looks=4
        )
        return result.actions.filter("chosen")["action"].to_list()

    assert chosen("human=1", "query=100") == ["documents"]


def test_what_the_model_has_not_judged_is_named():
    partial_predictions = {q: {d: g for d, g in docs.items() if d != "d3"} for q, docs in PREDICTED.items()}
    result = settle(OLD, NEW, partial_predictions)
    assert result.lacking > 0
    codes = [notice.code for notice in result.notices]
    assert codes == ["predicted-saw", "model-lacks-documents"]


def test_a_budget_bounds_a_batch():
    assert settle(OLD, NEW, PREDICTED, prices=["budget=30"]).actions["count"][0] == 30


SAMPLE = settle(OLD, NEW, PREDICTED).sample
FEW = {q: PREDICTED[q] for q in list(PREDICTED)[:9]}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"people": TRUTH}, "missing-input"),
        ({"sample": SAMPLE}, "missing-input"),
        ({"metric": "nDCG@10"}, "unsupported-metric"),
        ({"candidate": OLD}, "nothing-to-rate"),
        ({"people": people(SAMPLE), "sample": SAMPLE, "seed": 3}, "another-sample"),
        ({"people": people(SAMPLE), "sample": SAMPLE.drop("batch")}, "another-sample"),
        ({"people": people(SAMPLE.head(9)), "sample": SAMPLE}, "sample-not-judged"),
        ({"prices": ["human=0"]}, "out-of-range"),
        ({"prices": ["human=cheap"]}, "out-of-range"),
        ({"prices": ["human=-1"]}, "out-of-range"),
        ({"prices": ["human=1", "model=0"]}, "out-of-range"),
        ({"prices": {"person": 1.0}}, "unknown-choice"),
        ({"prices": ["model=0.1"]}, "missing-input"),
        ({"prices": ["budget=0"]}, "out-of-range"),
        ({"prices": {"budget": 2.5}}, "out-of-range"),
        ({"prices": ["human=1", "human=2"]}, "duplicate-option"),
        ({"predicted": None, "people": people(SAMPLE), "sample": SAMPLE}, "missing-input"),
        ({"baseline": FEW, "candidate": FEW, "predicted": FEW}, "too-few-queries"),
        ({"candidate": {f"other-{q}": docs for q, docs in NEW.items()}, "predicted": None}, "ids-do-not-fit"),
        ({"saw": people(SAMPLE)}, "model-saw-judgments"),
    ],
)
def test_refused(options, code):
    arguments = {"baseline": OLD, "candidate": NEW, "predicted": PREDICTED} | options
    with raises(code):
        settle(**arguments)


def test_a_query_may_cost_nothing():
    assert Prices.read({"human": 1, "query": 0.0}).query == 0.0


def test_a_price_of_queries_opens_fewer_of_them_and_more_documents_of_each():
    free, dear = (
        settle(OLD, NEW, PREDICTED, prices=["human=1", f"query={price}"]).sample for price in (0, 20)
    )
    assert free["query_id"].n_unique() == QUERIES
    assert 20 <= dear["query_id"].n_unique() < QUERIES
    documents_per_query = [len(s.drop_nulls("doc_id")) / s["query_id"].n_unique() for s in (free, dear)]
    assert documents_per_query[1] > documents_per_query[0]
    assert dear["query_inclusion"].unique().to_list() == [dear["query_id"].n_unique() / QUERIES]


def test_queries_are_added_to_those_before():
    options = {"prices": ["human=1", "query=20"], "looks": 6}
    close = _table(GRADES + np.random.default_rng(3).normal(0, 3.0, GRADES.shape))
    samples = [step.sample for step in steps(OLD, close, **options)]
    query_sets = [set(sample["query_id"]) for sample in samples]
    assert len(query_sets[0]) < len(query_sets[-1]) == QUERIES
    for earlier, later in pairwise(query_sets):
        assert earlier <= later


def test_compare_takes_a_sample_of_queries_and_documents():
    options = {"prices": ["human=1", "query=20"]}
    first, second = list(steps(OLD, NEW, level=0.9999, **options))[:2]
    collection = Collection(people(first.sample), predicted=PREDICTED, sample=first.sample)
    row = compare(collection, OLD, NEW, ["DCG@10"]).metrics.row(0, named=True)
    assert first.sample["query_inclusion"][0] < 1
    assert row["delta"] == pytest.approx(second.delta)


def test_samples_of_queries_and_documents_estimate_without_bias():
    truth = compare(TRUTH, OLD, NEW, ["DCG@10"]).metrics["delta"][0]
    deltas = []
    for seed in range(16):
        sample = settle(OLD, NEW, PREDICTED, prices=["human=1", "query=20"], seed=seed).sample
        collection = Collection(people(sample), predicted=PREDICTED, sample=sample)
        deltas.append(compare(collection, OLD, NEW, ["DCG@10"]).metrics["delta"][0])
    assert abs(np.mean(deltas) - truth) < 3 * np.std(deltas) / np.sqrt(len(deltas))


def judged_by_model(batch, before=()):
    judgments = {q: dict(docs) for q, docs in dict(before).items()}
    for query, doc in batch.filter(who="model").select("query_id", "doc_id").iter_rows():
        judgments.setdefault(query, {})[doc] = PREDICTED[query][doc]
    return judgments


def test_without_predictions_the_model_judges_first():
    result = settle(OLD, NEW)
    assert (result.state, result.new, result.unpredicted) == ("open", 0, QUERIES)
    model = judged_by_model(result.batch)
    assert len(model) == QUERIES  # fewer than 50
    assert settle(OLD, NEW, model).new > 0


CHEAP = {"looks": 4, "level": 0.99999, "prices": ["human=1", "model=0.0001"]}


def test_cheap_calls_are_next_and_people_judge_their_queries_after_it():
    close = _table(GRADES + np.random.default_rng(3).normal(0, 3.0, GRADES.shape))
    model = {q: PREDICTED[q] for q in list(PREDICTED)[:25]}
    first = settle(OLD, close, model, **CHEAP)
    assert set(first.sample["query_id"]) == set(model)
    second = settle(OLD, close, model, people(first.sample), first.sample, **CHEAP)
    assert second.new == 0
    assert second.actions.filter("chosen")["action"].to_list() == ["model"]
    assert second.batch["who"].unique().to_list() == ["model"]
    extended_model = judged_by_model(second.batch, model)
    assert len(extended_model) > len(model)
    third = settle(OLD, close, extended_model, people(first.sample), second.sample, **CHEAP)
    assert (third.state, third.delta) == ("open", None)  # no look in between
    assert set(first.sample["query_id"]) <= set(third.sample["query_id"]) <= set(extended_model)
    assert third.new > 0


def test_dear_calls_are_not_next():
    close = _table(GRADES + np.random.default_rng(3).normal(0, 3.0, GRADES.shape))
    model = {q: PREDICTED[q] for q in list(PREDICTED)[:25]}
    options = CHEAP | {"prices": ["human=1", "model=1"]}
    first = settle(OLD, close, model, **options)
    second = settle(OLD, close, model, people(first.sample), first.sample, **options)
    assert second.actions.filter("chosen")["action"].to_list() == ["documents"]
    assert set(second.batch["who"]) == {"human"}


def test_each_drawn_document_has_a_gain():
    first = settle(OLD, NEW, PREDICTED)
    sampled_documents = first.batch.filter(pl.col("inclusion") < 1)
    assert (sampled_documents["gain"] > 0).all()
    assert sampled_documents["gain"].to_numpy() == pytest.approx(first.actions["gain"][0])


@pytest.mark.parametrize("looks", [2, 4, 9])
def test_looks_together_miss_as_often_as_the_level_says(looks):
    rng = np.random.default_rng(1)
    share = 0.1 ** (1 - np.arange(looks) / looks)
    information = share / (1 - share)
    steps_ = rng.normal(0, np.sqrt(np.diff(information, prepend=0.0)), (200_000, looks))
    z = np.abs(steps_.cumsum(axis=1)) / np.sqrt(information)
    bounds = ndtri((1 + look_levels(0.95, looks)) / 2)
    assert (z > bounds).any(axis=1).mean() == pytest.approx(0.05, abs=0.002)


def test_chances_are_proportional_to_size_and_add_up():
    sizes = np.random.default_rng(2).exponential(1, 200)
    chance = inclusion_probabilities(sizes, 60)
    assert chance.sum() == pytest.approx(60)
    is_sampled = chance < 1
    assert np.ptp(chance[is_sampled] / sizes[is_sampled]) == pytest.approx(0, abs=1e-9)
    assert (inclusion_probabilities(sizes, 300) == 1).all()


def test_permanent_numbers_are_uniform_and_the_same_each_time():
    members = [(f"q{i}", "d") for i in range(4000)]
    first, second = (permanent_numbers(members, seed) for seed in (0, 1))
    assert (first == permanent_numbers(members, 0)).all()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    assert np.histogram(first, 4, (0, 1))[0] == pytest.approx([1000] * 4, rel=0.12)


def test_at_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in (("old.run", OLD), ("new.run", NEW)):
        rows = [f"{q} Q0 {d} 0 {x} r\n" for q, docs in table.items() for d, x in docs.items()]
        (tmp_path / name).write_text("".join(rows))
    rows = [f"{q} 0 {d} {int(x)}\n" for q, docs in PREDICTED.items() for d, x in docs.items()]
    (tmp_path / "model.qrels").write_text("".join(rows))
    files = ("old.run", "new.run", "--predicted", "model.qrels")
    result = run("next", *files, "--save-sample", "sample.csv", "--save-batch", "batch.csv")
    assert result.code == 0
    sample = pl.read_csv(tmp_path / "sample.csv")
    judged = people(sample)
    rows = [f"{q} 0 {d} {int(x)}\n" for q, docs in judged.items() for d, x in docs.items()]
    (tmp_path / "people.qrels").write_text("".join(rows))
    second_result = run("next", *files, "--people", "people.qrels", "--sample", "sample.csv")
    assert "1 of 5" in second_result.out
    assert len(pl.read_csv(tmp_path / "batch.csv")) == sample["doc_id"].drop_nulls().len()


def test_a_budget_bounds_batches_of_queries_that_the_model_judged_since():
    model = {q: PREDICTED[q] for q in random_order(list(PREDICTED), 0)[:25]}
    first = settle(OLD, NEW, model, prices=["budget=30"])
    second = settle(OLD, NEW, PREDICTED, people(first.sample), first.sample, prices=["budget=10"])
    assert second.delta is None  # the model judged queries since
    assert 0 < second.new <= 20


def test_before_people_judge_the_model_explains_half_of_the_variance():
    systems = [Scorer.from_metrics(PREDICTED, ["nDCG@10"]).scored(run) for run in (OLD, NEW)]
    old, new = (
        rankgate.evaluate(PREDICTED, run, "nDCG@10").runs[0].per_query("nDCG@10") for run in (OLD, NEW)
    )
    gains = np.array([new[query] - old[query] for query in PREDICTED])
    estimate = estimate_from_model(systems, SimpleNamespace(sizes=np.ones(DOCS), queries=[*PREDICTED]))
    assert estimate.mean == pytest.approx(gains.mean())
    assert estimate.stages.between == pytest.approx(gains.var(ddof=1) / 2)
    assert estimate.stages.explained == pytest.approx(gains.var(ddof=1) / 2)


def test_the_slope_is_the_derivative_of_the_chance_to_settle():
    """P(V) = Φ(distance/√V − reach); V has explained/queries as a term, whose change moves V alone."""

    def plan(explained):
        stages = TwoStage(np.linspace(0.5, 2, 30), 10, between=0.2, explained=explained, squared=0.1)
        return Plan(stages, Prices(), SamplingPlan(5, 12.0), 6, 0.3, 1.96, 0.8, 0, 0.0)

    def variance_and_chance(explained):
        stages = plan(explained).stages
        variance = (stages.between + stages.within(12.0)) / 5 + explained / 10
        return variance, stats.norm.cdf(0.3 / np.sqrt(variance) - 1.96)

    (low_variance, low_chance), (high_variance, high_chance) = map(variance_and_chance, (0.399, 0.401))
    derivative = (low_chance - high_chance) / (high_variance - low_variance)
    assert plan(0.4).slope == pytest.approx(derivative, rel=1e-5)
    queries = next(row for row in plan(0.4).actions() if row["action"] == "queries")
    decrease = (0.2 + plan(0.4).stages.within(12.0)) / 5**2
    assert queries["gain"] == pytest.approx(derivative * decrease / queries["price"], rel=1e-5)
