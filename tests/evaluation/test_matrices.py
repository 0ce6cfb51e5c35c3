"""`evaluate` on frames, matrices and lists: every form of the same data gives the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import rankgate
from rankgate import Lists, Matrix
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data.collection import Collection, Items
from rankgate.data.formats.tables import mapped_tables
from rankgate.measurement.scoring import matrix_source
from support.wording import raises

U, I = 60, 25  # noqa: E741 - as the documentation has it
DRAWN = np.random.default_rng(6)
SCORES = DRAWN.integers(0, 64, (U, I)).astype(np.float32) / 8  # eighths: many ties, exact in halves
SCORES[DRAWN.random((U, I)) < 0.05] = np.nan
SCORES[3, :20] = -np.inf
GRADES = (DRAWN.random((U, I)) < 0.12) * DRAWN.integers(1, 4, (U, I))
GRADES[[7, 8]] = 0  # nothing is known of these two
TRAIN = (DRAWN.random((U, I)) < 0.15) & (GRADES == 0)
METRICS = [
    "nDCG@10",
    "R@5",
    "P@5",
    "RR@10",
    "AP",
    "Coverage@5",
    "Gini@10",
    "Novelty@5",
    "Personalization@5",
    "TailShare@10",
]
ROW, COLUMN = np.nonzero(GRADES)
REAL = np.isfinite(SCORES)


def by_hand():
    """Each user's items, the best first, equal scores by id downwards; nothing seen."""
    lists = {}
    for u in range(U):
        free = [i for i in range(I) if REAL[u, i] and not TRAIN[u, i]]
        lists[u] = sorted(free, key=lambda i, u=u: (SCORES[u, i], str(i)), reverse=True)
    return lists


def expected():
    """Three metrics of judged users and one of all, written out."""
    lists, ndcg, recall, rr = by_hand(), [], [], []
    for u in np.unique(ROW).tolist():
        items = lists[u]
        gains = [GRADES[u, i] / math.log2(rank + 1) for rank, i in enumerate(items[:10], 1)]
        ideal_grades = sorted(GRADES[u], reverse=True)[:10]
        ndcg.append(sum(gains) / sum(g / math.log2(rank + 1) for rank, g in enumerate(ideal_grades, 1)))
        recall.append(sum(GRADES[u, i] > 0 for i in items[:5]) / (GRADES[u] > 0).sum())
        rr.append(next((1 / r for r, i in enumerate(items[:10], 1) if GRADES[u, i]), 0))
    shown_items = {i for items in lists.values() for i in items[:5]}
    return [np.mean(ndcg), np.mean(recall), np.mean(rr), len(shown_items) / I]


def padded(rows):
    out = np.full((len(rows), max(map(len, rows))), -1)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return out


KNOWN = [np.flatnonzero(row).tolist() for row in GRADES]
TRUTHS = {
    "sparse": sp.csr_matrix(GRADES),
    "frame": pl.DataFrame({"user": ROW, "item": COLUMN, "rating": GRADES[ROW, COLUMN]}),
    "pandas": pd.DataFrame({"userID": ROW, "itemID": COLUMN, "rating": GRADES[ROW, COLUMN]}),
    "dict": {str(u): {str(i): int(GRADES[u, i]) for i in KNOWN[u]} for u in np.unique(ROW)},
    "lists": Lists(padded(KNOWN), padded([GRADES[u, KNOWN[u]] for u in range(U)])),
    "matrix": np.where(GRADES > 0, GRADES, np.nan),
}
R, C = np.nonzero(REAL)
FRAME = pl.DataFrame({"user_id": R, "item_id": C, "prediction": SCORES[R, C].astype(np.float64)})
TOP = padded([by_hand().get(u, []) for u in range(U)])
RUNS = {
    "matrix": SCORES,
    "float64": SCORES.astype(np.float64),
    "sparse": sp.coo_matrix((SCORES[R, C], (R, C)), shape=(U, I)),
    "frame": FRAME,
    "pandas": FRAME.to_pandas(),
    "arrow": FRAME.to_arrow(),
    "lists": Lists(TOP),
    "lists with scores": Lists(np.where(REAL, np.arange(I), -1)[:, ::-1], SCORES[:, ::-1]),
    "dict of lists": {u: list(TOP[u][TOP[u] >= 0]) for u in range(U)},
}


def means(truth, run, metrics=METRICS):
    collection = Collection(truth, items=Items(catalogue=I), training=sp.csr_matrix(TRAIN), drop_seen=True)
    return list(rankgate.evaluate(collection, run, metrics).runs[0].means.values())


