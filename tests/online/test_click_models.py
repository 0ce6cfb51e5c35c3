"""Click models find the parameters that clicks were simulated with."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from online.clicks import RANKS, World
from rankgate import online
from rankgate.online.clicks.click_model import (
    Settings,
    coec,
    coec_opensearch,
    count_clicks_by_pair,
    expected_clicks,
    fitness,
)
from rankgate.online.clicks.click_models import MODELS, position_bias
from rankgate.online.clicks.packed_searches import PackedSearches

CURVE = 1 / np.arange(1, RANKS + 1) ** 0.7
GRID = np.exp(-0.25 * (np.arange(RANKS)[:, None] - np.arange(RANKS + 1)[None, :]))
GRID = np.clip(GRID, 0.05, 1)
ERROR = 0.02  # mean absolute error of a parameter of a pair, of 20,000 searches


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def simulated(world):
    zeros = np.zeros(world.pair.shape)
    levels = np.broadcast_to(0.8 - 0.05 * np.arange(RANKS), world.pair.shape)
    return {
        "dctr": world.examined(np.ones(RANKS)),
        "pbm": world.examined(CURVE),
        "pbm_harvest": world.examined(CURVE),
        "ubm": world.browsed(GRID),
        "cascade": world.chain(1, zeros),
        "dcm": world.chain(1, levels),
        "dbn": world.chain(0.85, 0.85 * (1 - world.s)),
        "ccm": world.chain(0.9, 0.8 * (1 - world.a) + 0.3 * world.a),
    }


@pytest.mark.parametrize(
    ("name", "shared", "expected"),
    [
        ("dctr", "", ()),
        ("cascade", "", ()),
        ("pbm", "examination", CURVE),
        ("pbm_harvest", "examination", CURVE),
        ("ubm", "examination", GRID[:, 0]),
        ("dcm", "continuation", 0.8 - 0.05 * np.arange(RANKS - 1)),
        ("dbn", "continuation", (0.85,)),
        ("ccm", "continuation", (0.9, 0.8, 0.3)),
    ],
)
def test_parameters_are_recovered(world, simulated, name, shared, expected):
    searches = world.packed(simulated[name])
    model_fit = MODELS[name].fit(searches, Settings(iterations=200))
    assert np.abs(model_fit.attractiveness - world.attractive).mean() < ERROR
    if shared:
        values = model_fit.shared[shared]
        values = values[:, 0] if values.ndim == 2 else values
        np.testing.assert_allclose(values[: len(expected)], expected, atol=0.04)
    if model_fit.satisfaction is not None:
        assert np.abs(model_fit.satisfaction - world.satisfying).mean() < 0.05


def test_the_true_model_predicts_held_out_clicks_best(world, simulated):
    for name in ("pbm", "dbn"):
        train, test = world.packed(simulated[name]).split(0.3, 0)
        likelihood = {
            model: fitness(MODELS[model], MODELS[model].fit(train, Settings()), test)
            for model in ("gctr", "rctr", "dctr", "cascade", "pbm", "dbn")
        }
        assert max(likelihood, key=lambda each: likelihood[each].log_likelihood) == name
        assert likelihood[name].perplexity < likelihood["gctr"].perplexity


def test_likelihood_is_that_of_the_definition():
    rows = pl.DataFrame(
        {
            "search": [1, 1, 2, 2],
            "query_id": ["q"] * 4,
            "doc_id": list("abab"),
            "rank": [1, 2, 1, 2],
            "clicked": [True, False, False, False],
        }
    )
    searches = PackedSearches.pack(rows)
    quality = fitness(MODELS["gctr"], MODELS["gctr"].fit(searches, Settings()), searches)
    # one click of four impressions
    assert quality.log_likelihood == pytest.approx((np.log(1 / 4) + 3 * np.log(3 / 4)) / 2)
    assert quality.perplexity == pytest.approx(2 ** (-(np.log2(1 / 4) + 3 * np.log2(3 / 4)) / 4))
    assert quality.by_rank[1] == pytest.approx(2 ** -np.log2(3 / 4))


def test_marginals_are_sums_over_what_may_have_happened(world, simulated):
    for name in ("dbn", "ccm", "ubm", "dcm"):
        searches = world.packed(simulated[name])
        model_fit = MODELS[name].fit(searches, Settings(iterations=20))
        marginals = MODELS[name].marginal(model_fit, searches)
        expected = (marginals * searches.weights).sum(axis=0)
        clicks = (searches.clicked * searches.weights).sum(axis=0)
        # the marginal rate of a rank is the observed one, within five standard errors
        error = norm.isf(3e-7) * np.sqrt(clicks)
        assert (np.abs(expected - clicks) < error + 0.02 * clicks).all(), name


def test_sdbn_counts_looks_down_to_the_last_click():
    rows = pl.DataFrame(
        {
            "search": [1, 1, 1, 2, 2, 2, 3, 3, 3],
            "query_id": ["q"] * 9,
            "doc_id": list("abcabcabc"),
            "rank": [1, 2, 3] * 3,
            "clicked": [False, True, False, True, True, False, False, False, False],
        }
    )
    searches = PackedSearches.pack(rows)
    model_fit = MODELS["sdbn"].fit(searches, Settings())
    np.testing.assert_array_equal(model_fit.attractiveness, [1 / 2, 2 / 2, np.nan])
    np.testing.assert_array_equal(model_fit.satisfaction[:2], [0 / 1, 2 / 2])
    all_examined = MODELS["sdbn"].fit(searches, Settings(no_click="all_examined"))
    np.testing.assert_array_equal(all_examined.attractiveness, [1 / 3, 2 / 3, 0 / 1])


def test_clicks_are_as_many_as_expected(world, simulated):
    searches = world.packed(simulated["pbm"])
    clicks, _ = count_clicks_by_pair(searches)
    assert expected_clicks(searches).sum() == pytest.approx(clicks.sum())
    ratio = coec(searches, 0, np.inf)
    np.testing.assert_allclose(ratio, clicks / expected_clicks(searches))
    shrunk = coec(searches, 1e9)
    np.testing.assert_allclose(shrunk, 1, atol=1e-3)
    # the other formula takes every impression for one at the lowest rank
    assert (coec_opensearch(searches) >= ratio - 1e-9).all()


def test_ranks_that_no_document_links_have_no_bias():
    rows = pl.DataFrame(
        {
            "search": [1, 1],
            "query_id": ["q"] * 2,
            "doc_id": list("ab"),
            "rank": [1, 2],
            "clicked": [True, True],
        }
    )
    np.testing.assert_array_equal(position_bias(PackedSearches.pack(rows)), [1, np.nan])


def test_equal_searches_are_one_row_with_a_weight(world, simulated):
    searches = world.packed(simulated["cascade"])
    assert searches.searches == 20_000
    assert len(searches.weight) <= 20_000
    train_searches, test_searches = searches.split(0.25, 0)
    assert train_searches.searches + test_searches.searches == 20_000
    assert test_searches.searches == pytest.approx(5_000, rel=0.05)


def test_curves_have_intervals_of_sessions(world, simulated):
    searches = world.packed(simulated["pbm_harvest"])
    fitted_curves = online.judgments(searches, model="pbm_harvest", resamples=30).curves
    error = (fitted_curves["high"] - fitted_curves["value"]).to_numpy() / 1.96
    assert fitted_curves["low"][0] == fitted_curves["high"][0] == 1
    assert (np.abs(fitted_curves["value"].to_numpy() - CURVE)[1:] < 4 * error[1:]).all()
    # nine searches with the same clicks in a session tell no more than one of them
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(20_000), RANKS),
            "query_id": np.repeat(world.query, RANKS).astype(str),
            "doc_id": world.pair.ravel().astype(str),
            "rank": np.tile(np.arange(1, RANKS + 1), 20_000),
            "clicked": simulated["pbm_harvest"].ravel(),
        }
    )
    copies = pl.concat([rows.with_columns(search=pl.col("search") + 20_000 * copy) for copy in range(9)])
    session = pl.col("search") % 20_000
    width = {}
    for name, table in (("one", copies), ("nine", copies.with_columns(session=session))):
        curves = online.judgments(PackedSearches.pack(table), model="pbm_harvest", resamples=30).curves
        width[name] = float((curves["high"] - curves["value"])[1:].mean())
    assert width["nine"] / width["one"] == pytest.approx(3, rel=0.35)
    assert width["nine"] / 1.96 == pytest.approx(error[1:].mean(), rel=0.35)
    plain_curves = online.judgments(searches, model="pbm_harvest", resamples=0).curves
    assert plain_curves["low"].is_null().all()
