"""Fused scores: equal to ranx's, to a slow reading of the formulas, and to laws of fusion."""

import json
import math
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.measurement.fusion.candidate_blocks import RankedRun
from rankgate.measurement.fusion.fusion_method import TrainingData
from rankgate.measurement.fusion.run_fuser import Fuser, Setting
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS
from rankgate.measurement.scoring.alignment.top_documents import read_named_runs

RANX = json.loads((Path(__file__).parent / "ranx.json").read_text())
WEIGHTS = (0.2, 0.5, 0.3)
OURS = {
    "sum": "combsum",
    "mnz": "combmnz",
    "anz": "combanz",
    "max": "combmax",
    "min": "combmin",
    "med": "combmed",
    "gmnz": "combgmnz",
    "wsum": "linear",
    "log_isr": "logisr",
    "logn_isr": "lognisr",
    "bordafuse": "borda",
    "w_bordafuse": "borda",
}
PARAMETERS = {
    "gmnz": {"gamma": 0.7},
    "rrf": {"k": 17.0},
    "logn_isr": {"sigma": 0.02},
    "rbc": {"phi": 0.85},
    "slidefuse": {"width": 4},
    "probfuse": {"segments": 7},
}
WEIGHTED = {"wsum", "wmnz", "mixed", "w_bordafuse"}
NORMS = {"zmuv": "z-score", "None": "none"}


def fuser(runs, method, norm="none"):
    systems = read_named_runs(runs)
    queries = pl.concat([run.table["query_id"] for run in systems]).unique(maintain_order=True)
    numbered = pl.DataFrame({"query_id": queries}).with_row_index("query")
    ranked_runs = tuple(RankedRun.index(run, numbered) for run in systems)
    return Fuser(ranked_runs, queries, METHODS[method], NORMALISATIONS[norm]), numbered


def values(table):
    return {(query, doc): score for query, doc, score in table.iter_rows()}


@pytest.mark.parametrize("key", RANX["fused"])
def test_scores_equal_those_of_ranx(key):
    peer_name, norm = key.split("|")
    name = OURS.get(peer_name, peer_name)
    fusion, numbered = fuser(RANX["runs"], name, NORMS.get(norm, norm))
    trained, parameters = None, PARAMETERS.get(peer_name, {})
    if METHODS[name].train:
        judged = [(q, d, g) for q, docs in RANX["qrels"].items() for d, g in docs.items()]
        schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
        table = pl.DataFrame(judged, schema, orient="row")
        trained = METHODS[name].learned(TrainingData.from_lists(fusion.runs, numbered, table, 1), parameters)
    setting = Setting(parameters, WEIGHTS if peer_name in WEIGHTED else None)
    expected = {(q, d): s for q, docs in RANX["fused"][key].items() for d, s in docs.items()}
    assert values(fusion.fuse(setting, trained).table) == pytest.approx(expected, abs=1e-10)


SLOW = {  # of scores and ranks of the runs that have the document
    "combsum": lambda s, _n: sum(s),
    "combmnz": lambda s, _n: len(s) * sum(s),
    "combanz": lambda s, _n: sum(s) / len(s),
    "combmax": lambda s, _n: max(s),
    "combmin": lambda s, _n: min(s),
    "combmed": lambda s, _n: median(s),
    "rrf": lambda _s, n: sum(1 / (60 + rank) for rank in n),
    "isr": lambda _s, n: len(n) * sum(1 / rank**2 for rank in n),
    "logisr": lambda _s, n: math.log(len(n)) * sum(1 / rank**2 for rank in n),
    "rbc": lambda _s, n: sum(0.2 * 0.8 ** (rank - 1) for rank in n),
}

lists = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-4, 4).map(float), min_size=1, max_size=6)
systems = st.lists(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), lists, min_size=1), min_size=2, max_size=4
)


def ranked(docs):
    return [doc for doc, _ in sorted(docs.items(), key=lambda each: (each[1], each[0]))][::-1]


@pytest.mark.hypothesis
@pytest.mark.parametrize("method", SLOW)
@given(runs=systems)
def test_scores_equal_the_formulas_read_slowly(method, runs):
    expected = {}
    for query in {query for run in runs for query in run}:
        query_runs = [run[query] for run in runs if query in run]
        for doc in {doc for docs in query_runs for doc in docs}:
            scores = [docs[doc] for docs in query_runs if doc in docs]
            ranks = [ranked(docs).index(doc) + 1 for docs in query_runs if doc in docs]
            expected[query, doc] = SLOW[method](scores, ranks)
    fusion, _ = fuser(runs, method)
    assert values(fusion.fuse(Setting({})).table) == pytest.approx(expected)