def test_the_values_are_those_of_the_formulas():
    values = means(TRUTHS["sparse"], SCORES, ["nDCG@10", "R@5", "RR@10", "Coverage@5"])
    assert values == pytest.approx(expected(), rel=1e-12)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_every_form_of_the_same_data_has_the_same_values(truth, run):
    assert means(TRUTHS[truth], RUNS[run]) == means(TRUTHS["dict"], RUNS["frame"])


def test_grades_of_one_are_sets_lists_and_pairs():
    sets = {u: set(KNOWN[u]) for u in np.unique(ROW).tolist()}
    pairs = pl.DataFrame({"user": ROW, "item": COLUMN})
    expected_means = means(sp.csr_matrix(GRADES > 0), SCORES)
    for truth in (sets, {u: list(items) for u, items in sets.items()}, pairs, Lists(padded(KNOWN))):
        assert means(truth, SCORES) == expected_means


def arrays(library):
    if library == "torch":
        import torch

        return torch.from_numpy
    import jax.numpy

    return jax.numpy.asarray


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("torch", "jax")]
)
@pytest.mark.parametrize("metrics", [METRICS, ["nDCG@10", "Coverage@3"]])
def test_tensors_give_what_numpy_gives(library, metrics):
    to_array = arrays(library)
    assert means(TRUTHS["sparse"], to_array(SCORES), metrics) == means(TRUTHS["sparse"], SCORES, metrics)
    float32_means = means(to_array(TRUTHS["matrix"].astype(np.float32)), to_array(SCORES), metrics)
    assert float32_means == means(TRUTHS["sparse"], SCORES, metrics)
    lists = Lists(to_array(TOP.astype(np.int32)))
    assert means(TRUTHS["sparse"], lists, metrics) == means(TRUTHS["sparse"], Lists(TOP), metrics)


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("torch", "jax")]
)
def test_halves_and_gradients_are_taken_as_they_are(library):
    tensor = arrays(library)(SCORES)
    if library == "torch":
        forms = [tensor.bfloat16(), tensor.half(), tensor.double().requires_grad_()]
    else:
        forms = [tensor.astype("bfloat16"), tensor.astype("float16")]
    for form in forms:
        assert means(TRUTHS["sparse"], form) == means(TRUTHS["sparse"], SCORES)
    if library == "torch":
        with raises("wrong-type", InputError):
            means(TRUTHS["sparse"], tensor.to_sparse())


