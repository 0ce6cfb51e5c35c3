"""Sealed judgments: the store shows that the model judged before people did, or what it does not show."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data.qrels import Qrels, Ratings
from rankgate.data.seal import SEALED, Seal
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.rating import import_ratings
from rankgate.store.stored_project import StoredProject

QUERIES, DOCS = 120, 8


def tables(rng):
    """Grades of all pairs by people and by a model, and two runs."""
    grades = rng.choice(4, (QUERIES, DOCS), p=[0.5, 0.25, 0.15, 0.1])
    model = np.clip(grades + rng.choice([0, 1], grades.shape, p=[0.8, 0.2]), 0, 3)
    ids = [(f"q{q}", f"d{q}-{d}") for q in range(QUERIES) for d in range(DOCS)]

    def table(values):
        return pl.DataFrame(ids, ["query_id", "doc_id"], orient="row").with_columns(
            grade=pl.Series(values.ravel().astype(float))
        )

    def run(noise):
        scores = grades + rng.normal(0, noise, grades.shape)
        return {f"q{q}": {f"d{q}-{d}": float(scores[q, d]) for d in range(DOCS)} for q in range(QUERIES)}

    return table(grades), table(model), run(1.0), run(0.5)


@pytest.fixture
def shop(new_store):
    """A project, people's grades of 40 queries that are not stored yet, and two runs."""
    people, model, old, new = tables(np.random.default_rng(2))
    with new_store.write() as connection:
        number = projects.add(connection, "shop").id
    project = StoredProject(new_store, "shop", number)
    sampled = people.filter(pl.col("query_id").is_in([f"q{q}" for q in range(0, QUERIES, 3)]))
    return project, sampled, model, {"old": old, "new": new}


def rate(project, table, at="now"):
    """People's ratings with their time."""
    at = datetime.now(UTC) if at == "now" else at
    rows = table.with_columns(rater=pl.lit("ann"), at=pl.lit(at, pl.Datetime("us", "UTC")))
    with project.write() as connection:
        import_ratings.add_ratings(connection, project.number, Ratings(rows), source="sheet")


def verdict(project, runs, saw):
    predicted = rankgate.Predicted("model", saw=saw)
    collection = project.collection(rankgate.Collection("people", predicted=predicted, sample="random"))
    return rankgate.gate(collection, {"old": runs["old"]}, {"new": runs["new"]}, log=False)


def test_people_who_rate_after_the_model_are_sealed_and_a_statement_decides_nothing(shop):
    project, people, model, runs = shop
    project.add_judgments(Qrels(model, "model"), "model")
    rate(project, people)
    project.add_judgments(Qrels(people, "people"), "people")
    sealed, stated, unknown = (verdict(project, runs, saw) for saw in (SEALED, "none", "unknown"))
    assert (sealed.verdict, stated.verdict, unknown.verdict) == ("pass", "inconclusive", "inconclusive")
    assert sealed.comparison.predicted_saw == SEALED
    codes = {result.outcome.code for result in stated.rules}
    assert codes == {"", "model-not-sealed"}
    assert sealed.rules[0].outcome.low == stated.rules[0].outcome.low


def test_queries_that_people_rated_before_the_model_are_left_out(shop):
    project, people, model, runs = shop
    early = people.filter(pl.col("query_id").is_in(["q0", "q3"]))
    rate(project, early)
    project.add_judgments(Qrels(model, "model"), "model")
    rate(project, people.join(early, on=["query_id", "doc_id"], how="anti"))
    project.add_judgments(Qrels(people, "people"), "people")
    order = project.rated_order("model")
    assert set(order.filter("before")["query_id"]) == {"q0", "q3"}
    result = verdict(project, runs, SEALED)
    assert result.comparison.metrics["n"][0] == QUERIES // 3 - 2


def test_a_model_after_people_saw_everything(shop):
    project, people, model, runs = shop
    rate(project, people)
    project.add_judgments(Qrels(model, "model"), "model")
    project.add_judgments(Qrels(people, "people"), "people")
    with pytest.raises(UsageError) as caught:
        verdict(project, runs, SEALED)
    assert caught.value.code == "model-saw-judgments"


def test_judgments_without_ratings_show_no_order(shop):
    project, people, model, runs = shop
    project.add_judgments(Qrels(model, "model"), "model")
    project.add_judgments(Qrels(people, "people"), "people")
    with pytest.raises(UsageError) as caught:
        verdict(project, runs, SEALED)
    assert caught.value.code == "not-sealed"


@pytest.mark.parametrize("at", [datetime(2020, 1, 1, tzinfo=UTC), None])
def test_an_imported_rating_counts_at_its_own_time_and_without_one_as_made_before(shop, at):
    project, people, model, _ = shop
    project.add_judgments(Qrels(model, "model"), "model")
    rate(project, people, at)
    assert project.rated_order("model")["before"].all()


def test_files_show_no_order():
    predicted = rankgate.Predicted({"q": {"d": 1}}, saw=SEALED)
    collection = rankgate.Collection({"q": {"d": 1}}, predicted=predicted, sample="random")
    with pytest.raises(UsageError) as caught:
        rankgate.compare(collection, {"q": {"d": 1}}, {"q": {"d": 2}})
    assert caught.value.code == "not-sealed"
    assert Seal("shop").judged_before == ()


def test_the_order_is_that_of_the_store_alone(shop):
    project, _, _, _ = shop
    with pytest.raises(UsageError), project.store.read() as connection:
        stored_runs.read_judgments(connection, project.store.blobs, project.number, "nothing")
    with pytest.raises(UsageError):
        project.rated_order("nothing")
