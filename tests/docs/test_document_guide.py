"""A guide to metrics: its own Python objects, figures, chart and advice."""

from __future__ import annotations

import pickle
import sys

import pandas as pd
import pytest

import rankgate
from support.wording import raises

movies = [
    "The Terminator (1984)",
    "Star Wars: A New Hope (1977)",
    "The Matrix (1999)",
    "Ex Machina (2014)",
    "Blade Runner (1982)",
    "Titanic (1997)",
    "The Godfather (1972)",
    "Wall-E (2008)",
    "I, Robot (2004)",
    "The Shawshank Redemption (1994)",
]

# True relevance scores (ground truth) for the query
# 0: Not relevant, 1: Somewhat relevant, 2: Relevant, 3: Highly relevant
true_relevance = [3, 2, 2, 3, 3, 0, 0, 3, 3, 0]

# The ranking we want to evaluate (search results)
ranked_results = [
    "The Matrix (1999)",  # relevant (2)
    "Titanic (1997)",  # not relevant (0)
    "Ex Machina (2014)",  # highly relevant (3)
    "I, Robot (2004)",  # highly relevant (3)
    "Blade Runner (1982)",  # highly relevant (3)
    "The Godfather (1972)",  # not relevant (0)
    "Wall-E (2008)",  # highly relevant (3)
    "The Terminator (1984)",  # highly relevant (3)
    "Star Wars: A New Hope (1977)",  # relevant (2)
    "The Shawshank Redemption (1994)",  # not relevant (0)
]

# Get the relevance scores in order of the ranked results
ranked_relevance = [true_relevance[movies.index(movie)] for movie in ranked_results]

df = pd.DataFrame(
    {
        "Rank": range(1, len(ranked_results) + 1),
        "Movie": ranked_results,
        "Relevance": ranked_relevance,
        "Is_Relevant": [1 if r > 0 else 0 for r in ranked_relevance],
    }
)

k_values = [1, 3, 5, 10]
queries = [
    {
        "query_text": "science fiction with robots",
        "movies": movies,
        "true_relevance": true_relevance,
        "ranked_results": ranked_results,
        "ranked_relevance": ranked_relevance,
    },
    {
        "query_text": "action movies with explosions",
        "movies": movies,
        "true_relevance": [2, 1, 0, 0, 0, 3, 0, 0, 0, 0],  # Terminator, Star Wars, Titanic
        "ranked_results": [
            "The Godfather (1972)",  # not relevant (0)
            "The Terminator (1984)",  # relevant (2)
            "Titanic (1997)",  # relevant (3)
            "The Matrix (1999)",  # not relevant (0)
            "Wall-E (2008)",  # not relevant (0)
            "Star Wars: A New Hope (1977)",  # relevant (1)
            "Ex Machina (2014)",  # not relevant (0)
            "Blade Runner (1982)",  # not relevant (0)
            "I, Robot (2004)",  # not relevant (0)
            "The Shawshank Redemption (1994)",  # not relevant (0)
        ],
    },
    {
        "query_text": "romantic comedies",
        "movies": movies,
        "true_relevance": [0, 0, 0, 0, 0, 1, 0, 0, 0, 0],  # Only Titanic is somewhat relevant
        "ranked_results": [
            "The Shawshank Redemption (1994)",  # not relevant (0)
            "The Matrix (1999)",  # not relevant (0)
            "Wall-E (2008)",  # not relevant (0)
            "Titanic (1997)",  # somewhat relevant (1)
            "The Godfather (1972)",  # not relevant (0)
            "Blade Runner (1982)",  # not relevant (0)
            "Ex Machina (2014)",  # not relevant (0)
            "I, Robot (2004)",  # not relevant (0)
            "The Terminator (1984)",  # not relevant (0)
            "Star Wars: A New Hope (1977)",  # not relevant (0)
        ],
    },
    {
        "query_text": "artificial intelligence dangers",
        "movies": movies,
        "true_relevance": [
            3,
            0,
            2,
            3,
            2,
            0,
            0,
            2,
            3,
            0,
        ],  # Terminator, Matrix, Ex Machina, Blade Runner, Wall-E, I Robot
        "ranked_results": [
            "The Godfather (1972)",  # not relevant (0)
            "Titanic (1997)",  # not relevant (0)
            "The Shawshank Redemption (1994)",  # not relevant (0)
            "Star Wars: A New Hope (1977)",  # not relevant (0)
            "The Matrix (1999)",  # relevant (2)
            "Ex Machina (2014)",  # highly relevant (3)
            "I, Robot (2004)",  # highly relevant (3)
            "The Terminator (1984)",  # highly relevant (3)
            "Blade Runner (1982)",  # relevant (2)
            "Wall-E (2008)",  # relevant (2)
        ],
    },
    {
        "query_text": "dystopian future",
        "movies": movies,
        "true_relevance": [
            3,
            1,
            3,
            2,
            3,
            0,
            0,
            1,
            2,
            0,
        ],  # Terminator, Star Wars, Matrix, Ex Machina, Blade Runner, Wall-E, I Robot
        "ranked_results": [
            "Blade Runner (1982)",  # highly relevant (3)
            "The Matrix (1999)",  # highly relevant (3)
            "Wall-E (2008)",  # somewhat relevant (1)
            "I, Robot (2004)",  # relevant (2)
            "The Terminator (1984)",  # highly relevant (3)
            "Ex Machina (2014)",  # relevant (2)
            "Star Wars: A New Hope (1977)",  # somewhat relevant (1)
            "The Godfather (1972)",  # not relevant (0)
            "Titanic (1997)",  # not relevant (0)
            "The Shawshank Redemption (1994)",  # not relevant (0)
        ],
    },
]