class Spoken:
    """An array that supports only DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_whatever_speaks_dlpack_is_taken():
    assert means(TRUTHS["sparse"], Spoken(SCORES)) == means(TRUTHS["sparse"], SCORES)


def test_blocks_are_no_matter(monkeypatch):
    expected_means = {name: means(TRUTHS["sparse"], RUNS[name]) for name in ("matrix", "sparse", "lists")}
    monkeypatch.setattr(matrix_source, "_CELLS", 3 * I)
    for name, result in expected_means.items():
        assert means(TRUTHS["sparse"], RUNS[name]) == result


def test_what_was_seen_is_not_ranked():
    scores = np.array([[3.0, 2.0, 1.0]])
    for train in (
        np.array([[1, 0, 0]]),
        sp.csr_matrix([[5, 0, 0]]),
        Lists([[0]]),
        pl.DataFrame({"user": [0], "item": [0]}),
    ):
        for run in (scores, sp.csr_matrix(scores), Lists([[0, 1, 2]]), {"0": {"0": 2.0, "1": 1.0}}):
            result = rankgate.evaluate(Collection({0: [1]}, training=train, drop_seen=True), run, ["RR"])
            assert result.means["RR"].item() == 1.0


@pytest.mark.parametrize(("ties", "first"), [("doc_id_desc", 9), ("doc_id_asc", 0), ("file_order", 0)])
def test_ties_at_the_edge_of_the_list_are_broken_by_the_convention(ties, first):
    collection = Collection(Lists([[first]]), items=Items(catalogue=12))
    convention = rankgate.convention("trec", {"ties": ties})
    result = rankgate.evaluate(collection, np.zeros((1, 12)), ["RR@1"], convention)
    assert result.means["RR@1"].item() == 1.0


def test_a_cutoff_beyond_the_catalogue_is_the_catalogue():
    result = rankgate.evaluate(Lists([[2]]), np.array([[1.0, 2.0, 3.0]]), ["P@5", "R@5", "Coverage@9"])
    assert result.means.row(0)[1:] == (1 / 5, 1.0, 1.0)


def test_gaps_in_a_list_close():
    result = rankgate.evaluate(Lists([[4]]), Lists([[-1, 3, -1, 4]]), ["RR"])
    assert result.means["RR"].item() == 1 / 2


def test_great_numbers_are_ids_too():
    great = 2**53 + 1  # no float has it
    items = rankgate.Items(catalogue=[great - 1, great])
    result = rankgate.evaluate(
        rankgate.Collection({0: [great]}, items=items),
        Lists(np.array([[great - 1, great]])),
        ["RR", "Coverage@1"],
    )
    assert result.means.row(0)[1:] == (1 / 2, 1 / 2)
    uint64_scores = rankgate.evaluate(Lists(np.array([[great]], np.uint64)), {"0": {str(great): 1.0}}, ["RR"])
    assert uint64_scores.means["RR"].item() == 1.0


def test_names_bring_rows_and_columns_together():
    truth = {"ann": {"b": 1}, "bob": {"a": 1}, "eve": {"c": 1}}
    run = Matrix(np.array([[1.0, 2.0], [3.0, 2.0], [0.0, 1.0]]), ["bob", "ann", "who"], ["a", "b"])
    result = rankgate.evaluate(truth, run, ["RR"]).runs[0]
    assert result.per_query("RR") == {"ann": 1 / 2, "bob": 1 / 2, "eve": 0.0}
    assert (result.counts.missing, result.counts.unknown_queries) == (1, 1)
    lists = Lists([[1, 0], [0, 1]], query_ids=["bob", "ann"], doc_ids=["a", "b"])
    assert rankgate.evaluate(truth, lists, ["RR"]).runs[0].per_query("RR")["bob"] == 1 / 2


def test_columns_may_be_said():
    truth = pl.DataFrame({"who": ["u"], "what": ["a"], "stars": [1]})
    run = pd.DataFrame({"who": ["u", "u"], "what": ["a", "b"], "score": [9, 0], "mine": [1.0, 2.0]})
    columns = {"query_id": "who", "doc_id": "what", "grade": "stars", "score": "mine"}
    result = rankgate.evaluate(Collection(truth, columns=columns), {"one": run}, ["RR"])
    assert result.means.row(0) == ("one", 1 / 2)
    training = pl.DataFrame({"who": ["u"], "what": ["b"]})
    result = rankgate.evaluate(
        Collection(truth, columns=columns, training=training, drop_seen=True), run, ["RR"]
    )
    assert result.means["RR"].item() == 1.0
    with raises("missing-column", InputError):
        rankgate.evaluate(truth, run, ["RR"])
    with raises("missing-column", UsageError):
        rankgate.evaluate(Collection(truth, columns={"user": "who"}), run, ["RR"])


def test_who_has_no_ground_truth_is_left_out_and_counted():
    result = rankgate.evaluate(TRUTHS["sparse"], SCORES, ["RR"]).runs[0].counts
    users = int((GRADES.sum(axis=1) > 0).sum())
    assert (result.queries, result.unknown_queries, result.missing) == (users, U - users, 0)
    scores = np.full((2, 3), np.nan)
    scores[0] = 1, 2, 3
    result = rankgate.evaluate(Lists([[0], [1]]), scores, ["RR", "ListCoverage@2"]).runs[0]
    assert result.counts.zero_result == 1
    assert result.per_query("RR") == {"0": 1 / 3, "1": 0.0}


def test_lists_are_looked_at_as_a_whole_and_have_no_value_of_one_user():
    items = Items(pl.DataFrame({"item": range(I), "size": range(I)}), features=["size"])
    collection = Collection(TRUTHS["sparse"], items=items)
    result = rankgate.evaluate(collection, SCORES, ["Coverage@2", "ILD@3"])
    table = result.values  # noqa: PD011 - of Polars
    assert set(table["metric"]) == {"ILD@3"}
    assert set(result.runs[0].per_query("Coverage@2").values()) == {None}
    with raises("missing-cutoff", UsageError):
        rankgate.evaluate(TRUTHS["sparse"], SCORES, ["Gini"])
    with raises("missing-input", UsageError):
        rankgate.evaluate(TRUTHS["sparse"], SCORES, ["Novelty@3"])


def test_the_scorecard_takes_them_too():
    collection = Collection(TRUTHS["sparse"], training=sp.csr_matrix(TRAIN), drop_seen=True)
    metrics = ["nDCG@10", "Coverage@10", "Novelty@10"]
    card = rankgate.scorecard(collection, {"m": SCORES}, metrics, resamples=5)
    result = rankgate.evaluate(collection, {"m": SCORES}, metrics)
    assert card.figures["value"].to_list() == pytest.approx(list(result.runs[0].means.values()))


@pytest.mark.parametrize(
    ("truth", "run", "error", "code"),
    [
        (GRADES, SCORES[:-1], InputError, "wrong-shape"),
        (GRADES, SCORES[:, :-1], InputError, "wrong-shape"),
        (GRADES, TOP, InputError, "ambiguous-input"),
        (TOP, Lists(TOP), InputError, "negative-label"),
        (GRADES, SCORES[None], InputError, "wrong-shape"),
        (GRADES, Lists(SCORES), InputError, "wrong-type"),
        (GRADES, Lists([[1, -2]]), InputError, "wrong-shape"),
        (GRADES, Lists([[0, 1]], [[1.0]]), InputError, "wrong-shape"),
        (GRADES, Lists([[5]], doc_ids=["a"]), InputError, "wrong-shape"),
        (GRADES, Lists(np.array([[2**63]], np.uint64)), InputError, "wrong-shape"),
        (Lists([[0]]), Lists([[4, 4]]), DuplicateError, "duplicate-document"),
        (Lists([[4, 4]]), Lists([[4]]), DuplicateError, "duplicate-document"),
        (Lists([[4]]), np.array([[np.inf]]), InputError, "not-a-number"),
        (Lists([[4]]), np.array([["a"]]), InputError, "wrong-type"),
        (Lists([[4]]), Matrix(np.eye(1), ["a", "b"]), InputError, "wrong-shape"),
        (Lists([[4]]), Matrix(np.eye(2), ["a", "a"]), InputError, "duplicate-id"),
        (Lists([[4]]), {"0": {"4", "5"}}, InputError, "wrong-type"),
        (Lists([[4]]), {"0": [4.0]}, InputError, "invalid-id"),
        (Lists([[4]]), {"7": ["4"]}, InputError, "positions-for-ids"),
        (np.full((1, 2), np.nan), np.eye(1, 2), InputError, "no-judgments"),
    ],
)
def test_what_cannot_be_is_reported_with_the_argument(truth, run, error, code):
    with raises(code, error):
        rankgate.evaluate(truth, run, ["RR"])


@pytest.mark.parametrize("run", [SCORES[:-1], SCORES[:, :-1]], ids=["users", "items"])
def test_a_convention_that_compares_ids_refuses_other_sizes_too(run):
    with raises("wrong-shape", InputError):
        rankgate.evaluate(GRADES, run, ["RR"], "beir")


def test_a_convention_that_drops_the_own_id_drops_it_from_lists_too():
    scores, metrics = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]), ["P@1", "Coverage@1"]
    truth = {"a": {"b": 1}, "x": {"a": 1}}
    named = Matrix(scores, ["a", "x"], ["a", "b", "c"])  # the best item of a is a itself
    assert rankgate.evaluate(truth, named, metrics, "beir").means.row(0)[1:] == (0.5, 1 / 3)
    by_position = rankgate.evaluate({0: [1], 1: [0]}, scores, metrics, "beir")  # row 0 is not item 0
    assert by_position.means.row(0)[1:] == (0.0, 2 / 3)


def test_a_convention_that_allows_repeats_reads_them():
    run = Lists([[3, 3, 4]])
    convention = rankgate.convention("trec", {"duplicates": "first"})
    result = rankgate.evaluate(Lists([[4]]), run, ["RR"], convention)
    assert result.means["RR"].item() == 1 / 2


def test_a_frame_is_taken_piece_by_piece_and_keeps_its_ids(monkeypatch):
    expected_means = means(TRUTHS["frame"], FRAME)
    monkeypatch.setattr(mapped_tables, "_ROWS_PER_SLICE", 97)
    categorical = FRAME.with_columns(pl.col("item_id").cast(pl.String).cast(pl.Categorical))
    forms = [FRAME, FRAME.lazy(), FRAME.to_pandas(), FRAME.to_arrow(), categorical]
    for form in forms:
        run = rankgate.read_run(form)
        assert {len(piece) for piece in run.pieces()} <= {97, len(FRAME) % 97}
        assert means(TRUTHS["frame"], run) == expected_means


@pytest.mark.parametrize(
    ("column", "wrong", "code"),
    [
        ("prediction", None, "not-a-number"),
        ("prediction", np.inf, "not-a-number"),
        ("user_id", None, "empty-value"),
        ("item_id", None, "empty-value"),
    ],
)
def test_a_hole_in_a_frame_is_reported_when_it_is_read(monkeypatch, column, wrong, code):
    monkeypatch.setattr(mapped_tables, "_ROWS_PER_SLICE", 11)
    last = pl.int_range(pl.len()) == len(FRAME) - 1
    holed = FRAME.with_columns(pl.when(last).then(wrong).otherwise(column).alias(column))
    with raises(code, InputError):
        len(rankgate.read_run(holed).table)
