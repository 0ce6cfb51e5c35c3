"""Position-based models: maximum likelihood, identification, and intervals."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import online
from rankgate.core.errors import InputError
from rankgate.interface.cli import rankgate as program
from rankgate.online.clicks.click_model import Settings
from rankgate.online.clicks.click_models import MODELS, _distance_cells, _rank_cells
from rankgate.online.clicks.packed_searches import PackedSearches
from rankgate.online.clicks.product_fit import CellCounts, fit_product
from support.wording import raises

QUERIES, DOCUMENTS, RANKS = 6, 8, 5
EXAMINATION = 1 / np.arange(1, RANKS + 1)


def log(lists, searches=3_000, seed=0, *, by_documents=True):
    """Rows of a log of users with a position-based model, and true attractiveness."""
    random = np.random.default_rng(seed)
    attractive = random.beta(1.5, 3, (QUERIES, DOCUMENTS))
    query = random.integers(QUERIES, size=searches)
    order = np.tile(np.arange(DOCUMENTS), (searches, 1))
    if lists == "shuffled":
        order = random.permuted(order, axis=1)
    elif lists == "first two exchanged":
        exchanged = random.random(searches) < 0.5
        order[exchanged, :2] = order[exchanged, :2][:, ::-1]
    order = order[:, :RANKS]
    chance = attractive[query[:, None], order] if by_documents else np.full(order.shape, 0.3)
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(searches), RANKS),
            "query_id": np.repeat(query, RANKS).astype(str),
            "doc_id": order.ravel().astype(str),
            "rank": np.tile(np.arange(1, RANKS + 1), searches),
            "clicked": (random.random(order.shape) < chance * EXAMINATION).ravel(),
        }
    )
    return rows, attractive


def highest_likelihood(rows, cell_of, steps):
    """EM in plain loops over impressions (Chuklin, Markov and de Rijke 2015, section 4.1)."""
    impressions = [
        ((row["query_id"], row["doc_id"]), cell, row["clicked"])
        for row, cell in zip(rows.to_dicts(), cell_of(rows), strict=True)
    ]
    attractive = {pair: 0.5 for pair, _, _ in impressions}
    examined = {cell: 0.5 for _, cell, _ in impressions}
    for _ in range(steps):
        sums_a, sums_e = {}, {}
        for pair, cell, clicked in impressions:
            a, e = attractive[pair], examined[cell]
            here_a = 1.0 if clicked else a * (1 - e) / (1 - a * e)
            here_e = 1.0 if clicked else e * (1 - a) / (1 - a * e)
            for sums, name, value in ((sums_a, pair, here_a), (sums_e, cell, here_e)):
                total, count = sums.get(name, (0.0, 0))
                sums[name] = total + value, count + 1
        attractive = {pair: total / count for pair, (total, count) in sums_a.items()}
        examined = {cell: total / count for cell, (total, count) in sums_e.items()}
    return sum(
        np.log(attractive[pair] * examined[cell] if clicked else 1 - attractive[pair] * examined[cell])
        for pair, cell, clicked in impressions
    )


def ranks_of(rows):
    return rows["rank"].to_list()


def ranks_and_clicks_before(rows):
    cells, last = [], 0
    for row in rows.sort("search", "rank").to_dicts():
        last = 0 if row["rank"] == 1 else last
        cells.append((row["rank"], last))
        last = row["rank"] if row["clicked"] else last
    return cells


@pytest.mark.parametrize(
    ("cells_of", "size", "cell_of"),
    [(_rank_cells, RANKS, ranks_of), (_distance_cells, RANKS * (RANKS + 1), ranks_and_clicks_before)],
    ids=["pbm", "ubm"],
)
def test_no_plain_em_is_more_likely(cells_of, size, cell_of):
    rows, _ = log("shuffled", 250)
    fit = fit_product(CellCounts.count(PackedSearches.pack(rows), cells_of, size))
    plain = highest_likelihood(rows, cell_of, 60)
    longer = highest_likelihood(rows, cell_of, 120)
    assert fit.log_likelihood > longer - 1e-3
    assert fit.log_likelihood - longer < 2 * (longer - plain) + 0.1


def test_one_ranker_identifies_no_examination():
    rows, _ = log("one ranker")
    searches = PackedSearches.pack(rows)
    for name in ("pbm", "pbm_harvest", "ubm"):
        estimates = MODELS[name].fit(searches, Settings())
        assert "cannot be separated" in estimates.refusal
        result = online.judgments(searches, model=name, resamples=0)
        assert result.status == 3
        assert result.judged.is_empty()
        assert set(result.refused) == {name}
        assert [notice.code for notice in result.notices] == ["refused-model"]
        with raises("no-judgments", InputError):
            _ = result.qrels
    result = online.judgments(searches, models=("pbm", "dctr", "coec"), resamples=0)
    assert result.status == 0
    assert result.model in {"dctr", "coec"}
    assert set(result.refused) == {"pbm"}


def test_ranks_that_nothing_links_have_no_judgments():
    rows, attractive = log("first two exchanged")
    result = online.judgments(PackedSearches.pack(rows), model="pbm", resamples=5)
    assert result.status == 0
    assert set(result.judged["doc_id"]) == {"0", "1"}
    curve = result.curves
    assert curve["place"].to_list() == [1, 2]
    assert curve["low"][1] < EXAMINATION[1] < curve["high"][1]
    for row in result.judged.to_dicts():
        truth = attractive[int(row["query_id"]), int(row["doc_id"])]
        assert row["low"] - 0.02 < truth < row["high"] + 0.02


def test_intervals_have_the_error_of_the_examination():
    widths = {}
    for lists in ("shuffled", "first two exchanged"):
        rows, _ = log(lists)
        estimates = MODELS["pbm"].fit(PackedSearches.pack(rows), Settings())
        clicks = rows.filter("clicked").group_by("query_id", "doc_id").len().sort("len")["len"]
        widths[lists] = float(np.nanmean(np.log(estimates.high / estimates.low)))
        # a Poisson interval of the clicks alone is narrower
        assert widths[lists] > 1.96 * 2 / np.sqrt(clicks.max())
    rows, attractive = log("shuffled", 6_000, seed=4)
    searches = PackedSearches.pack(rows)
    for name in ("pbm", "ubm", "pbm_harvest"):
        estimates = MODELS[name].fit(searches, Settings())
        truth = attractive.ravel()
        assert ((estimates.low <= truth) & (truth <= estimates.high)).mean() > 0.85, name


@pytest.mark.parametrize("model", ["auto", "dctr", "sdbn", "pbm", "coec"])
def test_clicks_that_say_nothing_of_documents_make_no_judgments(model):
    rows, _ = log("shuffled", by_documents=False)
    models = ("pbm", "dctr", "coec", "sdbn") if model == "auto" else ()
    result = online.judgments(PackedSearches.pack(rows), model=model, models=models, resamples=0)
    assert result.status == 3
    assert "no better than their ranks" in result.refused[result.model]
    assert (
        online.judgments(
            PackedSearches.pack(rows), model=model, models=models, resamples=0, held_out=0
        ).status
        == 0
    )


@pytest.mark.parametrize("model", ["dctr", "sdbn", "pbm", "pbm_harvest", "ubm", "dbn", "dcm", "ccm", "coec"])
def test_documents_that_differ_have_judgments(model):
    rows, _ = log("shuffled")
    result = online.judgments(PackedSearches.pack(rows), model=model, resamples=0)
    assert result.status == 0
    assert len(result.judged) == QUERIES * DOCUMENTS


@pytest.mark.parametrize("model", ["gctr", "rctr"])
def test_models_without_documents_make_no_judgments(model):
    rows, _ = log("shuffled", 300)
    result = online.judgments(PackedSearches.pack(rows), model=model, resamples=0)
    assert result.status == 3
    assert result.refused == {model: "it does not distinguish documents"}


def test_a_prior_of_zero_adds_nothing():
    rows, _ = log("shuffled", 200)
    searches = PackedSearches.pack(rows)
    clicked = searches.by_pair(searches.weights * searches.clicked) > 0
    for name, default in (("dbn", 1), ("dcm", 1), ("ccm", 1), ("coec", 1), ("pbm", 0), ("dctr", 0)):
        without_prior = MODELS[name].fit(searches, Settings(prior=0)).attractiveness
        assert (without_prior[~clicked] < 1e-9).all(), name
        usual = MODELS[name].fit(searches, Settings()).attractiveness
        with_default = MODELS[name].fit(searches, Settings(prior=default)).attractiveness
        np.testing.assert_array_equal(usual, with_default)
        made_by = online.judgments(searches, model=name, held_out=0, resamples=0).made_by
        assert made_by["prior"] == default


def test_the_command_writes_nothing_where_the_log_cannot_say(tmp_path):
    rows, _ = log("one ranker", 500)
    places = pl.struct("rank", "doc_id", "clicked").alias("list")
    lists = rows.group_by("search", "query_id", maintain_order=True).agg(places)
    counts = lists.group_by("query_id", "list").len("searches").cast({"searches": pl.Int64})
    counts.write_parquet(tmp_path / "counts.parquet")
    result = CliRunner().invoke(
        program,
        [
            "online",
            "judgments",
            str(tmp_path / "counts.parquet"),
            "--model",
            "pbm",
            "-o",
            str(tmp_path / "q.csv"),
        ],
    )
    assert result.exit_code == 3, result.output
    assert "No judgments: 500 searches cannot teach pbm" in result.output
    assert not (tmp_path / "q.csv").exists()