FIGURES = {
    "P": (1.0, 0.67, 0.8, 0.7),
    "R": (0.14, 0.29, 0.57, 1.0),
    "F": (0.25, 0.4, 0.6667, 0.8235),
    "AP": (1.0, 0.8333, 0.8042, 0.7798),
    "nDCG": (0.6667, 0.5475, 0.6730, 0.8314),
}
"""What the guide's code prints, by metric, at its cutoffs."""
METRICS = [f"{name}@{k}" for name in FIGURES for k in k_values]


def means(judgments, runs, metrics=METRICS, convention="guide"):
    return rankgate.evaluate(judgments, runs, metrics, convention).runs[0].means


@pytest.mark.parametrize("source", [queries[:1], pd.DataFrame(queries[:1]), df])
def test_the_figures_from_its_own_objects(source):
    values = means(source, source)
    for name, figures in FIGURES.items():
        digits = 2 if name in "PR" else 4
        assert [round(values[f"{name}@{k}"], digits) for k in k_values] == list(figures)


def test_all_five_queries():
    first_relevant = [1, 2, 4, 5, 1]
    assert means(queries, queries, ["RR"])["RR"] == pytest.approx(
        sum(1 / rank for rank in first_relevant) / 5
    )
    judgments = {
        query["query_text"]: dict(zip(movies, query["true_relevance"], strict=True)) for query in queries
    }
    rankings = {query["query_text"]: query["ranked_results"] for query in queries}
    assert means(queries, queries) == means(judgments, rankings)


def test_lists_that_could_be_the_same_are_an_error():
    with raises("ambiguous-column"):
        rankgate.evaluate([{**queries[0], "films": movies}], queries, ["P@1"])
    with raises("ambiguous-column"):
        rankgate.evaluate(queries, [{**queries[0], "other_ranking": movies}], ["P@1"])


def test_lists_of_other_lengths_are_an_error():
    with raises("wrong-shape"):
        rankgate.evaluate([queries[0], {**queries[1], "movies": movies[1:]}], queries, ["P@1"])


def test_a_row_without_documents_is_a_query_without_judgments():
    empty = {"query_text": "none", "movies": [], "true_relevance": [], "ranked_results": []}
    assert rankgate.read_qrels([*queries, empty]).unjudged == ("none",)
    assert means([*queries, empty], [*queries, empty], convention="trec") == means(
        queries, queries, convention="trec"
    )


@pytest.mark.parametrize("ranks", [[1, 1, 2], [2, 3, 4]])
def test_a_table_without_a_query_that_is_not_one_ranking_is_refused(ranks):
    table = pd.DataFrame({"Rank": ranks, "Movie": ["a", "b", "c"], "Relevance": [1, 0, 1]})
    with raises("missing-column"):
        rankgate.evaluate(table, table, ["P@1"])


@pytest.mark.parametrize(
    "name", ["evaluate", "compare", "gate", "explain", "scorecard", "holes", "plot", "pool"]
)
def test_a_keyword_that_belongs_to_the_collection_is_answered_with_the_line(name):
    verb = getattr(rankgate, name)
    with raises("field-of-value"):
        verb(queries, queries, columns="query=query_text")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        verb(queries, queries, colums="query=query_text")


def test_a_keyword_that_belongs_to_the_test_is_answered_with_the_line():
    with raises("field-of-value"):
        rankgate.compare(queries, queries, queries, resamples=100)


def test_public_functions_can_be_pickled():
    assert pickle.loads(pickle.dumps(rankgate.evaluate)) is rankgate.evaluate  # noqa: S301 - made here


def test_its_chart_in_one_call():
    picture = rankgate.plot(
        "cutoffs", queries[:1], queries[:1], ["P", "R", "F", "AP", "nDCG"], "guide", cutoffs=k_values
    )
    points = {(row["metric"], row["k"]): row["value"] for row in picture.rows}
    values = means(queries[:1], queries[:1])
    assert points == {(name, k): values[f"{name}@{k}"] for name in FIGURES for k in k_values}


def test_a_chart_in_a_plain_install_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with raises("missing-extra"):
        rankgate.evaluate(queries, queries, ["P@1"]).plot()


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        ("startups", "docs/team-sizes.md"),
        ("mid-sized", "docs/team-sizes.md"),
        ("enterprise", "--team"),
        ("engagement", "docs/online.md"),
        ("click-through rate", "docs/online.md"),
        ("session duration", "online kpi -k session_duration"),
        ("pages per session", "online kpi -k pages_per_session"),
        ("bounce rate", "online kpi -k bounce_rate"),
        ("conversion rate", "online kpi -k conversion_rate"),
        ("revenue per search", "online kpi -k revenue_per_search"),
        ("customer satisfaction", "docs/online.md"),
        ("return rate", "online kpi -k goods_return_rate"),
        ("latency 95th percentile", "online kpi -k latency_p95"),
        ("resource utilization", "docs/online.md"),
        ("cache hit rate", "online kpi -k cache_hit_rate"),
        ("inference time", "online kpi -k inference_ms"),
        ("intent diversity", "docs/online.md"),
        ("session context", "docs/agents.md"),
        ("personalization", "rankgate online personalization"),
        ("longitudinal satisfaction", "docs/offline-online.md"),
    ],
)
def test_a_word_of_its_advice_leads_to_the_command(run, words, entry):
    result = run("help", *words.split())
    assert result.code == 0
    assert entry in result.out