@pytest.mark.hypothesis
@given(runs=systems, weighted=st.booleans())
def test_no_majority_turns_two_neighbours_of_condorcet(runs, weighted):
    weights = tuple(range(1, len(runs) + 1)) if weighted else (1,) * len(runs)
    fusion, _ = fuser(runs, "condorcet")
    table = fusion.fuse(Setting({}, weights)).table
    for (query,), rows in table.group_by("query_id"):
        docs = rows["doc_id"].to_list()
        orders = [ranked(run.get(query, {})) for run in runs]
        for first, second in pairwise(docs):
            balance = 0.0
            for order, weight in zip(orders, weights, strict=True):
                positions = {doc: i for i, doc in enumerate(order)}
                a, b = positions.get(first, math.inf), positions.get(second, math.inf)
                balance += weight * ((b < a) - (a < b))
            assert balance <= 0


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", NORMALISATIONS)
@given(docs=lists.map(lambda docs: {doc: score + 5 for doc, score in docs.items()}))
def test_a_normalisation_keeps_the_order_and_its_range(name, docs):
    fusion, _ = fuser([{"q": docs}, {"q": docs}], "combmax", name)
    table = fusion.fuse(Setting({})).table
    original_scores = [docs[doc] for doc in table["doc_id"]]
    assert original_scores == sorted(original_scores, reverse=name != "min-max-inverted")
    if name in {"min-max", "min-max-inverted", "tanh", "rank", "borda", "sum", "max"}:
        assert table["score"].is_between(0, 1 + 1e-12).all()


def test_a_normalisation_by_median_is_not_moved_by_an_outlier():
    plain = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0, "e": -1.0}}
    spiked = {"q": plain["q"] | {"a": 1e9}}
    tables = [fuser([run, run], "combmax", "robust")[0].fuse(Setting({})).table for run in (plain, spiked)]
    assert values(tables[0])["q", "b"] == values(tables[1])["q", "b"] == pytest.approx(1 / 1.4826)


def test_values_that_training_tries_rise():
    grids = [values for method in METHODS.values() for values in (method.grid or {}).values()]
    assert len(grids) >= 6
    assert all(low < high for values in grids for low, high in pairwise(values))


def test_the_maximum_of_scores_below_zero_is_refused():
    run = {"q": {"a": -1.0, "b": -2.0}}
    with pytest.raises(rankgate.UsageError) as error:
        rankgate.fuse([run, run], "combsum", norm="max")
    assert error.value.code == "invalid-scores"


def test_blocks_do_not_change_scores(monkeypatch):
    rng = np.random.default_rng(3)
    runs = [
        {f"q{q}": {f"d{d}": float(rng.random()) for d in rng.choice(40, 20)} for q in range(30)}
        for _ in range(3)
    ]
    expected = {name: rankgate.fuse(runs, name) for name in ("rrf", "combmed", "borda", "condorcet")}
    monkeypatch.setattr("rankgate.measurement.fusion.candidate_blocks._ROWS_OF_BLOCK", 100)
    for name, fused in expected.items():
        assert fused.run.table.equals(rankgate.fuse(runs, name).run.table), name


def test_the_page_shows_every_method_and_normalisation_as_declared():
    page = (Path(__file__).parents[2] / "docs" / "fusion.md").read_text()
    for method in METHODS.values():
        assert f"| `{method.name}` | {method.title} | {method.formula} | " in page
        assert method.source in page
    for normalisation in NORMALISATIONS.values():
        assert f"| `{normalisation.name}` | {normalisation.title} | " in page


def test_parameters_have_the_published_defaults():
    """Those of Cormack (RRF), Bailey (RBC), Mourao (LogNISR), Lillis (SlideFuse, ProbFuse) and Lee."""
    defaults = {
        name: {key: parameter.default for key, parameter in METHODS[name].parameters.items()}
        for name in METHODS
    }
    assert {name: values for name, values in defaults.items() if values} == {
        "rrf": {"k": 60},
        "lognisr": {"sigma": 0.01},
        "rbc": {"phi": 0.8},
        "combgmnz": {"gamma": 1.0},
        "slidefuse": {"width": 5},
        "probfuse": {"segments": 25},
    }
